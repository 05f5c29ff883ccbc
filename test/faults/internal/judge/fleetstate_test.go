// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// gold is a ClusterSnapshotSchedule that selects namespaces labeled gold.
func gold() *v1alpha1.ClusterSnapshotSchedule {
	f := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "gold", UID: "fleet-gold", Generation: 1}}
	f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": "gold"}
	f.Spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
	f.Spec.Template.Spec = newSchedule("gold").Spec
	return f
}

func shopNamespace(change ...func(*corev1.Namespace)) *corev1.Namespace {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, UID: "namespace", Labels: map[string]string{"backup": "gold"}}}
	for _, c := range change {
		c(n)
	}
	return n
}

func deselect(n *corev1.Namespace) { n.Labels = nil }

// goldsChild is the child of gold in namespace shop.
func goldsChild(changes ...func(*v1alpha1.SnapshotSchedule)) *v1alpha1.SnapshotSchedule {
	s := newSchedule("gold")
	s.Labels = map[string]string{v1alpha1.LabelMapKey: namespace, v1alpha1.LabelClusterSchedule: "gold", "tier": "gold"}
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(gold(), v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
	s.Status.ObservedGeneration = 1
	for _, change := range changes {
		change(s)
	}
	return s
}

func suspend(s *v1alpha1.SnapshotSchedule)  { s.Spec.Suspend = true }
func orphaned(s *v1alpha1.SnapshotSchedule) { s.OwnerReferences = nil }
func weakened(s *v1alpha1.SnapshotSchedule) { s.Spec.SnapshotTTL = "1s" }
func bronze(s *v1alpha1.SnapshotSchedule)   { s.Labels["tier"] = "bronze" }

// settledGold is gold with the status that it has for one child without PVCs.
func settledGold(change ...func(*v1alpha1.ClusterSnapshotScheduleStatus)) *v1alpha1.ClusterSnapshotSchedule {
	f := gold()
	st := stateOf([]client.Object{f, shopNamespace(), goldsChild()})
	f.Status = st.wantFleetStatus(f)
	f.Status.ObservedGeneration = 1
	for _, c := range change {
		c(&f.Status)
	}
	return f
}

func TestEndStateOfAFleet(t *testing.T) {
	left := ready("left", day)
	left.OwnerReferences = []metav1.OwnerReference{{Kind: "SnapshotSchedule", Name: "gold", UID: goldsChild().UID}}
	detached := func(s *v1alpha1.ClusterSnapshotScheduleStatus) {
		s.Inputs.Namespaces.Total, s.Detached.SnapshotSchedules = 0, 1
	}
	for name, test := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"as it should be":     {[]client.Object{settledGold(), shopNamespace(), goldsChild()}, ""},
		"no child":            {[]client.Object{settledGold(), shopNamespace()}, "has no child"},
		"another spec":        {[]client.Object{settledGold(), shopNamespace(), goldsChild(weakened)}, "not the template's"},
		"another label":       {[]client.Object{settledGold(), shopNamespace(), goldsChild(bronze)}, "lacks a label"},
		"not adopted":         {[]client.Object{settledGold(), shopNamespace(), goldsChild(orphaned)}, "should be adopted"},
		"not suspended":       {[]client.Object{settledGold(detached), shopNamespace(deselect), goldsChild()}, "not the template's"},
		"suspended":           {[]client.Object{settledGold(detached), shopNamespace(deselect), goldsChild(suspend), left}, ""},
		"not deleted":         {[]client.Object{settledGold(detached), shopNamespace(deselect), goldsChild(suspend)}, "should be deleted"},
		"a wrong count":       {[]client.Object{settledGold(detached), shopNamespace(), goldsChild()}, "status counts"},
		"an older generation": {[]client.Object{gold(), shopNamespace(), goldsChild()}, "is of generation 0"},
		"a wrong time": {[]client.Object{settledGold(func(s *v1alpha1.ClusterSnapshotScheduleStatus) {
			s.OldestRecoveryPointTime = &metav1.Time{Time: noon}
		}), shopNamespace(), goldsChild()}, "oldestRecoveryPointTime"},
	} {
		t.Run(name, func(t *testing.T) {
			st := stateOf(test.objects)
			wrong := strings.Join(st.fleetErrors(st.fleets["gold"]), "; ")
			if test.want == "" && wrong != "" || !strings.Contains(wrong, test.want) {
				t.Errorf("got %q, want %q", wrong, test.want)
			}
		})
	}
}

func TestL1ComparesFleets(t *testing.T) {
	state := func(reason string) EndState {
		f := settledGold(func(s *v1alpha1.ClusterSnapshotScheduleStatus) {
			s.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason}}
		})
		e := TakeEndState([]client.Object{f, shopNamespace(), goldsChild()})
		e.Wrong = nil // the status of the child
		return e
	}
	if found := L1(state("Scheduled"), state("Scheduled")); len(found) > 0 {
		t.Error(found[0])
	}
	if found := L1(state("Scheduled"), state("NoMatchingNamespaces")); len(found) != 2 || !strings.Contains(found[0], "ClusterSnapshotSchedule gold") {
		t.Errorf("%v", found)
	}
}
