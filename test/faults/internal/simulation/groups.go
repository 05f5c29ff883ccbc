// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// What the snapshot controller and the drivers do with group snapshots, as tried with external-snapshotter 8.7, and what users do.

// Finalizers of the snapshot controller: a group snapshot has one once it is bound to its content, a member from the start.
const (
	finalizerGroupBound = "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection"
	finalizerInGroup    = "snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection"
)

func (w *world) groups() (all []*groupv1.VolumeGroupSnapshot) {
	for _, o := range w.server.List(kube.Groups) {
		all = append(all, o.(*groupv1.VolumeGroupSnapshot))
	}
	return all
}

// members returns the VolumeSnapshots that the snapshot controller made for a group snapshot.
func (w *world) members(g *groupv1.VolumeGroupSnapshot) (all []*snapshotv1.VolumeSnapshot) {
	for _, v := range w.snapshots() {
		if groupOf(v) == g.UID {
			all = append(all, v)
		}
	}
	return all
}

// takeGroup cuts a group snapshot of the PVCs that its labels match now, if each of them can be, and tries again otherwise.
func (d *driver) takeGroup(g *groupv1.VolumeGroupSnapshot) {
	var of []*corev1.PersistentVolumeClaim
	refused, m := false, healthy
	for _, c := range d.claims() {
		if labels.SelectorFromSet(g.Spec.Source.Selector.MatchLabels).Matches(labels.Set(c.Labels)) {
			of = append(of, c)
			refused = refused || c.Status.Phase != corev1.ClaimBound || d.modes[c.Name] == down || d.modes[c.Name] == failing
			m = max(m, d.modes[c.Name])
		}
	}
	if refused || len(of) == 0 {
		d.reportGroup(g, func(status *groupv1.VolumeGroupSnapshotStatus) {
			// The type of the error is that of another version of the module.
			must(json.Unmarshal(fmt.Appendf(nil, `{"error":{"time":%q,"message":"refused"}}`, time.Now().UTC().Format(time.RFC3339)), status))
		})
		later(d, 20*time.Minute, 40*time.Minute, g, d.takeGroup)
		return
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	for i, c := range of {
		if m == losing && i > 0 && oneIn(d.rand, 3) {
			continue // left out, and nobody is told
		}
		v := d.create(&snapshotv1.VolumeSnapshot{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("snapshot-%s-%d", g.UID, i), Finalizers: []string{finalizerInGroup},
				OwnerReferences: []metav1.OwnerReference{
					{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: g.Name, UID: g.UID},
				},
			},
			Spec: snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &c.Name}},
		}).(*snapshotv1.VolumeSnapshot)
		d.report(v, func(status *snapshotv1.VolumeSnapshotStatus) {
			status.CreationTime, status.ReadyToUse, status.VolumeGroupSnapshotName = &now, new(false), &g.Name
		})
	}
	d.reportGroup(g, func(status *groupv1.VolumeGroupSnapshotStatus) {
		status.BoundVolumeGroupSnapshotContentName = new("groupsnapcontent-" + string(g.UID))
		status.CreationTime, status.ReadyToUse, status.Error = &now, new(false), nil
	})
	d.edit(kube.Groups, g.Name, func(o client.Object) { o.SetFinalizers([]string{finalizerGroupBound}) })
	if m == slow {
		later(d, 2*time.Hour, 3*day, g, d.finishGroup)
	} else {
		later(d, time.Second, 5*time.Minute, g, d.finishGroup)
	}
}

// finishGroup makes a group snapshot ready, and its members: before it, after it, or long after it.
func (d *driver) finishGroup(g *groupv1.VolumeGroupSnapshot) {
	for _, v := range d.members(g) {
		if v.DeletionTimestamp == nil {
			later(d, 0, pick(d.rand, time.Second, 15*time.Minute), v, func(v *snapshotv1.VolumeSnapshot) { d.finish(v, healthy) })
		}
	}
	later(d, 0, time.Second, g, func(g *groupv1.VolumeGroupSnapshot) {
		d.reportGroup(g, func(status *groupv1.VolumeGroupSnapshotStatus) { status.ReadyToUse = new(true) })
	})
}

// removeGroup removes a group snapshot that is being deleted, with its members.
func (d *driver) removeGroup(g *groupv1.VolumeGroupSnapshot) {
	all := d.members(g)
	if slices.ContainsFunc(all, d.keeps) {
		later(d, 20*time.Minute, 40*time.Minute, g, d.removeGroup)
		return
	}
	for _, v := range all {
		d.delete(kube.Snapshots, v.Name)
		d.edit(kube.Snapshots, v.Name, func(o client.Object) { o.SetFinalizers(nil) })
	}
	d.edit(kube.Groups, g.Name, func(o client.Object) { o.SetFinalizers(nil) })
}

func (d *driver) reportGroup(g *groupv1.VolumeGroupSnapshot, change func(*groupv1.VolumeGroupSnapshotStatus)) {
	d.editStatus(kube.Groups, g.Name, func(o client.Object) {
		g := o.(*groupv1.VolumeGroupSnapshot)
		if g.Status == nil {
			g.Status = &groupv1.VolumeGroupSnapshotStatus{}
		}
		change(g.Status)
	})
}

// recoverGroups has slow uploads end.
func (d *driver) recoverGroups() {
	for _, g := range d.groups() {
		if g.DeletionTimestamp == nil && g.Status != nil && g.Status.CreationTime != nil && !ptr.Deref(g.Status.ReadyToUse, false) {
			later(d, time.Minute, 12*time.Hour, g, d.finishGroup)
		}
	}
}

// groupActions are those of users whose schedules take group snapshots.
var groupActions = []action{
	{6, "delete a group snapshot", onGroup(func(u *users, g *groupv1.VolumeGroupSnapshot) { u.delete(kube.Groups, g.Name) })},
	{4, "hold a group snapshot", onGroup(func(u *users, g *groupv1.VolumeGroupSnapshot) {
		u.annotate(kube.Groups, g.Name, v1alpha1.AnnotationHold, "")
	})},
	{4, "end the holds of group snapshots", func(u *users) {
		for _, g := range u.groups() {
			u.edit(kube.Groups, g.Name, func(o client.Object) { delete(o.GetAnnotations(), v1alpha1.AnnotationHold) })
		}
	}},
	{8, "create a VolumeSnapshot that claims to be a member", onGroup((*users).claimMembership)},
	{8, "freeze the watch of group snapshots", func(u *users) { u.freeze(kube.Groups, u.anyTime()) }},
	{5, "delete group snapshots unseen", func(u *users) {
		u.freeze(kube.Groups, u.hours())
		all := u.groups()
		slices.SortFunc(all, func(a, b *groupv1.VolumeGroupSnapshot) int {
			return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
		})
		for _, g := range all[:min(len(all), 1+u.r.IntN(3))] {
			u.delete(kube.Groups, g.Name)
		}
	}},
}

// claimMembership creates a VolumeSnapshot that names a group snapshot as its owner, and perhaps has the operator's labels. Whoever may create
// one can do that.
func (u *users) claimMembership(g *groupv1.VolumeGroupSnapshot) {
	name, labels := "claims-"+stamp(), map[string]string{}
	if u.server.Find(kube.Snapshots, name) != nil {
		return
	}
	if !oneIn(u.r, 3) {
		labels[v1alpha1.LabelGroupSnapshot] = g.Name
	}
	if oneIn(u.r, 3) {
		labels[v1alpha1.LabelMapKey], labels[v1alpha1.LabelSchedule] = g.Labels[v1alpha1.LabelMapKey], g.Labels[v1alpha1.LabelSchedule]
	}
	u.create(&snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: g.Name, UID: g.UID},
		}},
		Spec: snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: new(u.anyClaim())}},
	})
}

// onGroup does something with a group snapshot, if there is one.
func onGroup(do func(*users, *groupv1.VolumeGroupSnapshot)) func(*users) {
	return func(u *users) {
		if all := u.groups(); len(all) > 0 {
			do(u, pick(u.r, all...))
		}
	}
}
