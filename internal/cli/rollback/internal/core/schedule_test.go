// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// newSchedule returns the schedule of the snapshots. What has lost its PVC, or is not selected, goes at once.
func newSchedule() *v1alpha1.SnapshotSchedule {
	s := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "nightly", UID: "nightly-uid", Generation: 1, CreationTimestamp: metav1.NewTime(noon.AddDate(0, 0, -60)),
	}}
	s.Spec.Schedule = "0 2 * * *"
	s.Spec.DeletionPolicy = v1alpha1.DeletionOrphan // owned by labels
	s.Spec.Retention.Keep.Daily = 7
	s.Spec.Retention.Detached = v1alpha1.DetachedRetention{SnapshotTTL: "1s"}
	return s
}

var testScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), snapshotv1.AddToScheme(scheme), groupv1.AddToScheme(scheme)); err != nil {
		panic(err)
	}
	return scheme
}()

// judgments are what the operator would do now, by map key.
func (s *cluster) judgments() map[string]snapshots.Judgment {
	if s.judges == nil {
		j, err := snapshots.NewJudge(testScheme, s.schedule, snapshots.Classes{})
		s.must(err)
		s.judges = j
	}
	series := map[string]*snapshots.Series{}
	of := func(key string) *snapshots.Series {
		if series[key] == nil {
			series[key] = &snapshots.Series{MapKey: key}
		}
		return series[key]
	}
	pvcs := map[string]*corev1.PersistentVolumeClaim{}
	for _, p := range s.pvcs() {
		if pvcs[string(p.UID)] = p; s.judges.Selects(p) && strings.HasPrefix(p.Name, "data-db-") {
			of(string(p.UID))
		}
	}
	for _, v := range s.snapshots() {
		if key := v.Labels[v1alpha1.LabelMapKey]; key != "" {
			of(key).Snapshots = append(of(key).Snapshots, v)
		}
	}
	all := map[string]snapshots.Judgment{}
	for key, one := range series {
		if p := pvcs[key]; p != nil {
			one.Claims = []*corev1.PersistentVolumeClaim{p}
		}
		all[key] = s.judges.Judge(s.now, *one)
	}
	return all
}

// tickSchedule does what the operator does.
func (s *cluster) tickSchedule() {
	all := s.judgments()
	for key := range all {
		for _, removal := range all[key].Delete {
			s.must(client.IgnoreNotFound(s.delete(removal.Object)))
		}
		for _, o := range all[key].Create {
			v := o.DeepCopyObject().(*snapshotv1.VolumeSnapshot)
			if s.get(v) == nil {
				s.create(v)
			}
		}
	}
}

// deletes are the names and reasons of what the operator deletes now of a PVC.
func (s *cluster) deletes(claim string) (names []string) {
	for _, r := range s.judgments()[string(s.pvcs()[claim].UID)].Delete {
		names = append(names, r.Object.GetName()+" "+r.Reason)
	}
	slices.Sort(names)
	return names
}
