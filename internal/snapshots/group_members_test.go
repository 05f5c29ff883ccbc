// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// drawForeign draws a VolumeSnapshot that somebody creates who may not write its status: the snapshot controller does, and it
// makes it a member of no group.
func drawForeign(t *rapid.T, s scheduleBuilder, name string, groups []groupBuilder) client.Object {
	like := []snapshotBuilder{uncut(time.Minute), ready(time.Hour), ready(40 * time.Hour)}
	v := rapid.SampledFrom(like).Draw(t, name).DeepCopy()
	v.Name, v.UID, v.Labels = name, types.UID(name), map[string]string{}
	of := rapid.SampledFrom(groups).Draw(t, name+" group")
	if rapid.Bool().Draw(t, name+" labeled") {
		v.Labels[v1alpha1.LabelGroupSnapshot] = of.Name
	}
	if rapid.Bool().Draw(t, name+" tagged") {
		v.Labels[v1alpha1.LabelMapKey], v.Labels[v1alpha1.LabelSchedule] = wholeKey, s.Name
	}
	owner := metav1.OwnerReference{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: of.Name, UID: of.UID}
	switch rapid.SampledFrom([]string{"group", "another UID", "schedule", "none"}).Draw(t, name+" owner") {
	case "group":
		v.OwnerReferences = []metav1.OwnerReference{owner}
	case "another UID":
		owner.UID = "other"
		v.OwnerReferences = []metav1.OwnerReference{owner}
	case "schedule":
		v.OwnerReferences = []metav1.OwnerReference{s.ownerReference(), owner}
	default:
		v.OwnerReferences = nil
	}
	v.Spec.Source.PersistentVolumeClaimName = new(rapid.SampledFrom([]string{"a", "b", "x", ""}).Draw(t, name+" source"))
	v.Annotations = nil
	if rapid.Bool().Draw(t, name+" verified") {
		annotate(v, v1alpha1.AnnotationVerifiedAt, rfc3339(ago(time.Minute)))
	}
	if rapid.IntRange(0, 4).Draw(t, name+" deleting") == 0 {
		markDeleting(v)
	}
	return v
}

// Contract: GRP-6, GRP-14.
func TestNoVolumeSnapshotThatOthersCreateDeletesAGroupSnapshotEarlier(t *testing.T) {
	subsets, scheme := []string{"a b", "a b", "a", "b", ""}, judgeScheme(t)
	rapid.Check(t, func(rt *rapid.T) {
		schedules := []scheduleBuilder{every("6h").ttl("1d"), every("6h").ttl("1d").minVerified(1), every("6h").maxCount(2)}
		s := rapid.SampledFrom(schedules).Draw(rt, "schedule").grouped()
		var groups []groupBuilder
		for i := range rapid.IntRange(1, 5).Draw(rt, "groups") {
			age := time.Duration(i*12+rapid.IntRange(1, 11).Draw(rt, "age")) * time.Hour
			groups = append(groups, group(age, "a b", rapid.SampledFrom(subsets).Draw(rt, "holds")))
		}
		var foreign []client.Object
		for i := range rapid.IntRange(1, 4).Draw(rt, "foreign") {
			foreign = append(foreign, drawForeign(rt, s, fmt.Sprintf("foreign-%d", i), groups))
		}
		judge, err := NewJudge(scheme, s.SnapshotSchedule, Classes{})
		must(t, err)
		deletes := func(more ...client.Object) (names []string) {
			series := Series{MapKey: wholeKey, Snapshots: slices.Clone(more), Members: slices.Clone(more)}
			for _, c := range []string{"a", "b"} {
				series.Claims = append(series.Claims, claim(c).member().PersistentVolumeClaim)
			}
			for _, g := range groups {
				v := g.DeepCopy()
				v.Labels[v1alpha1.LabelSchedule], v.OwnerReferences = s.Name, []metav1.OwnerReference{s.ownerReference()}
				series.Snapshots, series.Members = append(series.Snapshots, v), append(series.Members, g.members...)
			}
			for _, d := range judge.Judge(noon, series).Delete {
				names = append(names, d.Object.GetName())
			}
			return names
		}
		without := deletes()
		for _, name := range deletes(foreign...) {
			if !slices.Contains(without, name) {
				rt.Fatalf("deletes %s, which it keeps (it deletes %v) without %s", name, without, toJSON(foreign))
			}
		}
	})
}

// What the cache holds of a member says that it is one.
func TestStrippedMembersAreMembers(t *testing.T) {
	g := group(time.Hour, "a", "a")
	stripped, err := stripMember(g.members[0].DeepCopyObject())
	must(t, err)
	if !IsMemberOf(stripped.(client.Object), g.VolumeGroupSnapshot) {
		t.Error("the cache lost that it is a member")
	}
	long := g.members[0].DeepCopyObject().(*snapshotv1.VolumeSnapshot)
	long.Status.VolumeGroupSnapshotName = nil
	if IsMemberOf(long, g.VolumeGroupSnapshot) {
		t.Error("an owner reference alone makes a member")
	}
}

// judgeScheme knows the kinds that a Judge reads.
func judgeScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), snapshotv1.AddToScheme(scheme), groupv1.AddToScheme(scheme)))
	return scheme
}
