// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// subject is what is decided about: the PVCs of a map key, and their snapshots. A PVC is a group of one.
type subject struct {
	// key is the map key. The jitter is derived from it.
	key string
	// group is the name of a group; empty for a PVC.
	group string
	// claims are the PVCs that are selected, by name.
	claims []*corev1.PersistentVolumeClaim
	// anchor is the time from which it is under the schedule.
	anchor time.Time
	// taken is the slot that a group without snapshots has under other keys; see takenElsewhere.
	taken time.Time
	// carried is the slot of the newest snapshot that is older than its PVCs, whose rhythm it
	// keeps, also when that one is gone: a rollback carried it over. Zero: there is none.
	carried time.Time
	// slots are those of selected PVCs.
	slots   schedule.Slots
	backups backups
	// decided is what retention decided about the backups.
	decided retention.Decision
	// keptFor has the reason for each backup that retention would delete and that is kept for now; nil: for none.
	keptFor []string
	// limited is set if it matters which snapshots its volumes have.
	limited bool
}

// subjectOf returns what is selected of a key.
func (p *program) subjectOf(seen mapcontroller.Observation) *subject {
	claims := make([]*corev1.PersistentVolumeClaim, len(seen.Selected))
	for i, o := range seen.Selected {
		claims[i] = o.(*corev1.PersistentVolumeClaim)
	}
	slices.SortFunc(claims, func(a, b *corev1.PersistentVolumeClaim) int { return strings.Compare(a.Name, b.Name) })
	b := backupsOf(seen)
	of := claimsOf(p.schedule, claims, b.Whole.Snapshots, seen.Now)
	of.backups = b
	if b.ofGroup {
		of.key, of.group = seen.MapKey, cmp.Or(claims[0].Labels[p.schedule.Spec.Group.ByLabel], p.schedule.Name)
		of.taken = b.takenElsewhere(claims, p.spec.retention.ReadyDeadline, seen.Now)
	}
	of.slots = p.slots(&of, seen.Now)
	return &of
}

// claimsOf returns PVCs with the snapshots of their series as a subject.
func claimsOf(s *v1alpha1.SnapshotSchedule, claims []*corev1.PersistentVolumeClaim, series []retention.Snapshot, now time.Time) subject {
	oldest := oldestOf(claims)
	of := subject{
		key: string(claims[0].UID), claims: claims, anchor: s.CreationTimestamp.Time, carried: retention.Rhythm(oldest, series, now),
	}
	if oldest.After(of.anchor) {
		of.anchor = oldest
	}
	return of
}

// oldestOf returns when the oldest of some PVCs was created.
func oldestOf(claims []*corev1.PersistentVolumeClaim) (created time.Time) {
	for _, claim := range claims {
		if at := claim.CreationTimestamp.Time; created.IsZero() || at.Before(created) {
			created = at
		}
	}
	return created
}

// slots returns the slots of a subject. Nothing that can be written on a PVC is read: whoever may
// edit it would otherwise decide how many snapshots displace the older ones. A malformed request
// is a problem of the schedule, not of its PVCs.
func (p *program) slots(of *subject, now time.Time) schedule.Slots {
	request, _ := v1alpha1.RequestOf(p.from.requester(p.schedule).GetAnnotations())
	return p.spec.slots(of, request, now)
}

// timeline returns the slots of a subject.
func (c *compiled) timeline(of *subject) schedule.Timeline {
	return c.rule.Timeline(of.anchor, schedule.Jitter(of.key, c.jitter)).Continue(of.carried)
}

func (c *compiled) slots(of *subject, request v1alpha1.Request, now time.Time) schedule.Slots {
	criteria := schedule.Criteria{
		Timeline:         c.timeline(of),
		Taken:            of.taken,
		Suspend:          c.suspend,
		TTL:              c.retention.TTL,
		StartingDeadline: c.startingDeadline,
	}
	if of.requested(request) {
		criteria.Requested = request.At
	}
	return criteria.At(now)
}

// since returns the time from which it has slots.
func (of *subject) since() time.Time {
	if !of.carried.IsZero() {
		return of.carried
	}
	return of.anchor
}

// noun is the kind of its snapshots.
func (of *subject) noun() string {
	if of.group != "" {
		return "VolumeGroupSnapshot"
	}
	return "VolumeSnapshot"
}

// record returns the UIDs of the PVCs of a group, by name.
func (of *subject) record() map[string]types.UID {
	record := map[string]types.UID{}
	for _, claim := range of.claims {
		record[claim.Name] = claim.UID
	}
	return record
}

// annotate records on a snapshot of which PVCs and volumes it is, and whose rhythm they keep.
func (of *subject) annotate(annotations map[string]string) {
	if !of.carried.IsZero() {
		annotations[v1alpha1.AnnotationRhythm] = of.carried.UTC().Format(time.RFC3339)
	}
	if of.group == "" {
		if volume := of.claims[0].Spec.VolumeName; volume != "" {
			annotations[v1alpha1.AnnotationVolume] = volume
		}
		return
	}
	volumes := map[string]string{}
	for _, claim := range of.claims {
		if volume := claim.Spec.VolumeName; volume != "" {
			volumes[claim.Name] = volume
		}
	}
	text, _ := json.Marshal(of.record()) // strings can always be marshalled
	annotations[v1alpha1.AnnotationClaims] = string(text)
	if len(volumes) > 0 {
		text, _ = json.Marshal(volumes)
		annotations[v1alpha1.AnnotationVolume] = string(text)
	}
}

// selector returns what a group snapshot selects the PVCs of a group by: labels alone.
func (of *subject) selector(spec *v1alpha1.SnapshotScheduleSpec) *metav1.LabelSelector {
	match := map[string]string{}
	for key, value := range spec.Selector.MatchLabels {
		match[key] = string(value)
	}
	if by := spec.Group.ByLabel; by != "" {
		match[by] = of.claims[0].Labels[by]
	}
	return &metav1.LabelSelector{MatchLabels: match}
}

// requested returns whether a request is for it.
func (of *subject) requested(r v1alpha1.Request) bool {
	return slices.ContainsFunc(of.claims, func(claim *corev1.PersistentVolumeClaim) bool { return r.Of(claim.Name) })
}
