// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Delete removes an object, or marks it as being deleted if it has finalizers or the propagation policy adds one.
func (s *Server) Delete(k Kind, key client.ObjectKey, options metav1.DeleteOptions) error {
	stored, err := s.Get(k, key)
	if err != nil {
		return err
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != stored.GetUID() {
			return apierrors.NewConflict(k.Resource(), key.Name,
				fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", *p.UID, stored.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != stored.GetResourceVersion() {
			return apierrors.NewConflict(k.Resource(), key.Name,
				fmt.Errorf("precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s",
					*p.ResourceVersion, stored.GetResourceVersion()))
		}
	}
	finalizers := withPropagation(stored.GetFinalizers(), options.PropagationPolicy)
	if len(finalizers) == 0 && k != Namespaces {
		s.commit(k, stored, nil)
		return nil
	}
	if stored.GetDeletionTimestamp() != nil && slices.Equal(finalizers, stored.GetFinalizers()) {
		return nil
	}
	deleting := clone(stored)
	deleting.SetFinalizers(finalizers)
	if stored.GetDeletionTimestamp() == nil {
		at := s.timestamp()
		deleting.SetDeletionTimestamp(&at)
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
	finalizers = slices.Clone(finalizers)
	if policy == nil {
		return finalizers
	}
	finalizers = slices.DeleteFunc(finalizers, func(f string) bool { return f == FinalizerOrphan || f == FinalizerForeground })
	switch *policy {
	case metav1.DeletePropagationOrphan:
		return append(finalizers, FinalizerOrphan)
	case metav1.DeletePropagationForeground:
		return append(finalizers, FinalizerForeground)
	}
	return finalizers
}

// The garbage collector's work, one object at a time. The caller decides when.

// CollectDependent deletes an object, with preconditions, if all its owners are gone, and removes the references to those that are.
func (s *Server) CollectDependent(k Kind, key client.ObjectKey) {
	o := s.objects[k][key]
	if o == nil || o.GetDeletionTimestamp() != nil || len(o.GetOwnerReferences()) == 0 {
		return
	}
	dangling := func(ref metav1.OwnerReference) bool { return !s.isOwner(ref, o.GetNamespace()) }
	if !slices.ContainsFunc(o.GetOwnerReferences(), dangling) {
		return
	}
	if slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return !dangling(ref) }) {
		s.removeOwners(k, key, dangling)
		return
	}
	s.collect(k, o)
}

// isOwner looks an owner up by name, in the namespace of the dependent unless the kind has none, and compares the UID.
func (s *Server) isOwner(ref metav1.OwnerReference, namespace string) bool {
	o := s.byUID[ref.UID]
	return o != nil && (o.GetNamespace() == namespace || o.GetNamespace() == "") && o.GetName() == ref.Name
}

func (s *Server) collect(k Kind, o client.Object) {
	uid, version := o.GetUID(), o.GetResourceVersion()
	_ = s.Delete(k, client.ObjectKeyFromObject(o), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
}

// CollectOwner processes an owner that is being deleted with a finalizer of the garbage collector, and returns whether it must be
// called again.
func (s *Server) CollectOwner(k Kind, key client.ObjectKey) (again bool) {
	o := s.objects[k][key]
	if o == nil || o.GetDeletionTimestamp() == nil {
		return false
	}
	switch {
	case slices.Contains(o.GetFinalizers(), FinalizerOrphan):
		for _, dependent := range s.dependents(o.GetUID()) {
			s.removeOwners(Snapshots, client.ObjectKeyFromObject(dependent), refersTo(o.GetUID()))
		}
		s.removeFinalizer(k, key, FinalizerOrphan)
		return false
	case slices.Contains(o.GetFinalizers(), FinalizerForeground):
		blocking := s.dependents(o.GetUID())
		if len(blocking) == 0 {
			s.removeFinalizer(k, key, FinalizerForeground)
			return false
		}
		for _, dependent := range blocking {
			if dependent.GetDeletionTimestamp() == nil {
				s.collect(Snapshots, dependent)
			}
		}
		return true
	}
	return false
}

// dependents are snapshots: nothing else has an owner here.
func (s *Server) dependents(owner types.UID) []client.Object {
	return slices.DeleteFunc(s.List(Snapshots), func(o client.Object) bool {
		return !slices.ContainsFunc(o.GetOwnerReferences(), refersTo(owner))
	})
}

func refersTo(owner types.UID) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool { return ref.UID == owner }
}

func (s *Server) removeOwners(k Kind, key client.ObjectKey, which func(metav1.OwnerReference) bool) {
	_, _ = s.Update(k, key, func(o client.Object) error {
		o.SetOwnerReferences(slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), which))
		return nil
	})
}

func (s *Server) removeFinalizer(k Kind, key client.ObjectKey, finalizer string) {
	_, _ = s.Update(k, key, func(o client.Object) error {
		o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer }))
		return nil
	})
}
