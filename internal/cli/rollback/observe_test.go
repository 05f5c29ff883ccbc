// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// The PVC of a replica that was added later has no snapshot of the time. A StatefulSet that runs needs all of its PVCs to go back; of one that
// is at 0, the PVC may be left over.
//
// Contract: BACK-6.
func TestAPVCWithoutASnapshotAtThatTimeIsLeftOutOfAWorkloadAtZeroOnly(t *testing.T) {
	asOf := clitest.Start.Add(10*time.Hour + time.Minute)
	for name, tc := range map[string]struct {
		replicas        int32
		claims, without []string
		unfinished      bool
		want            []string
		wantErr         string
	}{
		"at 0":                            {0, nil, []string{"data-db-1"}, false, []string{"data-db-0"}, ""},
		"at 0, all have one":              {0, nil, nil, false, []string{"data-db-0", "data-db-1"}, ""},
		"at 0, none has one":              {0, nil, []string{"data-db-0", "data-db-1"}, false, nil, "no PVC of statefulset/db has a ready snapshot at or before"},
		"at 0, and the PVC was named":     {0, []string{"data-db-1"}, []string{"data-db-1"}, false, nil, "data-db-1"},
		"at 2":                            {2, nil, []string{"data-db-1"}, false, nil, "data-db-1"},
		"at 0, of an unfinished rollback": {0, nil, []string{"data-db-1"}, true, []string{"data-db-0", "data-db-1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set, all := hourly()
			set.Spec.Replicas = &tc.replicas
			if tc.unfinished {
				set.Annotations = map[string]string{v1alpha1.AnnotationRollback: `{"id":"0123abcd","user":"jane","time":"2026-01-02T00:00:00Z","claims":[
					{"name":"data-db-0","snapshot":"a","snapshotUID":"a"},{"name":"data-db-1","snapshot":"b","snapshotUID":"b"}]}`}
			}
			all = slices.DeleteFunc(all, func(o client.Object) bool {
				v, is := o.(*snapshotv1.VolumeSnapshot)
				return is && slices.Contains(tc.without, *v.Spec.Source.PersistentVolumeClaimName) && !v.CreationTimestamp.After(asOf)
			})
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(append(all, set)...).Build()
			r := testRollback(c, clitest.Start.Add(48*time.Hour), asOf.Format(time.RFC3339))
			r.workloadName, r.claims = "statefulset/db", tc.claims
			var out bytes.Buffer
			r.f.Out = &out
			state, err := r.observe(t.Context())
			if (err != nil) != (tc.wantErr != "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Fatalf("got %v, want %q", err, tc.wantErr)
			}
			var got []string
			if err == nil {
				for _, c := range state.Claims {
					got = append(got, c.Name)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("it is of %v, want %v", got, tc.want)
			}
			for _, left := range tc.without {
				if said := strings.Contains(out.String(), "PersistentVolumeClaim "+left+" is left out"); err == nil && said == tc.unfinished {
					t.Errorf("nothing says that %s is left out: %q", left, out.String())
				}
			}
		})
	}
}

// An answer may take hours.
//
// Contract: BACK-3.
func TestAnAnswerIsToThePlanThatWasShown(t *testing.T) {
	now := clitest.Start.Add(48 * time.Hour)
	note := func(set *appsv1.StatefulSet, of *core.Lock, change func(*core.Lock)) {
		l := *of
		l.User, l.Time = "jane", metav1.NewTime(now)
		change(&l)
		text, err := json.Marshal(&l)
		if err != nil {
			t.Fatal(err)
		}
		set.Annotations = map[string]string{v1alpha1.AnnotationRollback: string(text)}
	}
	for name, tc := range map[string]struct {
		meanwhile func(set *appsv1.StatefulSet, shown *core.Lock)
		wantErr   string
	}{
		"nothing has happened":  {func(*appsv1.StatefulSet, *core.Lock) {}, ""},
		"something else has":    {func(set *appsv1.StatefulSet, _ *core.Lock) { set.Labels = map[string]string{"a": "b"} }, ""},
		"another one has begun": {func(set *appsv1.StatefulSet, l *core.Lock) { note(set, l, func(l *core.Lock) { l.ID = "4d3c2b01" }) }, "nothing was done: another rollback has begun"},
		"another user's has begun": {func(set *appsv1.StatefulSet, l *core.Lock) {
			note(set, l, func(l *core.Lock) { l.ID, l.User = "4d3c2b01", "joe" })
		}, "rollback 4d3c2b01 of data-db-0, data-db-1 by joe is unfinished"},
		"another one has begun, to other snapshots": {func(set *appsv1.StatefulSet, l *core.Lock) {
			note(set, l, func(l *core.Lock) {
				l.ID, l.Claims = "4d3c2b01", slices.Clone(l.Claims)
				l.Claims[0].SnapshotUID = "other"
			})
		}, "has begun meanwhile"},
		"the workload is controlled": {func(set *appsv1.StatefulSet, _ *core.Lock) {
			set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "a/v1", Kind: "Postgres", Name: "db", UID: "a", Controller: ptr.To(true)}}
		}, "is controlled by Postgres db"},
	} {
		t.Run(name, func(t *testing.T) {
			set, all := hourly()
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(append(all, set)...).Build()
			r := testRollback(c, now, "2h")
			r.workloadName = "statefulset/db"
			shown, err := r.observe(t.Context())
			if err == nil {
				_, err = core.Next(shown)
			}
			if err != nil {
				t.Fatal(err)
			}
			live := shown.Workload.Object.DeepCopyObject().(*appsv1.StatefulSet)
			tc.meanwhile(live, shown.Lock())
			if err := c.Update(t.Context(), live); err != nil {
				t.Fatal(err)
			}
			answered, err := r.stillPlanned(t.Context(), shown)
			if (err != nil) != (tc.wantErr != "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Fatalf("got %v, want %q", err, tc.wantErr)
			}
			if err != nil {
				return
			}
			r.first = answered
			first, err := r.Observe(t.Context())
			second, errAgain := r.Observe(t.Context())
			if err != nil || errAgain != nil || first != answered || first == shown || second == first {
				t.Errorf("the first step is not decided by what was read after the answer, or the second one is: %v, %v", err, errAgain)
			}
		})
	}
}
