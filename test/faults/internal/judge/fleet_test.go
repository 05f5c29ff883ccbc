// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
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
	child := goldsChild()
	child.Status.Outputs.VolumeSnapshots = v1alpha1.OutputCount{Total: 2, Ready: 1}
	child.Status.OldestRecoveryPointTime = &metav1.Time{Time: noon}
	end := func(change func(*v1alpha1.ClusterSnapshotSchedule)) EndState {
		f := gold()
		f.Status.ObservedGeneration, f.Status.VolumeSnapshots = 1, &child.Status.Outputs.VolumeSnapshots
		f.Status.OldestRecoveryPointTime = child.Status.OldestRecoveryPointTime
		change(f)
		return TakeEndState([]client.Object{f, shopNamespace(selected), child})
	}
	reference := end(func(*v1alpha1.ClusterSnapshotSchedule) {})
	reference.Wrong = nil // the child's status
	for want, change := range map[string]func(*v1alpha1.ClusterSnapshotSchedule){
		"status has":     func(f *v1alpha1.ClusterSnapshotSchedule) { f.Status.VolumeSnapshots = &v1alpha1.OutputCount{} },
		"generation 0":   func(f *v1alpha1.ClusterSnapshotSchedule) { f.Status.ObservedGeneration = 0 },
		"recovery point": func(f *v1alpha1.ClusterSnapshotSchedule) { f.Status.OldestRecoveryPointTime = nil },
		"counts:":        func(f *v1alpha1.ClusterSnapshotSchedule) { f.Status.Outputs.SnapshotSchedules.Ready = 1 },
		"Ready=True, Scheduled": func(f *v1alpha1.ClusterSnapshotSchedule) {
			f.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Scheduled"}}
		},
	} {
		if found := strings.Join(L1(reference, end(change)), "; "); !strings.Contains(found, want) {
			t.Errorf("found %q, want %q", found, want)
		}
	}
}
