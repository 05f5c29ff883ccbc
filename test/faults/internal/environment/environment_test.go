// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

func snapshot(name, version string) *snapshotv1.VolumeSnapshot {
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: "here", Name: name, UID: types.UID(name), ResourceVersion: version,
	}}
	v.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
	return v
}

func recorded() *Recorder {
	r := emptyRecorder()
	at := time.Unix(1, 0)
	r.add(watch.Added, snapshot("a", "10"), at)
	r.add(watch.Added, snapshot("b", "9"), at)
	r.add(watch.Modified, snapshot("a", "11"), at)
	r.add(watch.Deleted, snapshot("a", "12"), at)
	return r
}

// A namespace under deletion empties while it is listed.
func TestCatchUpListsAgainWhatMayBeDeletedMeanwhile(t *testing.T) {
	gone := snapshot("a", "")
	lists := 0
	c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(gone, snapshot("b", "")).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if lists++; lists == 4 {
				if err := c.Delete(ctx, gone); err != nil {
					return err
				}
			}
			return c.List(ctx, list, o...)
		},
	}).Build()
	r := recorded()
	r.add(watch.Modified, snapshot("b", "999"), time.Unix(1, 0))
	if err := r.CatchUp(t.Context(), c, "here"); err != nil {
		t.Error(err)
	}
	if lists != 6 {
		t.Errorf("%d lists: the record was not behind once", lists)
	}
}

func TestChangesAreInTheOrderOfTheirCommits(t *testing.T) {
	changes := recorded().Changes("here")
	var revisions []int64
	for _, c := range changes {
		revisions = append(revisions, c.Revision)
	}
	if len(revisions) != 4 || revisions[0] != 9 || revisions[3] != 12 {
		t.Fatalf("%v", revisions)
	}
	if changes[2].Object.GetResourceVersion() != "11" || changes[2].Removed || !changes[3].Removed {
		t.Errorf("%+v", changes)
	}
}

func TestRecordIsBehindUntilItHoldsTheLiveVersions(t *testing.T) {
	r := recorded()
	for _, c := range []struct {
		live   []client.Object
		behind bool
	}{
		{[]client.Object{snapshot("b", "9")}, false},
		{[]client.Object{snapshot("b", "8")}, false},
		{[]client.Object{snapshot("b", "10")}, true},
		{[]client.Object{snapshot("b", "9"), snapshot("c", "1")}, true},
		{nil, true},
	} {
		if err := r.matches("here", c.live); (err != nil) != c.behind {
			t.Errorf("%v: %v", c.live, err)
		}
	}
}

func TestObjectsInNoNamespaceAreRecordedWithThatOfTheirName(t *testing.T) {
	r := emptyRecorder()
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "here", UID: "n", ResourceVersion: "1"}},
		&v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "here", UID: "f", ResourceVersion: "2"}},
		&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: "here", UID: "c", ResourceVersion: "3"}},
	} {
		r.add(watch.Added, o, time.Unix(1, 0))
	}
	if s := r.State("here"); len(s.Namespaces) != 1 || len(s.Fleets) != 1 || len(s.Schedules) != 1 {
		t.Errorf("%+v", s)
	}
}
