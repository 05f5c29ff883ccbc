// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// gold is a ClusterSnapshotSchedule that selects namespaces labeled gold. As in every run, it has the name of the run's namespace.
func gold() *v1alpha1.ClusterSnapshotSchedule {
	f := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: namespace, UID: "fleet", Generation: 1}}
	f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": "gold"}
	f.Spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
	f.Spec.Template.Spec = newSchedule("every").Spec
	return f
}

func shopNamespace(labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, UID: "namespace", Labels: labels}}
}

var selected, unselected = map[string]string{"backup": "gold"}, map[string]string(nil)

// goldsChild is the child of gold in namespace shop.
func goldsChild(changes ...func(*v1alpha1.SnapshotSchedule)) *v1alpha1.SnapshotSchedule {
	s := newSchedule(namespace)
	s.Labels = map[string]string{v1alpha1.LabelMapKey: namespace, v1alpha1.LabelClusterSchedule: namespace, "tier": "gold"}
	byGold(s)
	s.Status.ObservedGeneration = 1
	for _, change := range changes {
		change(s)
	}
	return s
}

func byGold(s *v1alpha1.SnapshotSchedule) {
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(gold(), v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
}
func same(*v1alpha1.SnapshotSchedule)         {}
func suspend(s *v1alpha1.SnapshotSchedule)    { s.Spec.Suspend = true }
func orphaned(s *v1alpha1.SnapshotSchedule)   { s.OwnerReferences = nil }
func weakened(s *v1alpha1.SnapshotSchedule)   { s.Spec.SnapshotTTL = "1d" }
func restored(s *v1alpha1.SnapshotSchedule)   { s.Spec.SnapshotTTL = "10d" }
func bronze(s *v1alpha1.SnapshotSchedule)     { s.Labels["tier"] = "bronze" }
func unlabeled(s *v1alpha1.SnapshotSchedule)  { s.Labels = nil }
func unobserved(s *v1alpha1.SnapshotSchedule) { s.Status.ObservedGeneration = 0 }
func confirmed(s *v1alpha1.SnapshotSchedule) {
	s.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "1"}
}

func TestJudgesChildren(t *testing.T) {
	// child returns a scene with a child in a namespace with these labels.
	child := func(labels map[string]string, is ...func(*v1alpha1.SnapshotSchedule)) func(s *scene) {
		return func(s *scene) {
			s.schedule, s.old.Name, s.recent.Name = goldsChild(is...), "", ""
			s.others = []client.Object{gold(), shopNamespace(labels)}
		}
	}
	change := func(prepare func(*scene), becomes func(*v1alpha1.SnapshotSchedule)) func(*scene) {
		return func(s *scene) { prepare(s); s.change(becomes) }
	}
	gone := func(prepare func(*scene)) func(*scene) {
		return func(s *scene) { prepare(s); s.delete() }
	}
	run(t, []judgeCase{
		{"keeps the template's spec", change(child(selected), same), ""},
		{"gets the template's spec", change(child(selected, weakened), restored), ""},
		{"is suspended under an old view, in which its namespace was not selected yet", func(s *scene) {
			change(child(selected), suspend)(s)
			s.judge.Remember(shopNamespace(unselected))
		}, ""},
		{"is suspended, and its namespace was always selected", change(child(selected), suspend), "FLEET-2: not the template's"},
		{"gets another spec", change(child(selected), weakened), "FLEET-2: not the template's"},
		{"gets labels that are not the template's", change(child(selected), bronze), "FLEET-2: labels"},
		{"is confirmed although its owner is not", change(child(selected), confirmed), "FLEET-9: nobody has confirmed"},
		{"is released with its labels", change(child(selected), orphaned), "FLEET-3: released although"},
		{"is adopted", change(child(selected, orphaned), byGold), ""},
		{"is adopted without its labels", change(child(selected, orphaned, unlabeled), byGold), "FLEET-3: adopted without"},
		{"is deleted, unselected and empty", gone(child(unselected, suspend)), ""},
		{"is deleted while its namespace is selected", gone(child(selected)), "FLEET-4: selected"},
		{"is deleted before it has observed its spec", gone(child(unselected, suspend, unobserved)), "FLEET-4: before it had observed"},
		{"is deleted with snapshots", func(s *scene) {
			gone(child(unselected, suspend))(s)
			s.recent = ready("recent", time.Hour)
			s.recent.OwnerReferences[0].UID = s.schedule.UID
		}, "FLEET-4: snapshots of it were left"},
	})
	t.Run("is created where its owner does not select", func(t *testing.T) {
		v := versions{}
		v.add(gold())
		v.add(shopNamespace(unselected))
		if clause, why := v.forbiddenCreate(goldsChild()); clause != "FLEET-1" {
			t.Errorf("%s: %s", clause, why)
		}
		v.add(shopNamespace(selected))
		if clause, why := v.forbiddenCreate(goldsChild()); clause != "" {
			t.Errorf("%s: %s", clause, why)
		}
	})
}

func TestEndStateOfAFleet(t *testing.T) {
	// settled is gold with the status that it has for one child without PVCs, in a namespace with these labels.
	settled := func(labels map[string]string, child *v1alpha1.SnapshotSchedule) *v1alpha1.ClusterSnapshotSchedule {
		f := gold()
		f.Status = stateOf([]client.Object{f, shopNamespace(labels), child}).wantFleetStatus(f)
		f.Status.ObservedGeneration = 1
		return f
	}
	asGold := settled(selected, goldsChild())
	if s := asGold.Status; s.Inputs.Namespaces.Total != 1 || s.Outputs.SnapshotSchedules.Total != 1 || s.Outputs.SnapshotSchedules.Updated != 1 {
		t.Errorf("the status should be %+v", s)
	}
	late := settled(selected, goldsChild())
	late.Status.OldestRecoveryPointTime = &metav1.Time{Time: noon}
	detached := settled(unselected, goldsChild(suspend))
	left := ready("left", day)
	left.OwnerReferences[0].UID = goldsChild().UID
	for name, test := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"as it should be":     {[]client.Object{asGold, shopNamespace(selected), goldsChild()}, ""},
		"no child":            {[]client.Object{asGold, shopNamespace(selected)}, "has no child"},
		"another spec":        {[]client.Object{asGold, shopNamespace(selected), goldsChild(weakened)}, "not the template's"},
		"another label":       {[]client.Object{asGold, shopNamespace(selected), goldsChild(bronze)}, "lacks a label"},
		"not adopted":         {[]client.Object{asGold, shopNamespace(selected), goldsChild(orphaned)}, "should be adopted"},
		"not suspended":       {[]client.Object{detached, shopNamespace(unselected), goldsChild()}, "not the template's"},
		"suspended":           {[]client.Object{detached, shopNamespace(unselected), goldsChild(suspend), left}, ""},
		"not deleted":         {[]client.Object{detached, shopNamespace(unselected), goldsChild(suspend)}, "should be deleted"},
		"a wrong count":       {[]client.Object{detached, shopNamespace(selected), goldsChild()}, "Namespaces:"},
		"an older generation": {[]client.Object{gold(), shopNamespace(selected), goldsChild()}, "is of generation 0"},
		"a wrong time":        {[]client.Object{late, shopNamespace(selected), goldsChild()}, "OldestRecoveryPointTime:"},
	} {
		t.Run(name, func(t *testing.T) {
			st := stateOf(test.objects)
			wrong := strings.Join(st.fleetErrors(st.fleets[0]), "; ")
			if test.want == "" && wrong != "" || !strings.Contains(wrong, test.want) {
				t.Errorf("got %q, want %q", wrong, test.want)
			}
		})
	}
	ready := asGold.DeepCopy()
	ready.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Scheduled"}}
	if found := L1(TakeEndState([]client.Object{asGold}), TakeEndState([]client.Object{ready})); !slices.Contains(found, "unexpected: ClusterSnapshotSchedule: Ready=True, Scheduled") {
		t.Errorf("found %q", found)
	}
}
