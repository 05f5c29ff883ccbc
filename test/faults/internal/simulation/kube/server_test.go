// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// inMemory tests the rules against this server.
type inMemory struct{ *Server }

func newInMemory(t *testing.T) inMemory {
	t.Helper()
	n := 0
	s := NewServer(func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }, func() types.UID {
		n++
		return types.UID(fmt.Sprintf("uid-%d", n))
	})
	for _, namespace := range []*corev1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: ns}},
		{ObjectMeta: metav1.ObjectMeta{Name: "ending", Finalizers: []string{finalizer}}},
	} {
		if _, err := s.Create(namespace); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(Namespaces, client.ObjectKey{Name: "ending"}, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	return inMemory{s}
}

func (s inMemory) create(o client.Object) (client.Object, error) { return s.Create(o) }

func (s inMemory) get(k Kind, name string) (client.Object, error) {
	return s.Get(k, client.ObjectKey{Namespace: ns, Name: name})
}

func (s inMemory) write(k Kind, name, sub string, change func(client.Object)) (client.Object, error) {
	write := s.Update
	if sub == "status" {
		write = s.UpdateStatus
	}
	return write(k, client.ObjectKey{Namespace: ns, Name: name}, func(o client.Object) error {
		change(o)
		return nil
	})
}

func (s inMemory) merge(k Kind, name, patch string) (client.Object, error) {
	return s.Update(k, client.ObjectKey{Namespace: ns, Name: name}, func(o client.Object) error {
		return Merge(o, []byte(patch))
	})
}

func (s inMemory) remove(k Kind, name string, o metav1.DeleteOptions) error {
	return s.Delete(k, client.ObjectKey{Namespace: ns, Name: name}, o)
}

func TestRules(t *testing.T) {
	for name, rule := range all {
		t.Run(name, func(t *testing.T) { rule(rules{T: t, api: newInMemory(t)}) })
	}
}

// Informers and histories hold returned objects.
func TestReturnedObjectsAreNotChanged(t *testing.T) {
	s := newInMemory(t)
	var changes []Change
	s.OnCommit = func(c Change) { changes = append(changes, c) }
	first, err := s.create(snapshot("kept"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.write(Snapshots, "kept", "", func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) }); err != nil {
		t.Fatal(err)
	}
	if err := s.remove(Snapshots, "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(first.GetLabels()) > 0 {
		t.Error("the first returned object has labels now")
	}
	for i, c := range changes {
		if i > 0 && c.Before != changes[i-1].After {
			t.Errorf("change %d does not begin where the one before it ended", i)
		}
		if i > 0 && c.Revision != changes[i-1].Revision+1 {
			t.Errorf("change %d is revision %d after %d", i, c.Revision, changes[i-1].Revision)
		}
	}
	if len(changes) != 3 || changes[2].After != nil {
		t.Errorf("there are %d changes, the last to %v", len(changes), changes[len(changes)-1].After)
	}
}

// owned creates a snapshot of a schedule.
func (s inMemory) owned(t *testing.T, parent client.Object, name string, finalizers ...string) {
	t.Helper()
	o := snapshot(name)
	o.Finalizers = finalizers
	o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(parent, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))}
	if _, err := s.create(o); err != nil {
		t.Fatal(err)
	}
}

func (s inMemory) names(k Kind) (names []string) {
	for _, o := range s.List(k) {
		names = append(names, o.GetName())
	}
	return names
}

func TestCollectorDeletesDependentsOfDeletedOwner(t *testing.T) {
	s := newInMemory(t)
	parent, _ := s.create(schedule("plan"))
	s.owned(t, parent, "mine")
	key := client.ObjectKey{Namespace: ns, Name: "mine"}
	if s.CollectDependent(Snapshots, key); s.Find(Snapshots, key) == nil {
		t.Fatal("collected while its owner is there")
	}
	_ = s.remove(Schedules, "plan", metav1.DeleteOptions{})
	if _, err := s.create(schedule("plan")); err != nil { // another one with the same name
		t.Fatal(err)
	}
	if s.CollectDependent(Snapshots, key); s.Find(Snapshots, key) != nil {
		t.Error("not collected though its owner, by UID, is gone")
	}
}

func TestCollectorKeepsDependentWithAnotherOwner(t *testing.T) {
	s := newInMemory(t)
	gone, _ := s.create(schedule("gone"))
	stays, _ := s.create(schedule("stays"))
	o := snapshot("shared")
	o.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(gone, v1alpha1.GroupVersion.WithKind("SnapshotSchedule")),
		{APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: "stays", UID: stays.GetUID()},
	}
	if _, err := s.create(o); err != nil {
		t.Fatal(err)
	}
	_ = s.remove(Schedules, "gone", metav1.DeleteOptions{})
	key := client.ObjectKey{Namespace: ns, Name: "shared"}
	s.CollectDependent(Snapshots, key)
	left := s.Find(Snapshots, key)
	if left == nil || len(left.GetOwnerReferences()) != 1 || left.GetOwnerReferences()[0].Name != "stays" {
		t.Errorf("left: %v", left)
	}
}

func TestCollectorOrphansDependents(t *testing.T) {
	s := newInMemory(t)
	parent, _ := s.create(schedule("plan"))
	s.owned(t, parent, "mine")
	_ = s.remove(Schedules, "plan", propagation(metav1.DeletePropagationOrphan))
	if s.CollectOwner(Schedules, client.ObjectKeyFromObject(parent)) {
		t.Error("it must be called again")
	}
	if len(s.names(Schedules)) > 0 {
		t.Error("the schedule is still there")
	}
	if left, _ := s.get(Snapshots, "mine"); left == nil || len(left.GetOwnerReferences()) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestCollectorDeletesDependentsFirstInForeground(t *testing.T) {
	s := newInMemory(t)
	parent, _ := s.create(schedule("plan"))
	s.owned(t, parent, "quick")
	s.owned(t, parent, "slow", finalizer)
	_ = s.remove(Schedules, "plan", propagation(metav1.DeletePropagationForeground))
	key := client.ObjectKeyFromObject(parent)
	if !s.CollectOwner(Schedules, key) {
		t.Error("it need not be called again")
	}
	if left := s.names(Snapshots); len(left) != 1 || left[0] != "slow" || len(s.names(Schedules)) != 1 {
		t.Fatalf("left: %v, schedules %v", left, s.names(Schedules))
	}
	if _, err := s.write(Snapshots, "slow", "", func(o client.Object) { o.SetFinalizers(nil) }); err != nil {
		t.Fatal(err)
	}
	if s.CollectOwner(Schedules, key) || len(s.names(Schedules)) > 0 {
		t.Error("the schedule is still there")
	}
}
