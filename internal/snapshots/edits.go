// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// adoptionDelay is how long a schedule deletes no snapshot that is older than itself.
const adoptionDelay = time.Hour

// delays say until when retention does not delete what the spec allows, so that a user can
// notice a mistake. They are a function of the schedule and its origin as they were read,
// status.retention and annotations included. Deletes are decided once more on what is
// read live, so they depend on the record and the confirmation that the API server holds.
type delays struct {
	// changed ends the time in which nothing is deleted because the spec changed. If
	// unrecorded is set, that time has not begun: no record names the generation.
	changed    time.Time
	unrecorded bool
	// edited is set while the spec of a child is not its template's: nothing is deleted.
	edited bool
	// adopted ends the time in which nothing is deleted that was created before created,
	// when the schedule was. Only who confirms the schedule itself ends it earlier: a
	// ClusterSnapshotSchedule was confirmed before anybody saw what a new child finds.
	created, adopted time.Time
}

func delaysOf(s *v1alpha1.SnapshotSchedule, from origin) delays {
	own := delay(from.delay(s))
	g := delays{created: s.CreationTimestamp.Time, adopted: s.CreationTimestamp.Add(max(adoptionDelay, own))}
	switch record := s.Status.Retention; {
	case from.confirms(s):
	case record == nil:
		g.unrecorded = own > 0
	case record.Generation != s.Generation:
		g.unrecorded = true
	default:
		g.changed = record.SinceTime.Add(delay(from.atLeast(record.EditDelay)))
	}
	if s.Generation == 1 && g.changed.After(g.adopted) {
		g.adopted = g.changed // the first generation is no change: the reason stays the same
	}
	if from.confirms(s) && !from.child {
		g.adopted = time.Time{}
	}
	g.edited = from.edited
	return g
}

// keeps returns why a snapshot is not deleted yet, and until when if that is known;
// empty if it may be deleted. An uncut snapshot holds no data.
func (g *delays) keeps(snapshot *retention.Snapshot, now time.Time) (reason string, until time.Time) {
	switch {
	case snapshot.Uncut():
	case g.edited:
		reason = v1alpha1.ReasonSpecChanged
	case snapshot.Created.Before(g.created) && now.Before(g.adopted):
		reason = v1alpha1.ReasonSnapshotsAdopted
	case g.unrecorded, now.Before(g.changed):
		reason = v1alpha1.ReasonSpecChanged
	}
	return reason, g.until(reason)
}

// until returns when the snapshots that are kept for now for a reason may be deleted; zero if
// that is not known.
func (g *delays) until(reason string) time.Time {
	switch {
	case reason == "", g.edited, g.unrecorded:
		return time.Time{}
	case reason == v1alpha1.ReasonSnapshotsAdopted && g.adopted.After(g.changed):
		return g.adopted
	}
	return g.changed
}

// recordOf returns the status.retention that a schedule should have at a time of the API
// server. The record of a generation starts with the longer of the delays before and
// after the change. When that has passed, or the generation is confirmed, the delay is
// the spec's own, so that a delay that was removed ends. A child always has one. A record
// that starts in the future is of a clock that was wrong.
func recordOf(s *v1alpha1.SnapshotSchedule, from origin, now time.Time) *v1alpha1.RetentionRecord {
	own, before := from.delay(s), ptr.Deref(s.Status.Retention, v1alpha1.RetentionRecord{})
	record := before
	if before.Generation != s.Generation || before.SinceTime.After(now) {
		record = v1alpha1.RetentionRecord{Generation: s.Generation, SinceTime: metav1.NewTime(now).Rfc3339Copy(), EditDelay: own}
		if delay(before.EditDelay) > delay(own) {
			record.EditDelay = before.EditDelay
		}
	}
	over := from.confirms(s) || !now.Before(record.SinceTime.Add(delay(record.EditDelay)))
	if over && from.want == nil { // else a delay that the template removes would end before the child has the generation that it counts for
		record.EditDelay = own
	}
	switch record.ClusterSchedule = from.owner(before.ClusterSchedule); {
	case record.EditDelay != "":
	case record.ClusterSchedule == "":
		return nil
	default: // an operator of some namespaces knows no children, and cannot know that the owner is gone
		record.EditDelay = childDelay
	}
	return &record
}

// ownerOnly returns the status.retention that a schedule should have while the API server's time is not known: without the
// owner nothing is taken. A record of no generation begins anew when the time is known, and nothing is deleted before.
func ownerOnly(s *v1alpha1.SnapshotSchedule, from origin) *v1alpha1.RetentionRecord {
	if !from.unrecorded() {
		return s.Status.Retention
	}
	record := v1alpha1.RetentionRecord{SinceTime: s.CreationTimestamp, EditDelay: from.delay(s)}
	if s.Status.Retention != nil {
		record = *s.Status.Retention
	}
	record.ClusterSchedule = string(from.fleet.UID)
	return &record
}

// recordsTime returns whether status.retention has to change. What it changes to depends
// on the API server's clock.
func recordsTime(now time.Time, s *v1alpha1.SnapshotSchedule, from origin) bool {
	return !equality.Semantic.DeepEqual(s.Status.Retention, recordOf(s, from, now))
}

// Recorded returns a copy of a schedule with the status.retention that the operator gives
// it at a time. The related objects are those of OriginNames, as far as they are known.
func Recorded(s *v1alpha1.SnapshotSchedule, now time.Time, related ...client.Object) *v1alpha1.SnapshotSchedule {
	s = s.DeepCopy()
	from := originOf(s, related)
	s.Status.Retention = recordOf(from.decided(s), from, now)
	return s
}

// keptForNow counts snapshots that would be deleted, but for a delay.
type keptForNow struct{ changed, adopted int }

func (n *keptForNow) add(reason string) {
	if reason == v1alpha1.ReasonSnapshotsAdopted {
		n.adopted++
	} else {
		n.changed++
	}
}

// unconfirmed returns what a confirmation leaves, which the keys may not have found out.
func (n keptForNow) unconfirmed(s *v1alpha1.SnapshotSchedule, from origin) keptForNow {
	switch {
	case !from.confirms(s):
		return n
	case from.child:
		return keptForNow{adopted: n.adopted}
	}
	return keptForNow{}
}

// reason returns the reason that a user sees.
func (n keptForNow) reason() string {
	switch {
	case n.adopted > 0:
		return v1alpha1.ReasonSnapshotsAdopted
	case n.changed > 0:
		return v1alpha1.ReasonSpecChanged
	}
	return ""
}

// keptMessage says how many of a schedule's snapshots are kept for now, why, until when, and
// how to have them deleted at once.
func keptMessage(s *v1alpha1.SnapshotSchedule, from origin, n keptForNow, total int) string {
	g := delaysOf(s, from) // an unrecorded change is reported as ClockSkew
	if g.edited {
		return fmt.Sprintf("the spec differs from the template of ClusterSnapshotSchedule %s: %d of %d VolumeSnapshots would be deleted, "+
			"and are kept until the two are equal", s.Name, n.changed+n.adopted, total)
	}
	until := "until " + g.until(n.reason()).UTC().Format(time.RFC3339)
	text := fmt.Sprintf("the spec changed: %d of %d VolumeSnapshots would be deleted under generation %d, and are kept %s",
		n.changed, total, s.Generation, until)
	if n.adopted > 0 {
		text = fmt.Sprintf("an earlier schedule of this name left snapshots: %d of %d VolumeSnapshots are older than this schedule, "+
			"would be deleted, and are kept %s", n.adopted, total, until)
		if n.changed > 0 {
			text += fmt.Sprintf("; %d more would be deleted, and wait because the spec changed", n.changed)
		}
	}
	if n.adopted > 0 && from.child {
		return text // no confirmation shortens that
	}
	return text + "; " + from.confirmHint(s)
}

// keptWarning is the text of the event when snapshots begin to be kept for now.
func keptWarning(n keptForNow) string {
	if n.adopted > 0 {
		return "an earlier schedule of this name left snapshots that would be deleted: they are kept for now; the condition says until when"
	}
	return "the spec changed, and snapshots would be deleted: they are kept for now; the condition says until when"
}
