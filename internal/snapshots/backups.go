// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"maps"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// backups are the snapshots of a PVC, or the group snapshots of a group, as decisions see them.
type backups struct {
	// GroupSeries is those of a PVC as its Whole alone.
	retention.GroupSeries
	// ofGroup is set for those of a group.
	ofGroup bool
	outputs []client.Object
	// leavers are the PVCs that are being deleted under the name of one that they were taken of, and are not among those of the key.
	leavers []client.Object
	// members are those of each group snapshot.
	members []groupMembers
	// elsewhere are those of other keys of the schedule that the PVCs of a group are, or were, in.
	elsewhere *backups
}

// groupMembers are the members of a group snapshot.
type groupMembers struct {
	// held are those that count, by the UID of the PVC.
	held map[types.UID]*snapshotv1.VolumeSnapshot
	// lacks are the PVCs of the record without a member; doubled those with several, deleted those whose member is being
	// deleted, and strangers the members of which the record knows no PVC.
	lacks, doubled, deleted, strangers []string
}

// backupsOf returns the snapshots of a key, or its group snapshots. Whoever may create snapshots can put any map key on them. The
// claim of the whole is that of a group without PVCs.
func backupsOf(seen mapcontroller.Observation) backups {
	b, restores := backups{ofGroup: backup.IsGroupKey(seen.MapKey)}, restoring(seen.Related)
	b.Whole.Claim = retention.Gone
	b.addClaims(seen.Unselected, retention.Unselected)
	b.addClaims(seen.Selected, retention.Selected)
	if !b.ofGroup {
		b.outputs = ofType[*snapshotv1.VolumeSnapshot](seen.Outputs)
		b.Whole.Snapshots = snapshotsOf(b.outputs, restores)
		if b.Whole.Claim == retention.Gone {
			b.leavers = leavingOf(b.outputs, seen.Related)
			b.Whole.ClaimDeleting = len(b.leavers) > 0
		}
		return b
	}
	b.addLeavers(recordedLeaving(seen))
	names := map[string]types.UID{}
	for _, o := range slices.Concat(seen.Selected, seen.Unselected) {
		names[o.GetName()] = o.GetUID()
	}
	labeled := map[string][]client.Object{} // there may be many, of many group snapshots
	for _, o := range seen.Children {
		labeled[backup.GroupLabel(o)] = append(labeled[backup.GroupLabel(o)], o)
	}
	b.elsewhere = &backups{ofGroup: true}
	for _, o := range seen.Elsewhere {
		if v, is := o.(*groupv1.VolumeGroupSnapshot); is && backup.IsGroupKey(v.Labels[v1alpha1.LabelMapKey]) {
			b.elsewhere.add(v, MembersOf(v, labeled[v.Name]), nil, nil)
		}
	}
	b.Elsewhere, b.ElsewhereParts = b.elsewhere.Whole.Snapshots, b.elsewhere.Parts
	for _, o := range ofType[*groupv1.VolumeGroupSnapshot](seen.Outputs) {
		b.add(o.(*groupv1.VolumeGroupSnapshot), MembersOf(o, labeled[o.GetName()]), names, restores)
	}
	return b
}

// addClaims adds what became of PVCs that exist.
func (g *backups) addClaims(claims []client.Object, is retention.Claim) {
	for _, o := range claims {
		g.Whole.Claim = is
		if !g.ofGroup {
			g.Whole.ClaimDeleting = backup.Terminating(o)
			continue
		}
		g.addClaim(string(o.GetUID()), retention.GroupClaim{Claim: is, Deleting: backup.Terminating(o)})
	}
}

func (g *backups) addClaim(uid string, claim retention.GroupClaim) {
	if g.Claims == nil {
		g.Claims = map[string]retention.GroupClaim{}
	}
	g.Claims[uid] = claim
}

// addLeavers adds those PVCs, by the UIDs of those that they were taken of. One that is gone and has such a PVC is as good as one that
// is being deleted.
func (g *backups) addLeavers(leaving map[types.UID]client.Object) {
	for uid := range leaving {
		if _, exists := g.Claims[string(uid)]; !exists {
			g.addClaim(string(uid), retention.GroupClaim{Claim: retention.Gone, Deleting: true})
		}
	}
	for uid, claim := range leaving {
		if _, known := g.Claims[string(claim.GetUID())]; claim.GetUID() != uid && !known {
			g.leavers = append(g.leavers, claim)
		}
	}
}

// decide asks retention about them.
func (g *backups) decide(policy retention.Policy, now time.Time) retention.Decision {
	if g.ofGroup {
		return retention.DecideGroup(policy, now, g.GroupSeries)
	}
	return retention.Decide(policy, now, g.Whole)
}

// restorable are the snapshots that PVCs are restored from, and that keep their PVC while they are not ready.
func (g *backups) restorable(seen mapcontroller.Observation) []client.Object {
	if g.ofGroup {
		return seen.Children
	}
	return g.outputs
}

// snapshotsOf returns VolumeSnapshots as decisions see them. restoring names those
// that a PVC is still being restored from.
func snapshotsOf(outputs []client.Object, restoring map[string]bool) []retention.Snapshot {
	snapshots := make([]retention.Snapshot, len(outputs))
	for i, o := range outputs {
		s := &snapshots[i]
		*s = backup.Of(o)
		s.Restoring = restoring[s.Name]
	}
	return snapshots
}

// ofType returns the objects of a type.
func ofType[T client.Object](all []client.Object) []client.Object {
	other := func(o client.Object) bool { _, ok := o.(T); return !ok }
	if !slices.ContainsFunc(all, other) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), other)
}

// add adds a group snapshot with its labeled members. names are the PVCs that exist.
func (g *backups) add(v *groupv1.VolumeGroupSnapshot, of []client.Object, names map[string]types.UID, restores map[string]bool) {
	s, record := backup.Of(v), backup.ClaimsOf(v)
	for _, m := range of {
		s.Restoring = s.Restoring || restores[m.GetName()]
		if until, held := backup.HeldUntil(m); held && until.After(s.HeldUntil) {
			s.HeldUntil = until
		}
	}
	members := groupMembers{held: map[types.UID]*snapshotv1.VolumeSnapshot{}}
	byClaim := members.byClaim(of, record)
	if s.Uncut() {
		g.sourcesChange(record, names)
	}
	var parts []retention.Part
	for _, name := range slices.Sorted(maps.Keys(record)) {
		uid, found := record[name], byClaim[name]
		if len(found) > 1 {
			members.doubled = append(members.doubled, name)
		}
		switch best := bestMember(found); {
		case best == nil || members.held[uid] != nil: // the record has a UID twice
			members.lacks = append(members.lacks, name)
		case backup.Terminating(best):
			members.deleted = append(members.deleted, name)
		default:
			members.held[uid] = best
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
	g.outputs, g.members = append(g.outputs, v), append(g.members, members)
	g.Whole.Snapshots, g.Parts = append(g.Whole.Snapshots, s), append(g.Parts, parts)
}

// sourcesChange finds out whether an uncut group snapshot would be cut without a PVC of its record, or from another one of its name.
func (g *backups) sourcesChange(record, names map[string]types.UID) {
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

// byClaim returns members by the PVC of the record that they name. Others are strangers.
func (m *groupMembers) byClaim(of []client.Object, record map[string]types.UID) map[string][]*snapshotv1.VolumeSnapshot {
	byClaim := map[string][]*snapshotv1.VolumeSnapshot{}
	for _, o := range of {
		name := backup.ClaimName(o)
		if _, known := record[name]; known {
			byClaim[name] = append(byClaim[name], o.(*snapshotv1.VolumeSnapshot))
		} else {
			m.strangers = append(m.strangers, cmp.Or(name, o.GetName()))
		}
	}
	return byClaim
}

// of returns what holds a PVC: its snapshots, or the members as objects, and as snapshots of its series.
func (g *backups) of(claim *corev1.PersistentVolumeClaim) (found []client.Object, series []retention.Snapshot) {
	if !g.ofGroup {
		return g.outputs, g.Whole.Snapshots
	}
	for i := range g.outputs {
		if m := g.members[i].held[claim.UID]; len(g.Parts[i]) > 0 && m != nil {
			found = append(found, m)
		}
	}
	return found, g.Of(string(claim.UID)).Snapshots
}

// everywhere returns what holds a PVC under this key and others, and as a series also what does under this key alone. What can be said
// of the PVC alone depends on all of them.
func (g *backups) everywhere(claim *corev1.PersistentVolumeClaim) (found []client.Object, series, own []retention.Snapshot) {
	if found, own = g.of(claim); !g.ofGroup {
		return found, own, own
	}
	elsewhere, more := g.elsewhere.of(claim)
	return slices.Concat(found, elsewhere), slices.Concat(own, more), own
}

// takenElsewhere returns the newest slot of a group without snapshots that each of its PVCs has one for under another key of the
// schedule; zero if one of them has none. To relabel a PVC is then no request.
func (g *backups) takenElsewhere(
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
func (g *backups) has(i int, readyDeadline time.Duration, now time.Time) func(*corev1.PersistentVolumeClaim) bool {
	v, state := g.outputs[i].(*groupv1.VolumeGroupSnapshot), g.Whole.Snapshots[i].State(now, readyDeadline)
	var record map[string]types.UID
	if state == retention.InProgress {
		record = backup.ClaimsOf(v)
	}
	return func(claim *corev1.PersistentVolumeClaim) bool {
		if m := g.members[i].held[claim.UID]; m != nil {
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

// MembersOf returns those of some VolumeSnapshots that are labeled members of a group snapshot.
func MembersOf(v client.Object, all []client.Object) []client.Object {
	return slices.DeleteFunc(slices.Clone(all), func(o client.Object) bool { return !isMember(v, o) })
}

// isMember implements Children.Is.
func isMember(v, o client.Object) bool {
	return backup.GroupLabel(o) == v.GetName() && backup.IsMember(o, v)
}

// IsMemberOf returns whether a VolumeSnapshot, labeled or not, is a member of a group snapshot.
func IsMemberOf(o client.Object, v *groupv1.VolumeGroupSnapshot) bool { return backup.IsMember(o, v) }
