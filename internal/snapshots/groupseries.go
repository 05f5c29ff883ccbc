// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// members are what labels and listing make of VolumeSnapshots that the snapshot controller
// makes for a group snapshot.
var members = mapcontroller.Children{
	Object: &snapshotv1.VolumeSnapshot{}, Label: v1alpha1.LabelGroupSnapshot, Strip: stripMember, Made: backup.MadeFor, Claims: claimsMember,
}

// groupSeries is the group snapshots of a group as decisions see them.
type groupSeries struct {
	retention.GroupSeries
	outputs []*groupv1.VolumeGroupSnapshot
	// held are, for each output, its members that count, by the UID of the PVC.
	held []map[types.UID]*snapshotv1.VolumeSnapshot
	// lacks are, for each output, the PVCs of its record without a member; doubled those with several, deleted those
	// whose member is being deleted, and strangers the members of which the record knows no PVC.
	lacks, doubled, deleted, strangers [][]string
	// elsewhere are those of other keys of the schedule that its PVCs are, or were, in.
	elsewhere *groupSeries
}

// groupSeriesOf returns the group snapshots of a key. The claim of the whole is that of a
// group without PVCs.
func groupSeriesOf(seen mapcontroller.Observation) *groupSeries {
	g := &groupSeries{GroupSeries: retention.GroupSeries{Claims: map[string]retention.GroupClaim{}}}
	g.Whole.Claim = retention.Gone
	for _, o := range seen.Unselected {
		g.Claims[string(o.GetUID())] = retention.GroupClaim{Claim: retention.Unselected, Deleting: o.GetDeletionTimestamp() != nil}
		g.Whole.Claim = retention.Unselected
	}
	for _, o := range seen.Selected {
		g.Claims[string(o.GetUID())] = retention.GroupClaim{Claim: retention.Selected, Deleting: o.GetDeletionTimestamp() != nil}
		g.Whole.Claim = retention.Selected
	}
	names, restores := map[string]types.UID{}, restoring(seen.Related)
	for _, o := range slices.Concat(seen.Selected, seen.Unselected) {
		names[o.GetName()] = o.GetUID()
	}
	for uid := range recordedLeaving(seen) {
		if _, exists := g.Claims[string(uid)]; !exists {
			g.Claims[string(uid)] = retention.GroupClaim{Claim: retention.Gone, Deleting: true}
		}
	}
	labeled := map[string][]client.Object{} // there may be many, of many group snapshots
	for _, o := range seen.Children {
		labeled[backup.GroupLabel(o)] = append(labeled[backup.GroupLabel(o)], o)
	}
	g.elsewhere = &groupSeries{}
	for _, o := range seen.Elsewhere {
		if v, is := o.(*groupv1.VolumeGroupSnapshot); is && backup.IsGroupKey(v.Labels[v1alpha1.LabelMapKey]) {
			g.elsewhere.add(v, members.Of(v, labeled[v.Name]), nil, nil)
		}
	}
	g.Elsewhere, g.ElsewhereParts = g.elsewhere.Whole.Snapshots, g.elsewhere.Parts
	for _, o := range seen.Outputs {
		g.add(o.(*groupv1.VolumeGroupSnapshot), members.Of(o, labeled[o.GetName()]), names, restores)
	}
	return g
}

// add adds a group snapshot with its labeled members. names are the PVCs that exist.
func (g *groupSeries) add(v *groupv1.VolumeGroupSnapshot, of []client.Object, names map[string]types.UID, restores map[string]bool) {
	s, record := backup.Of(v), backup.ClaimsOf(v)
	for _, m := range of {
		s.Restoring = s.Restoring || restores[m.GetName()]
		if until, held := backup.HeldUntil(m); held && until.After(s.HeldUntil) {
			s.HeldUntil = until
		}
	}
	byClaim, strangers := membersByClaim(of, record)
	if s.Uncut() {
		g.sourcesChange(record, names)
	}
	var parts []retention.Part
	var lacks, doubled, deleted []string
	held := map[types.UID]*snapshotv1.VolumeSnapshot{}
	for _, name := range slices.Sorted(maps.Keys(record)) {
		uid, found := record[name], byClaim[name]
		if len(found) > 1 {
			doubled = append(doubled, name)
		}
		switch best := bestMember(found); {
		case best == nil || held[uid] != nil: // the record has a UID twice
			lacks = append(lacks, name)
		case backup.Terminating(best):
			deleted = append(deleted, name)
		default:
			held[uid] = best
			m := backup.Of(best)
			parts = append(parts, retention.Part{
				UID: string(uid), Ready: m.ReadyToUse, HasError: m.HasError, ErrorTime: m.ErrorTime,
				VerifiedAt: m.VerifiedAt, VerifyFailedAt: m.VerifyFailedAt,
			})
		}
	}
	if s.Uncut() || s.Deleting {
		parts = nil
	}
	g.outputs, g.held = append(g.outputs, v), append(g.held, held)
	g.lacks, g.doubled = append(g.lacks, lacks), append(g.doubled, doubled)
	g.deleted, g.strangers = append(g.deleted, deleted), append(g.strangers, strangers)
	g.Whole.Snapshots, g.Parts = append(g.Whole.Snapshots, s), append(g.Parts, parts)
}

// sourcesChange finds out whether an uncut group snapshot would be cut without a PVC of its record, or from another one of its name.
func (g *groupSeries) sourcesChange(record, names map[string]types.UID) {
	for name, uid := range record {
		if names[name] != uid || g.Claims[string(uid)].Deleting {
			g.Whole.ClaimDeleting = true
		}
	}
}

// bestMember returns the member of a PVC that counts; nil if there is none. Of several, nobody knows which has the data, and one
// that can be restored from is enough: doubt keeps a group snapshot.
func bestMember(of []*snapshotv1.VolumeSnapshot) (best *snapshotv1.VolumeSnapshot) {
	rank := func(m *snapshotv1.VolumeSnapshot) int {
		switch {
		case backup.Terminating(m):
			return 0
		case !backup.ReadyToUse(m):
			return 1
		}
		return 2
	}
	for _, m := range of {
		if best == nil || rank(m) > rank(best) || rank(m) == rank(best) && m.Name < best.Name {
			best = m
		}
	}
	return best
}

// membersByClaim returns members by the PVC of the record that they name, and what the others
// name.
func membersByClaim(
	of []client.Object, record map[string]types.UID,
) (byClaim map[string][]*snapshotv1.VolumeSnapshot, strangers []string) {
	byClaim = map[string][]*snapshotv1.VolumeSnapshot{}
	for _, o := range of {
		m := o.(*snapshotv1.VolumeSnapshot)
		name := backup.ClaimName(m)
		if _, known := record[name]; known {
			byClaim[name] = append(byClaim[name], m)
		} else {
			strangers = append(strangers, cmp.Or(name, m.Name))
		}
	}
	return byClaim, strangers
}

// of returns what holds a PVC: the members as objects, and as snapshots of its series.
func (g *groupSeries) of(claim *corev1.PersistentVolumeClaim) (found []client.Object, series []retention.Snapshot) {
	for i := range g.outputs {
		if len(g.Parts[i]) > 0 && g.held[i][claim.UID] != nil {
			found = append(found, g.held[i][claim.UID])
		}
	}
	return found, g.Of(string(claim.UID)).Snapshots
}

// everywhere returns what holds a PVC under this key and others. What can be said of the PVC alone depends on all of them.
func (g *groupSeries) everywhere(claim *corev1.PersistentVolumeClaim) (found []client.Object, series []retention.Snapshot) {
	found, series = g.of(claim)
	elsewhere, more := g.elsewhere.of(claim)
	return slices.Concat(found, elsewhere), slices.Concat(series, more)
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

// groupOf returns the group of the selected PVCs of a key with its group snapshots as a subject.
func (p *program) groupOf(seen mapcontroller.Observation, g *groupSeries) subject {
	of := subject{key: seen.MapKey}
	for _, o := range seen.Selected {
		of.claims = append(of.claims, o.(*corev1.PersistentVolumeClaim))
	}
	oldest := oldestOf(of.claims)
	slices.SortFunc(of.claims, func(a, b *corev1.PersistentVolumeClaim) int { return strings.Compare(a.Name, b.Name) })
	if of.anchor = p.schedule.CreationTimestamp.Time; oldest.After(of.anchor) {
		of.anchor = oldest
	}
	of.carried = retention.Rhythm(oldest, g.Whole.Snapshots, seen.Now)
	of.taken = g.takenElsewhere(of.claims, p.spec.retention.ReadyDeadline, seen.Now)
	of.claim = of.claims[0]
	of.group = cmp.Or(of.claims[0].Labels[p.schedule.Spec.Group.ByLabel], p.schedule.Name)
	return of
}

// takenElsewhere returns the newest slot of a group without snapshots that each of its PVCs has one for under another key of the
// schedule; zero if one of them has none. To relabel a PVC is then no request.
func (g *groupSeries) takenElsewhere(
	claims []*corev1.PersistentVolumeClaim, readyDeadline time.Duration, now time.Time,
) (newest time.Time) {
	if slices.ContainsFunc(g.Whole.Snapshots, func(s retention.Snapshot) bool { return !s.Deleting }) {
		return time.Time{}
	}
	last := make([]time.Time, len(claims))
	for i := range g.elsewhere.outputs {
		slot, has := g.elsewhere.Whole.Snapshots[i].Slot(now), g.elsewhere.has(i, readyDeadline, now)
		for j, claim := range claims {
			if slot.After(last[j]) && has(claim) {
				last[j] = slot
			}
		}
	}
	for _, slot := range last {
		if slot.IsZero() {
			return slot
		}
		if slot.After(newest) {
			newest = slot
		}
	}
	return newest
}

// has returns of which PVCs group snapshot i is one: those that it holds, or will hold. A PVC that is relabeled before the cut is in
// the record, and in no cut.
func (g *groupSeries) has(i int, readyDeadline time.Duration, now time.Time) func(*corev1.PersistentVolumeClaim) bool {
	v, state := g.outputs[i], g.Whole.Snapshots[i].State(now, readyDeadline)
	var record map[string]types.UID
	if state == retention.InProgress {
		record = backup.ClaimsOf(v)
	}
	return func(claim *corev1.PersistentVolumeClaim) bool {
		if m := g.held[i][claim.UID]; m != nil {
			return state == retention.InProgress || state == retention.Ready && backup.ReadyToUse(m)
		}
		return record[claim.Name] == claim.UID && backup.Selects(v, claim)
	}
}

// unboundFor is how old a group snapshot without content must be at least before it is deleted.
const unboundFor = 10 * time.Minute

// mayGo returns whether a group snapshot may be deleted at a time without leaking its data, and
// otherwise when that changes by time alone; zero: never.
func mayGo(v *groupv1.VolumeGroupSnapshot, readyDeadline time.Duration, now time.Time) (may bool, at time.Time) {
	if protected, bound := backup.Bound(v); protected || bound {
		return protected, time.Time{} // the event of the finalizer follows
	}
	at = v.CreationTimestamp.Add(max(readyDeadline, unboundFor))
	return !now.Before(at), at
}

// claimsMember implements Children.Claims: a member is labeled while the PVC that it names has the
// UID of the record. One whose PVC is not in the record is labeled, too, so that it is seen: it
// never counts.
func claimsMember(ctx context.Context, live client.Reader, output, child client.Object) (bool, error) {
	name := backup.ClaimName(child)
	uid, known := backup.ClaimsOf(output)[name]
	if !known {
		return true, nil
	}
	claim := &metav1.PartialObjectMetadata{}
	claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	err := live.Get(ctx, client.ObjectKey{Namespace: child.GetNamespace(), Name: name}, claim)
	return err == nil && claim.UID == uid, client.IgnoreNotFound(err)
}

// MembersOf returns those of some labeled VolumeSnapshots that are members of a group snapshot.
func MembersOf(v *groupv1.VolumeGroupSnapshot, all []client.Object) []client.Object {
	return members.Of(v, all)
}

// IsMemberOf returns whether a VolumeSnapshot, labeled or not, is a member of a group snapshot.
func IsMemberOf(o client.Object, v *groupv1.VolumeGroupSnapshot) bool { return members.Includes(v, o) }
