// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

type clusterSchedule = v1alpha1.ClusterSnapshotSchedule

// fleetObject is a ClusterSnapshotSchedule that selects the namespaces of one spec.
type fleetObject struct{ *clusterSchedule }

var fleets atomic.Int64

// newFleet creates a ClusterSnapshotSchedule whose children have no snapshot due within the spec.
func newFleet(changes ...func(*clusterSchedule)) *fleetObject {
	GinkgoHelper()
	f := &fleetObject{&clusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("gold-%d", fleets.Add(1))}}}
	f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": v1alpha1.LabelValue(f.Name)}
	f.Spec.Template.Spec.Schedule = "0 0 29 2 *" // not @yearly: the clocks of operators are hours ahead, also on New Year's Eve
	f.Spec.Template.Spec.DeletionPolicy = v1alpha1.DeletionDelete
	for _, change := range changes {
		change(f.clusterSchedule)
	}
	Expect(api.Create(ctx, f.clusterSchedule)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(api.Delete(ctx, f.clusterSchedule))).To(Succeed()) })
	return f
}

// everyHour has a snapshot of every PVC taken at once, and no other within the spec.
func everyHour(c *clusterSchedule) {
	c.Spec.Template.Spec.Schedule, c.Spec.Template.Spec.SnapshotInterval = "", "1h"
}

// newNamespace creates a namespace that the fleet selects.
func (f *fleetObject) newNamespace(labels ...string) *environment {
	GinkgoHelper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "fleet-", Labels: toMap(labels)}}
	metav1.SetMetaDataLabel(&n.ObjectMeta, "backup", f.Name)
	Expect(api.Create(ctx, n)).To(Succeed())
	return &environment{namespace: n.Name}
}

func (env *environment) object() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}}
}

// child returns an object with the name of the fleet's child in a namespace.
func (f *fleetObject) child(env *environment) *schedule {
	return &schedule{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: f.Name}}
}

// waitForChild waits until the child exists and is the fleet's.
func (f *fleetObject) waitForChild(env *environment) *schedule {
	GinkgoHelper()
	child := f.child(env)
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
		g.Expect(metav1.IsControlledBy(child, f.clusterSchedule)).To(BeTrue())
	}).Should(Succeed())
	return child
}

func (f *fleetObject) status() v1alpha1.ClusterSnapshotScheduleStatus {
	GinkgoHelper()
	return get(f.DeepCopy()).Status
}

// counts returns namespaces, children, updated, ready and detached ones, as "2 2 2 2 0", of the present generation.
func (f *fleetObject) counts() string {
	GinkgoHelper()
	fresh := get(f.DeepCopy())
	s := fresh.Status
	if s.ObservedGeneration != fresh.Generation || s.Inputs == nil || s.Detached == nil {
		return ""
	}
	children := s.Outputs.SnapshotSchedules
	return fmt.Sprint(s.Inputs.Namespaces.Total, " ", children.Total, " ", children.Updated, " ", children.Ready, " ", s.Detached.SnapshotSchedules)
}

// ready returns status and reason of the condition Ready of the present generation.
func (f *fleetObject) ready() string { return f.condition(v1alpha1.ConditionReady) }

func (f *fleetObject) protected() string { return f.condition(v1alpha1.ConditionProtected) }

func (f *fleetObject) condition(kind string) string {
	GinkgoHelper()
	fresh := get(f.DeepCopy())
	return current(fresh.Status.Conditions, kind, fresh.Generation)
}

// problems returns namespace and reason of the problems.
func (f *fleetObject) problems() []string {
	GinkgoHelper()
	all := []string{}
	for _, p := range f.status().Problems {
		all = append(all, p.Namespace+" "+p.Reason)
	}
	return all
}

// edit changes the spec.
func (f *fleetObject) edit(change func(*clusterSchedule)) {
	GinkgoHelper()
	Eventually(func() error {
		get(f.clusterSchedule)
		change(f.clusterSchedule)
		return api.Update(ctx, f.clusterSchedule)
	}).Should(Succeed())
}

// startFleetOperator runs the operator for all namespaces. Schedules that earlier specs left are deleted.
func startFleetOperator(opts ...option) *operator {
	GinkgoHelper()
	return (&environment{}).startOperator(opts...)
}

func deleteAllSchedules() {
	GinkgoHelper()
	var list v1alpha1.SnapshotScheduleList
	Expect(api.List(ctx, &list)).To(Succeed())
	for i := range list.Items {
		removeFinalizers(&list.Items[i])
		Expect(client.IgnoreNotFound(api.Delete(ctx, &list.Items[i]))).To(Succeed())
	}
}

// deleteNamespace does what the namespace controller does: a namespace is gone with everything in it.
func deleteNamespace(env *environment, objects ...client.Object) {
	GinkgoHelper()
	n := env.object()
	Expect(api.Delete(ctx, n)).To(Succeed())
	for _, o := range objects {
		removeFinalizers(o)
		Expect(client.IgnoreNotFound(api.Delete(ctx, o))).To(Succeed())
	}
	get(n).Spec.Finalizers = nil
	Expect(api.SubResource("finalize").Update(ctx, n)).To(Succeed())
	Eventually(isDeleted(n)).Should(BeTrue())
}

// recreateNamespace creates a namespace of the name again, with a label that the fleet selects. The API server's caches know a namespace
// that is gone for a moment.
func (f *fleetObject) recreateNamespace(env *environment) {
	GinkgoHelper()
	Eventually(func() error {
		n := env.object()
		n.Labels = map[string]string{"backup": f.Name}
		if err := api.Create(ctx, n); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	}).WithPolling(100 * time.Millisecond).Should(Succeed())
}
