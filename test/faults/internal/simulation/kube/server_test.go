// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Informers and the log of changes hold returned objects.
func TestReturnedObjectsAreNotChanged(t *testing.T) {
	g, s := NewWithT(t), newServer()
	var changes []Change
	s.OnCommit = func(c Change) { changes = append(changes, c) }
	first, err := s.Create(snapshot("kept"))
	g.Expect(err).NotTo(HaveOccurred())
	second, err := s.Update(Snapshots, "kept", Main, func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Delete(Snapshots, "kept", metav1.DeleteOptions{})).To(Succeed())
	g.Expect(first.GetLabels()).To(BeEmpty())
	at := s.Now()
	g.Expect(changes).To(Equal([]Change{
		{Snapshots, 1, at, nil, first}, {Snapshots, 2, at, first, second}, {Snapshots, 3, at, second, nil},
	}))
}

// collected has a schedule, and a snapshot of it.
type collected struct {
	*WithT
	*Server
	schedule client.Object
}

func newCollected(t *testing.T, finalizers ...string) collected {
	c := collected{WithT: NewWithT(t), Server: newServer()}
	c.schedule = c.mustCreate(schedule("plan"))
	o := snapshot("mine", finalizers...)
	o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c.schedule, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))}
	c.mustCreate(o)
	return c
}

func (c collected) mustCreate(o client.Object) client.Object {
	stored, err := c.Create(o)
	c.Expect(err).NotTo(HaveOccurred())
	return stored
}

func (c collected) deleteSchedule(policy metav1.DeletionPropagation) {
	c.Expect(c.Delete(Schedules, "plan", metav1.DeleteOptions{PropagationPolicy: &policy})).To(Succeed())
}

func (c collected) snapshot() client.Object { return c.Find(Snapshots, "mine") }

func TestCollectorDeletesDependentsOfDeletedOwner(t *testing.T) {
	c := newCollected(t)
	c.Collect(c.snapshot())
	c.Expect(c.snapshot()).NotTo(BeNil(), "its owner is there")
	c.deleteSchedule(metav1.DeletePropagationBackground)
	c.mustCreate(schedule("plan")) // another one with the same name
	c.Collect(c.snapshot())
	c.Expect(c.snapshot()).To(BeNil())
}

func TestCollectorKeepsDependentWithAnotherOwner(t *testing.T) {
	c := newCollected(t)
	_, err := c.Update(Snapshots, "mine", Main, func(o client.Object) {
		o.SetOwnerReferences(append(o.GetOwnerReferences(), owner("stays", "1", false)))
	})
	c.Expect(err).NotTo(HaveOccurred())
	c.deleteSchedule(metav1.DeletePropagationBackground)
	c.Collect(c.snapshot())
	c.Expect(c.snapshot().GetOwnerReferences()).To(ConsistOf(owner("stays", "1", false)))
}

func TestCollectorOrphansDependents(t *testing.T) {
	c := newCollected(t)
	c.deleteSchedule(metav1.DeletePropagationOrphan)
	c.Collect(c.Find(Schedules, "plan"))
	c.Expect(c.Find(Schedules, "plan")).To(BeNil())
	c.Expect(c.snapshot().GetOwnerReferences()).To(BeEmpty())
}

func TestCollectorDeletesDependentsFirstInForeground(t *testing.T) {
	c := newCollected(t, finalizer)
	c.deleteSchedule(metav1.DeletePropagationForeground)
	c.Collect(c.Find(Schedules, "plan"))
	c.Expect(c.Find(Schedules, "plan")).NotTo(BeNil(), "the snapshot is there")
	c.Expect(c.snapshot().GetDeletionTimestamp()).NotTo(BeNil())
	_, err := c.Update(Snapshots, "mine", Main, func(o client.Object) { o.SetFinalizers(nil) })
	c.Expect(err).NotTo(HaveOccurred())
	c.Collect(c.Find(Schedules, "plan"))
	c.Expect(c.Find(Schedules, "plan")).To(BeNil())
}
