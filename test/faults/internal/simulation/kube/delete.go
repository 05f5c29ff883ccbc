// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Delete removes an object, or marks it as being deleted if it has finalizers or the propagation policy adds one.
func (s *Server) Delete(k Kind, name string, options metav1.DeleteOptions) error {
	stored, err := s.Get(k, name)
	if err != nil {
		return err
	}
	p := ptr.Deref(options.Preconditions, metav1.Preconditions{})
	if ptr.Deref(p.UID, stored.GetUID()) != stored.GetUID() ||
		ptr.Deref(p.ResourceVersion, stored.GetResourceVersion()) != stored.GetResourceVersion() {
		return apierrors.NewConflict(k.Resource(), name, fmt.Errorf("precondition failed: the object has UID %s and resourceVersion %s",
			stored.GetUID(), stored.GetResourceVersion()))
	}
	finalizers := withPropagation(stored.GetFinalizers(), options.PropagationPolicy)
	if len(finalizers) == 0 {
		s.commit(k, stored, nil)
		return nil
	}
	if stored.GetDeletionTimestamp() != nil && slices.Equal(finalizers, stored.GetFinalizers()) {
		return nil
	}
	deleting := clone(stored)
	deleting.SetFinalizers(finalizers)
	if stored.GetDeletionTimestamp() == nil {
		deleting.SetDeletionTimestamp(new(s.timestamp()))
		deleting.SetDeletionGracePeriodSeconds(new(int64(0)))
		if deleting.GetGeneration() > 0 {
			deleting.SetGeneration(deleting.GetGeneration() + 1)
		}
	}
	s.commit(k, stored, deleting)
	return nil
}

// withPropagation returns the finalizers under a propagation policy. Without one they stay: the default of these kinds is background.
func withPropagation(finalizers []string, policy *metav1.DeletionPropagation) []string {
	if policy == nil {
		return finalizers
	}
	finalizers = slices.DeleteFunc(slices.Clone(finalizers), isCollectors)
	switch *policy {
	case metav1.DeletePropagationOrphan:
		return append(finalizers, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		return append(finalizers, metav1.FinalizerDeleteDependents)
	}
	return finalizers
}

func isCollectors(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// IsGarbage returns whether the garbage collector has something to do with an object: an owner of a snapshot is absent, or a schedule
// that is being deleted has one of its finalizers.
func (s *Server) IsGarbage(o client.Object) bool {
	if o.GetDeletionTimestamp() != nil {
		return slices.ContainsFunc(o.GetFinalizers(), isCollectors)
	}
	return slices.ContainsFunc(o.GetOwnerReferences(), s.dangles)
}

// dangles returns whether a reference is to a schedule that does not exist, by name and UID. Owners of other kinds are not stored, and
// taken to exist.
func (s *Server) dangles(ref metav1.OwnerReference) bool {
	owner := s.Find(Schedules, ref.Name)
	return ref.Kind == gvks[Schedules].Kind && (owner == nil || owner.GetUID() != ref.UID)
}

// Collect does the garbage collector's work for one object. The caller decides when; as long as it is garbage, again.
func (s *Server) Collect(o client.Object) {
	switch {
	case !s.IsGarbage(o):
	case o.GetDeletionTimestamp() != nil:
		s.collectOwner(o)
	case slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return !s.dangles(ref) }):
		s.removeOwners(o, s.dangles)
	default:
		s.delete(o)
	}
}

// delete deletes a snapshot as it is, and no later version.
func (s *Server) delete(o client.Object) {
	_ = s.Delete(Snapshots, o.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(o.GetUID()), ResourceVersion: new(o.GetResourceVersion())},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
}

// collectOwner orphans the dependents of a schedule, or deletes them and waits until they are gone.
func (s *Server) collectOwner(o client.Object) {
	refersTo := func(ref metav1.OwnerReference) bool { return ref.UID == o.GetUID() }
	waits := false
	for _, dependent := range s.List(Snapshots) {
		switch {
		case !slices.ContainsFunc(dependent.GetOwnerReferences(), refersTo):
		case slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents):
			s.removeOwners(dependent, refersTo)
		default:
			if waits = true; dependent.GetDeletionTimestamp() == nil {
				s.delete(dependent)
			}
		}
	}
	if !waits {
		_, _ = s.Update(Schedules, o.GetName(), Main, func(o client.Object) {
			o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), isCollectors))
		})
	}
}

func (s *Server) removeOwners(o client.Object, which func(metav1.OwnerReference) bool) {
	_, _ = s.Update(Snapshots, o.GetName(), Main, func(o client.Object) {
		o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), which))
	})
}
