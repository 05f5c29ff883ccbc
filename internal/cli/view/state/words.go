// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
)

// since is for how long the operator has said what a condition says.
func (s *ScheduleStatus) since(c *metav1.Condition) string {
	if c.LastTransitionTime.IsZero() || s.now.IsZero() {
		return ""
	}
	return ", for " + term.Rounded(s.now.Sub(c.LastTransitionTime.Time))
}

// protectionWords says how many PVCs are protected now, whatever the operator wrote.
func (s *ScheduleStatus) protectionWords(style term.Style) []string {
	if s.InvalidSpec != "" {
		return nil
	}
	class, text, more := s.Live()
	shown := map[string]func(string) string{"good": style.Good, "bad": style.Bad, "unknown": style.Warn}[class](text)
	return []string{shown + more}
}

// Live sums up how many PVCs are protected now, with a class of the report and with what explains it.
func (s *ScheduleStatus) Live() (class, text, more string) {
	n, good, gaps, waits, worst := 0, 0, 0, 0, ""
	for _, c := range s.PersistentVolumeClaims {
		if c.Protection == "" {
			continue
		}
		n++
		switch {
		case c.gap:
			if gaps++; worst == "" {
				worst = c.Name + ": " + c.Reason
			}
		case c.Protection == protection.Protected:
			good++
		case c.Protection != protection.Skipped:
			waits++
		}
	}
	all := term.Plural(n, "PVC")
	switch {
	case s.InvalidSpec != "":
		return "bad", "Invalid spec", ""
	case n == 0:
		return "unknown", "Protects nothing", ": " + s.NoMatch
	case gaps > 0:
		return "bad", fmt.Sprintf("Not protected: %d of %s", gaps, all), "; e.g. " + worst
	case waits > 0:
		return "unknown", fmt.Sprintf("Not protected yet: %d of %s", waits, all), "; the first snapshot is not ready yet"
	case good == 0:
		return "unknown", "Protects nothing", ": " + all + " skipped"
	}
	return "good", fmt.Sprintf("Protected: %d of %s", good, all), ""
}

// ConditionWords says how a schedule is, in sentences.
func (s *ScheduleStatus) ConditionWords(style term.Style) []string {
	var lines []string
	if s.InvalidSpec != "" {
		lines = append(lines, style.Bad("Invalid spec: ")+s.InvalidSpec+". Nothing is created and nothing is deleted.")
	}
	lines = append(lines, s.protectionWords(style)...)
	lines = append(lines, s.SilenceWords(style)...)
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		return append(lines, style.Warn("No status yet")+": the operator has not seen this schedule. Is it running?")
	case ready.Reason == v1alpha1.ReasonNoMatchingClaims:
		lines = append(lines, style.Warn("Ready ("+ready.Reason+s.since(ready)+")")+": "+ready.Message)
	case ready.Status == metav1.ConditionTrue: // the operator wrote that, maybe long ago
		lines = append(lines, "Ready ("+ready.Reason+s.since(ready)+"): "+ready.Message)
	case ready.Status == metav1.ConditionUnknown:
		lines = append(lines, style.Warn("Not known yet ("+ready.Reason+s.since(ready)+")")+": "+ready.Message)
	case s.InvalidSpec == "":
		lines = append(lines, style.Bad("Not ready ("+ready.Reason+s.since(ready)+")")+": "+ready.Message)
	}
	if paused := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionRetentionPaused); paused != nil &&
		paused.Status == metav1.ConditionTrue && (s.InvalidSpec == "" || paused.Reason != v1alpha1.ReasonInvalidSpec) {
		lines = append(lines, style.Warn("Retention is paused ("+paused.Reason+s.since(paused)+")")+": "+paused.Message)
	}
	for _, p := range s.Problems {
		reason, message, _ := strings.Cut(p.Words(s.now), ":")
		lines = append(lines, style.Warn(reason)+":"+message)
	}
	if !s.Observed {
		lines = append(lines, style.Warn("The operator has not processed the latest spec yet")+": the conditions describe an earlier one")
	}
	return lines
}
