// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// hourly returns a StatefulSet db with a PVC for each of its two replicas, and a snapshot of each every hour.
func hourly() (set *appsv1.StatefulSet, all []client.Object) {
	set = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "db"}}
	set.Spec.Replicas = ptr.To[int32](2)
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	schedule, size := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{}), resource.MustParse("1Gi")
	all = append(all, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "mock"})
	for i := range 2 {
		claim := clitest.Claim(fmt.Sprint("data-db-", i), nil)
		claim.Spec.VolumeName, claim.Spec.AccessModes = "pv-"+claim.Name, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.StorageClassName, claim.Spec.Resources.Requests = ptr.To("fast"), corev1.ResourceList{corev1.ResourceStorage: size}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName, UID: types.UID(claim.Spec.VolumeName)}}
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: claim.Name, UID: claim.UID}
		volume.Spec.Capacity = claim.Spec.Resources.Requests
		all = append(all, claim, volume)
		for hour := range 48 {
			v := clitest.Snapshot(schedule, claim, clitest.Start.Add(time.Duration(hour)*time.Hour))
			v.Status.RestoreSize, v.Status.BoundVolumeSnapshotContentName = &size, ptr.To("of-"+v.Name)
			content := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: "of-" + v.Name}}
			content.Spec.Driver = "mock"
			content.Spec.VolumeSnapshotRef = corev1.ObjectReference{Namespace: "shop", Name: v.Name, UID: v.UID}
			all = append(all, v, content)
		}
	}
	return set, all
}

// testRollback returns a run of rollback that begins at a time.
func testRollback(c client.WithWatch, at time.Time, asOf string) *rollbackRun {
	r := &rollbackRun{
		f: &term.Factory{
			IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Namespace: "shop", Client: c, Clock: testclock.NewFakePassiveClock(at),
		},
		printed: steps.Printed{}, targets: map[string]*snapshotv1.VolumeSnapshot{}, seen: map[string]bool{},
		began: at, started: at, user: "jane", newID: newRollbackID(), time: asOf,
	}
	if asOf != "" {
		r.asOf, _ = r.f.AsOf(asOf, at)
	}
	return r
}

// goals are the snapshots to which the rollback of a state goes back, and its ID.
func goals(t *testing.T, r *rollbackRun) (id string, snapshots []string) {
	t.Helper()
	state, err := r.observe(t.Context())
	if err == nil {
		_, err = core.Next(state)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range state.Claims {
		snapshots = append(snapshots, c.Target.Name)
	}
	return state.Lock().ID, snapshots
}

// An age that is counted from the next run chooses another snapshot than the run that was interrupted.
//
// Contract: BACK-3.
func TestAnInterruptedRollbackThatBeganWithAnAgeGoesOn(t *testing.T) {
	set, all := hourly()
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(append(all, set)...).Build()
	began := clitest.Start.Add(10*time.Hour + 50*time.Minute)
	r := testRollback(c, began, "2h")
	r.workloadName = "statefulset/db"
	state, err := r.observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	step, err := core.Next(state)
	if err == nil {
		err = r.Sent(state, step, (&steps.Runner{Factory: r.f}).Send(t.Context(), step))
	}
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"data-db-0-20260101080000", "data-db-1-20260101080000"}
	for _, later := range []time.Duration{20 * time.Minute, 23 * time.Hour} {
		again := testRollback(c, began.Add(later), "2h")
		again.workloadName, again.yes = "statefulset/db", true
		if id, got := goals(t, again); id != r.newID || !slices.Equal(got, want) {
			t.Errorf("after %s: rollback %s goes to %v, want %s to %v", later, id, got, r.newID, want)
		}
		if err := again.agreed(); err != nil {
			t.Errorf("after %s: %v", later, err)
		}
	}
	// What an error advises works: the snapshot is that of the PVC that is named, and of no other one.
	named := testRollback(c, began.Add(time.Hour), "")
	named.workloadName, named.claims = "statefulset/db", []string{"data-db-0"}
	named.snapshot = want[0]
	id, got := goals(t, named)
	if id != r.newID || !slices.Equal(got, want) || len(named.unlike) != 1 || !strings.Contains(named.unlike[0], want[1]) {
		t.Errorf("rollback %s goes to %v, and %v is asked about", id, got, named.unlike)
	}
	other := testRollback(c, began.Add(time.Hour), "")
	other.workloadName, other.claims = "statefulset/db", []string{"data-db-0"}
	other.snapshot = "data-db-0-20260101070000"
	advice := "or finish it: kubectl snapsched rollback -n shop statefulset/db --pvc data-db-0 --snapshot " + want[0]
	if _, err := other.observe(t.Context()); err == nil || !strings.Contains(err.Error(), advice) {
		t.Errorf("with another snapshot: %v", err)
	}
}

// Whoever may edit a workload writes where its unfinished rollback goes back to, and when it began.
//
// Contract: BACK-3.
func TestAGoalThatThePointInTimeWouldNotHaveChosenIsNotUnseen(t *testing.T) {
	now := clitest.Start.Add(40*time.Hour + 30*time.Minute)
	for name, tc := range map[string]struct {
		asOf    string
		goal    int // the hour of its snapshot
		began   time.Duration
		wantAsk bool
	}{
		"what the age chose then":       {"2h", 36, 2 * time.Hour, false},
		"what the age chooses now":      {"2h", 38, 2 * time.Hour, true},
		"an older one":                  {"2h", 2, 2 * time.Hour, true},
		"the age of a begin long ago":   {"2h", 10, 28 * time.Hour, true},
		"the age of a begin to come":    {"2h", 39, -time.Hour, true},
		"that of the time":              {"2026-01-02T01:10:00Z", 25, 2 * time.Hour, false},
		"one before the time":           {"2026-01-02T01:10:00Z", 24, 2 * time.Hour, true},
		"that of the time, begun never": {"2026-01-02T01:10:00Z", 25, 1000 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			set, all := hourly()
			lock := core.Lock{ID: "0123abcd", User: "jane", Time: metav1.NewTime(now), Began: metav1.NewTime(now.Add(-tc.began))}
			for _, o := range all {
				if v, is := o.(*snapshotv1.VolumeSnapshot); is && v.CreationTimestamp.Sub(clitest.Start) == time.Duration(tc.goal)*time.Hour {
					lock.Claims = append(lock.Claims, core.Goal{Name: *v.Spec.Source.PersistentVolumeClaimName, Snapshot: v.Name, SnapshotUID: v.UID})
				}
			}
			text, err := json.Marshal(lock)
			if err != nil {
				t.Fatal(err)
			}
			set.Annotations = map[string]string{v1alpha1.AnnotationRollback: string(text)}
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(append(all, set)...).Build()
			r := testRollback(c, now, tc.asOf)
			r.workloadName, r.yes = "statefulset/db", true
			_, got := goals(t, r)
			if got[0] != lock.Claims[0].Snapshot {
				t.Errorf("it goes to %v", got)
			}
			err = r.agreed()
			if (err != nil) != tc.wantAsk || err != nil && !strings.Contains(err.Error(), "without --yes") {
				t.Errorf("with --yes: %v", err)
			}
			if r.yes = false; r.agreed() != nil {
				t.Error("it cannot be agreed to")
			}
		})
	}
}

// The PVCs are deleted, and the note went with the workload, which was created again. Only the records on the volumes know of the rollback.
//
// Contract: BACK-3.
func TestARollbackOfAWorkloadThatWasCreatedAgainIsFoundByItsRecords(t *testing.T) {
	set, all := hourly()
	set.Spec.Replicas = ptr.To[int32](0)
	began := clitest.Start.Add(10 * time.Hour)
	lock := core.Lock{ID: "0123abcd", User: "jane", Time: metav1.NewTime(began), Began: metav1.NewTime(began), Replicas: 2}
	var records []*core.Record
	var left []client.Object
	for i := range 2 {
		claim := clitest.Claim(fmt.Sprint("data-db-", i), nil)
		v := clitest.Snapshot(clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{}), claim, clitest.Start)
		lock.Claims = append(lock.Claims, core.Goal{Name: claim.Name, Snapshot: v.Name, SnapshotUID: v.UID})
		records = append(records, &core.Record{
			Claim: *claim, Snapshot: v.Name, SnapshotUID: v.UID, Volume: "pv-" + claim.Name, VolumeUID: types.UID("pv-" + claim.Name),
			MapKeys: []types.UID{claim.UID}, Workload: "statefulset/db", Lock: &lock,
		})
	}
	for i, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("restored-", i), UID: types.UID(fmt.Sprint("restored-", i)),
			Annotations: map[string]string{v1alpha1.AnnotationRollbackPrefix + lock.ID: string(text)},
		}}
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: r.Claim.Name}
		left = append(left, v)
	}
	for _, o := range all {
		if _, is := o.(*corev1.PersistentVolumeClaim); !is {
			left = append(left, o)
		}
	}
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(append(left, set)...).Build()
	for _, undo := range []string{"", latestRollback} {
		r := testRollback(c, began.Add(20*time.Minute), "2h")
		r.workloadName, r.undo = "statefulset/db", undo
		if undo != "" {
			r.time = ""
		}
		state, err := r.observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		step, err := core.Next(state)
		if err != nil || len(state.Claims) != 2 || state.Lock().Replicas != 2 || undo == "" && state.Lock().ID != lock.ID || step.Number == 0 {
			t.Errorf("undo %q: step %d %q of %d PVCs: %v", undo, step.Number, step.Text, len(state.Claims), err)
		}
	}
}
