// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func TestJudgeDecidesAsTheOperatorDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, found, now := clitest.DrawCase(t)
		judge, err := snapshots.NewJudge(term.Scheme, s, clitest.AnyClass)
		if err != nil {
			t.Fatal(err)
		}
		want := clitest.NewOperator(t, s).Plan(now, found)
		have := judge.Judge(now, found.Judged())
		wantDeletes := clitest.Deletes(want.Delete)
		var creates []client.Object
		for _, desired := range want.Create {
			creates = append(creates, desired.Object)
		}
		for what, pair := range map[string][2][]string{
			"creates": {clitest.Names(have.Create), clitest.Names(creates)},
			"adopts":  {clitest.Names(have.Adopt), clitest.Names(want.Adopt)},
			"deletes": {clitest.Deletes(have.Delete), wantDeletes},
			"next":    {{have.Next.String()}, {want.Next.String()}},
		} {
			if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
				t.Errorf("%s (-operator +plugin):\n%s", what, diff)
			}
		}
		if !slices.IsSortedFunc(have.Outputs, func(a, b client.Object) int {
			return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
		}) {
			t.Errorf("outputs are not the oldest first: %v", clitest.Names(have.Outputs))
		}
		var verdicts []string
		for i, v := range have.Retention.Verdicts {
			if v.Delete() {
				verdicts = append(verdicts, have.Outputs[i].GetName()+" "+v.String())
			}
		}
		slices.Sort(verdicts)
		if !want.Withheld && !slices.Equal(verdicts, wantDeletes) {
			t.Errorf("verdicts %v, the operator deletes %v", verdicts, wantDeletes)
		}
	})
}

// A judge must not keep anything from one series to the next.
func TestJudgmentsDoNotDependOnEarlierOnes(t *testing.T) {
	s := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d"})
	claim := clitest.Claim("data", nil)
	judge, err := snapshots.NewJudge(term.Scheme, s, clitest.AnyClass)
	if err != nil {
		t.Fatal(err)
	}
	judge.Judge(clitest.Start.AddDate(0, 0, 9), snapshots.Series{
		MapKey: string(claim.UID), Claims: []*corev1.PersistentVolumeClaim{claim}, Snapshots: []client.Object{clitest.Snapshot(s, claim, clitest.Start)},
	})
	// Without a map key there is no series, and nothing is decided.
	d := judge.Judge(clitest.Start.AddDate(0, 0, 9), snapshots.Series{})
	if len(d.Delete) > 0 || len(d.Outputs) > 0 || len(d.Series.Snapshots) > 0 {
		t.Errorf("deletes %v of %v", d.Delete, d.Outputs)
	}
}

// The plan that adopts an orphan withholds its deletes; the next one must still
// see the restore.
func TestSimulationKeepsAnOrphanThatIsBeingRestored(t *testing.T) {
	s := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d"})
	claim, restore := clitest.Claim("data", nil), clitest.Claim("restored", nil)
	orphan := clitest.Snapshot(s, claim, clitest.Start)
	orphan.OwnerReferences = nil
	restore.Status.Phase = corev1.ClaimPending
	restore.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ptr.To(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: orphan.Name}
	judge, err := snapshots.NewJudge(term.Scheme, s, clitest.AnyClass)
	if err != nil {
		t.Fatal(err)
	}
	now := clitest.Start.AddDate(0, 0, 9)
	sim := Simulate(judge, now, &view.Series{
		MapKey: string(claim.UID), Claim: claim, Snapshots: []client.Object{orphan, clitest.Snapshot(s, claim, now)}, Restores: []client.Object{restore},
	})
	for pass := range 2 {
		if _, d, _ := sim.Step(); len(d.Delete) > 0 {
			t.Errorf("pass %d deletes %v", pass, clitest.Deletes(d.Delete))
		}
	}
}
