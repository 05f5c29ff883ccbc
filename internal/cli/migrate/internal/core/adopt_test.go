// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var taken = time.Date(2026, 11, 21, 2, 0, 3, 0, time.UTC)

func TestAdopt(t *testing.T) {
	const (
		labels = `"labels":{"snapscheduler.backube/schedule":null,"snapshots.mapcontroller.dev/map-key":"uid-1",` +
			`"snapshots.mapcontroller.dev/schedule":"hourly"}`
		withSlot = `{"metadata":{"annotations":{"snapscheduler.backube/schedule":"hourly",` +
			`"snapshots.mapcontroller.dev/scheduled-at":"2026-11-21T02:00:00Z"},` + labels
		withoutSlot = `{"metadata":{"annotations":{"snapscheduler.backube/schedule":"hourly"},` + labels
		version     = `,"resourceVersion":"7"}}`
		noSlot      = "no snapshots.mapcontroller.dev/scheduled-at: "
		instead     = "; its creationTimestamp counts"
	)
	peerOwner := metav1.OwnerReference{APIVersion: "snapscheduler.backube/v1", Kind: "SnapshotSchedule", Name: "hourly", UID: "s"}
	ours := metav1.OwnerReference{APIVersion: "snapshots.mapcontroller.dev/v1alpha1", Kind: "SnapshotSchedule", Name: "hourly", UID: "o"}
	backup := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "backup", UID: "c"}
	for name, c := range map[string]struct {
		change func(*snapshotv1.VolumeSnapshot, *corev1.PersistentVolumeClaim)
		gone   bool
		want   Adoption
		patch  string
	}{
		"one of a PVC that is older": {patch: withSlot + version},
		"one that was cut by a clock a little behind": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) {
				v.CreationTimestamp = metav1.NewTime(taken.Add(-30 * time.Second))
			},
			patch: withSlot + version,
		},
		"one that the peer owns, not as its controller": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) {
				v.OwnerReferences = []metav1.OwnerReference{peerOwner}
			},
			patch: withSlot + `,"ownerReferences":[]` + version,
		},
		"one that others own too": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) {
				v.OwnerReferences = []metav1.OwnerReference{backup, peerOwner, ours}
			},
			patch: withSlot + `,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"backup","uid":"c"},` +
				`{"apiVersion":"snapshots.mapcontroller.dev/v1alpha1","kind":"SnapshotSchedule","name":"hourly","uid":"o"}]` + version,
		},
		"one that only others own": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) {
				v.OwnerReferences = []metav1.OwnerReference{backup}
			},
			patch: withSlot + version,
		},
		"one without a slot": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) { delete(v.Labels, labelPeerWhen) },
			patch:  withoutSlot + version, want: Adoption{Note: noSlot + "it has no label snapscheduler.backube/when" + instead},
		},
		"one whose slot is no time": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) { v.Labels[labelPeerWhen] = "today" },
			patch:  withoutSlot + version,
			want:   Adoption{Note: noSlot + `its label snapscheduler.backube/when is "today", not a time such as 202601311200` + instead},
		},
		"one whose slot is later than itself": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) {
				v.Labels[labelPeerWhen] = "202611210300"
			},
			patch: withoutSlot + version,
			want:  Adoption{Note: noSlot + `its label snapscheduler.backube/when is "202611210300", later than its creation` + instead},
		},
		"one of a PVC that is gone": {
			gone: true, want: Adoption{Reason: "its PVC data is gone, and with it the UID that would be the map key"},
		},
		"one of a PVC that was created again": {
			change: func(_ *snapshotv1.VolumeSnapshot, claim *corev1.PersistentVolumeClaim) {
				claim.CreationTimestamp = metav1.NewTime(taken.Add(time.Second))
			},
			want: Adoption{Reason: "its PVC data is gone: the one with that name now is younger"},
		},
		"one of a group": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) {
				v.OwnerReferences = []metav1.OwnerReference{peerOwner, {APIVersion: "groupsnapshot.storage.k8s.io/v1", Kind: "VolumeGroupSnapshot", Name: "g", UID: "g"}}
			},
			want: Adoption{Reason: "it is a member of a VolumeGroupSnapshot"},
		},
		"one that something controls": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) {
				controller := backup
				controller.Controller = ptr.To(true)
				v.OwnerReferences = []metav1.OwnerReference{peerOwner, controller}
			},
			want: Adoption{Reason: "ConfigMap backup controls it"},
		},
		"one that is being deleted": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) {
				v.DeletionTimestamp = &metav1.Time{Time: taken}
			},
			want: Adoption{Reason: "it is being deleted"},
		},
		"an imported one": {
			change: func(v *snapshotv1.VolumeSnapshot, _ *corev1.PersistentVolumeClaim) {
				v.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: ptr.To("content")}
			},
			want: Adoption{Reason: "it was made from an existing content, so its PVC is unknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "data-hourly-202611210200", ResourceVersion: "7", CreationTimestamp: metav1.NewTime(taken),
				Labels: map[string]string{LabelPeerSchedule: "hourly", labelPeerWhen: "202611210200", "team": "shop"},
			}}
			v.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "data", UID: "uid-1", CreationTimestamp: metav1.NewTime(taken.Add(-time.Hour)),
			}}
			if c.change != nil {
				c.change(v, claim)
			}
			if c.gone {
				claim = nil
			}
			got := Adopt(v, claim)
			if string(got.Patch) != c.patch {
				t.Errorf("got patch\n%s\nwant\n%s", got.Patch, c.patch)
			}
			if got.Reason != c.want.Reason || got.Note != c.want.Note {
				t.Errorf("got %q, %q, want %q, %q", got.Reason, got.Note, c.want.Reason, c.want.Note)
			}
		})
	}
}
