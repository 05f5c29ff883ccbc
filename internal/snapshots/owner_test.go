// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
)

// ofGroup makes a snapshot a member, as the snapshot controller does.
func ofGroup(o client.Object) {
	o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: "groupsnapshot.storage.k8s.io/v1", Kind: "VolumeGroupSnapshot", Name: "shop", UID: "group-uid",
	}))
}

// Contract: OWN-8.
func TestGroupMember(t *testing.T) {
	ready := func() *snapshotv1.VolumeSnapshot { return ready(time.Hour).VolumeSnapshot }
	plain, member, old, other, noReference := ready(), ready(), ready(), ready(), ready()
	ofGroup(member)
	ofGroup(old)
	old.OwnerReferences[0].APIVersion = "groupsnapshot.storage.k8s.io/v1beta2"
	other.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Backup", Name: "shop", UID: "b"}}
	noReference.Status.VolumeGroupSnapshotName = ptr.To("shop")
	otherGroup, core := ready(), ready()
	ofGroup(otherGroup)
	ofGroup(core)
	otherGroup.OwnerReferences[0].APIVersion, core.OwnerReferences[0].APIVersion = "groupsnapshot.example.com/v1", "v1"
	metadata := &metav1.PartialObjectMetadata{}
	ofGroup(metadata)
	for name, test := range map[string]struct {
		o    client.Object
		want bool
	}{
		"a snapshot":                           {plain, false},
		"one without a status":                 {uncut(time.Hour).VolumeSnapshot, false},
		"one that something else owns":         {other, false},
		"one of a kind of the same name":       {otherGroup, false},
		"one of that kind without a group":     {core, false},
		"a member":                             {member, true},
		"a member, of an older API":            {old, true},
		"a member that has lost its reference": {noReference, true},
		"a member's metadata":                  {metadata, true},
		"metadata":                             {&metav1.PartialObjectMetadata{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := backup.GroupMember(test.o); got != test.want {
				t.Errorf("got %v", got)
			}
			if v, ok := test.o.(*snapshotv1.VolumeSnapshot); ok {
				if got := backup.GroupMember(strip(t, stripSnapshot, v.DeepCopy())); got != test.want {
					t.Errorf("in the cache: %v", got)
				}
			}
		})
	}
}

// A member is never the schedule's, whatever it carries. One that an older release
// adopted is released.
// Contract: OWN-8.
func TestOwnershipOfMembers(t *testing.T) {
	s := every("6h")
	orphaned := s.DeepCopy()
	orphaned.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	labels := map[string]string{v1alpha1.LabelMapKey: "data-uid", v1alpha1.LabelSchedule: s.Name}
	labeled, adopted := ready(time.Hour), ready(time.Hour)
	for _, v := range []snapshotBuilder{labeled, adopted} {
		v.Labels = labels
		ofGroup(v)
	}
	adopted.OwnerReferences = append(adopted.OwnerReferences, s.ownerReference())
	for _, parent := range []*v1alpha1.SnapshotSchedule{s.SnapshotSchedule, orphaned} {
		for v, wantReleased := range map[*snapshotv1.VolumeSnapshot]bool{labeled.VolumeSnapshot: false, adopted.VolumeSnapshot: true} {
			is := Ownership.Relation(parent, v)
			if is.Owned || is.Orphan || is.Release != wantReleased {
				t.Errorf("%s, owners %v: %+v", parent.Spec.DeletionPolicy, v.OwnerReferences, is)
			}
		}
	}
	for _, o := range []client.Object{labeled.VolumeSnapshot, adopted.VolumeSnapshot} {
		o.SetOwnerReferences(nil)
		if !Ownership.Relation(s.SnapshotSchedule, o).Orphan {
			t.Error("without the group, it would be adopted")
		}
	}
}
