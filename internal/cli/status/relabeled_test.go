// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
)

// The recovery point and the snapshots of a PVC are those under every value of its label; what its new group had before is not its own.
//
// Contract: GRP-8.
func TestStatusOfARelabeledPVCCountsWhatItsOldGroupHasOfIt(t *testing.T) {
	now := clitest.Start.Add(2*term.Day + time.Hour)
	s := clitest.Schedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
		Group:    &v1alpha1.Group{ByLabel: "db"}, SnapshotInterval: "24h", SnapshotTTL: "10d",
	})
	claim := func(name, db string) *corev1.PersistentVolumeClaim {
		return clitest.Claim(name, map[string]string{"app": "db", "db": db})
	}
	objects := []client.Object{s, claim("moved", "two"), claim("stays", "two")}
	for _, g := range []struct {
		name string
		days int
		of   []*corev1.PersistentVolumeClaim
	}{
		{"one-a", 1, []*corev1.PersistentVolumeClaim{claim("moved", "one")}},
		{"one-b", 2, []*corev1.PersistentVolumeClaim{claim("moved", "one")}},
		{"two-a", 1, []*corev1.PersistentVolumeClaim{claim("stays", "two")}},
	} {
		v, members := clitest.Group(t, s, g.name, clitest.Start.AddDate(0, 0, g.days), g.of...)
		objects = append(append(objects, v), members...)
	}
	f := &term.Factory{
		IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Clock: clock.RealClock{}, Namespace: "shop",
		Client: fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(objects...).Build(),
	}
	found, inv, err := state.ReadSelected(t.Context(), &term.Scope{}, f, []string{"groups"})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, func(b *bytes.Buffer) error {
		return printStatus(b, &term.Output{}, []state.ScheduleStatus{state.StatusOf(found[0], inv, now)}, now)
	}, `
shop/groups: every 24h, PVCs with app=db, in groups by label db, TTL 10d
  Protected: 2 of 2 PVCs
  No status yet: the operator has not seen this schedule. Is it running?
PVC                GROUP    NEWEST READY   NEXT          SNAPSHOTS   PROBLEM
moved              two      60m            overdue 60m   2           <none>
stays              two      25h            overdue 60m   1           <none>
moved (detached)   <none>   60m            <none>        2           <none>
`)
}
