// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// VerdictWords explain verdicts to users, but for those of tiers.
var VerdictWords = map[retention.Verdict]string{
	retention.NoLimit:          "neither a TTL nor tiers are set",
	retention.BeingDeleted:     "it is being deleted",
	retention.HeldByAnnotation: "it carries the hold annotation",
	retention.HeldByRestore:    "a PVC is being restored from it",
	retention.HeldInProgress:   "it is in progress",
	retention.Unready:          "it is not ready, and no TTL is set",
	retention.WithinTTL:        "it is younger than the TTL",
	retention.KeptNewest:       "it is the newest snapshot of its PVC",
	retention.Floor:            "it is one of the newest minReady ready snapshots",
	retention.Verified:         "it is one of the newest minVerified snapshots whose last drill succeeded",
	retention.Recovering:       "it is not ready, and would be kept if it were",
	retention.Expired:          "it is older than the TTL",
	retention.NotSelected:      "no tier selects it",
	retention.OverCap:          "there are more than maxCount",
	retention.Replaced:         "it was never cut, and the next one is due",
	retention.ClaimGone:        "it was never cut, and its PVC is gone",
	retention.Superseded:       "it is not ready, and every ready snapshot that is kept is newer, or the next one has no other place",
	retention.KeepsClaim:       "it failed, and keeps its PVC, which is being deleted",
}

// Explain returns a verdict as a sentence for users.
func Explain(v retention.Verdict) string {
	if v.ByTier() {
		return "keep." + retention.TierTable[v-retention.KeptLast].Name + " selects it"
	}
	return cmp.Or(VerdictWords[v], v.String())
}

// HeldWords say why and until when a snapshot is held. A group snapshot may also be held by a member.
func HeldWords(value string, end time.Time) string {
	switch reason := holders.Reason(value); {
	case !end.Equal(retention.Forever):
		return "it is held until " + term.Timestamp(end)
	case reason == "" || reason == "true":
		return Explain(retention.HeldByAnnotation)
	default:
		return "it is held: " + reason
	}
}

// DelayedWords say why a snapshot is kept that would be deleted.
func DelayedWords(reason string, until time.Time, v retention.Verdict) string {
	why := "the spec changed, and spec.retention.editDelay has not passed"
	switch {
	case reason == v1alpha1.ReasonDeletionStuck:
		why = "the storage does not finish the deletion of others of its PVC"
	case until.IsZero():
		why = "the spec differs from the ClusterSnapshotSchedule's template"
	case reason == v1alpha1.ReasonSnapshotsAdopted:
		why = "it is older than its schedule, which is new"
	}
	return fmt.Sprintf("%s; otherwise %s: %s", why, v, Explain(v))
}

// PolicyWords describe a spec in one line.
func PolicyWords(spec *v1alpha1.SnapshotScheduleSpec) string {
	words := []string{"every " + string(spec.SnapshotInterval)}
	if spec.Schedule != "" {
		words[0] = fmt.Sprintf("at %q %s", spec.Schedule, cmp.Or(spec.TimeZone, "UTC"))
	}
	if selector, err := spec.Selector.AsSelector(); err == nil && !selector.Empty() {
		words = append(words, "PVCs with "+selector.String())
	}
	switch group := spec.Group; {
	case group == nil:
	case group.ByLabel != "":
		words = append(words, "in groups by label "+group.ByLabel)
	default:
		words = append(words, "as one group")
	}
	words = append(words, retentionWords(spec)...)
	if spec.DeletionPolicy == v1alpha1.DeletionOrphan {
		words = append(words, "snapshots outlive it")
	}
	if spec.Suspend {
		words = append(words, "suspended")
	}
	return strings.Join(words, ", ")
}

func retentionWords(spec *v1alpha1.SnapshotScheduleSpec) (words []string) {
	if spec.SnapshotTTL != "" {
		words = append(words, "TTL "+string(spec.SnapshotTTL))
	}
	for tier, count := range spec.Retention.Keep.Counts() {
		if count > 0 {
			words = append(words, fmt.Sprintf("%s: %d", retention.TierTable[tier].Name, count))
		}
	}
	if spec.Retention.MaxCount != nil {
		words = append(words, fmt.Sprintf("at most %d", *spec.Retention.MaxCount))
	}
	if spec.Retention.MinReady != nil && *spec.Retention.MinReady != 1 {
		words = append(words, fmt.Sprintf("at least %d ready", *spec.Retention.MinReady))
	}
	if spec.Retention.MinVerified > 0 {
		words = append(words, fmt.Sprintf("at least %d verified", spec.Retention.MinVerified))
	}
	if spec.Retention.EditDelay != "" {
		words = append(words, "edits wait "+string(spec.Retention.EditDelay))
	}
	return words
}
