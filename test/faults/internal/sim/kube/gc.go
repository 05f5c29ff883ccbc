// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the garbage collector does, one look at a time: when it looks is up to
// whoever runs it.

// CollectDependent looks at one object: if all its owners are gone it is deleted, if
// some are, their references go. It is held to the very object that was looked at.
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
		_, _ = s.Update(k, key, Someone, func(o client.Object) error {
			o.SetOwnerReferences(slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), dangling))
			return nil
		})
		return
	}
	s.collect(k, o)
}

// isOwner: the collector looks an owner up by kind and name, in the namespace of
// the dependent unless the kind has none, and then compares the UID.
func (s *Server) isOwner(ref metav1.OwnerReference, namespace string) bool {
	o := s.byUID[ref.UID]
	return o != nil && (o.GetNamespace() == namespace || o.GetNamespace() == "") && o.GetName() == ref.Name
}

func (s *Server) collect(k Kind, o client.Object) {
	uid, version := o.GetUID(), o.GetResourceVersion()
	_ = s.Delete(k, client.ObjectKeyFromObject(o), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	}, Someone)
}

// CollectOwner looks at an owner that is being deleted with a finalizer of the
// collector's, and reports whether it still has to be looked at.
func (s *Server) CollectOwner(k Kind, key client.ObjectKey) (again bool) {
	o := s.objects[k][key]
	if o == nil || o.GetDeletionTimestamp() == nil {
		return false
	}
	switch {
	case slices.Contains(o.GetFinalizers(), FinalizerOrphan):
		for _, dependent := range s.dependents(o.GetUID()) {
			s.disown(dependent, o.GetUID())
		}
		s.finalized(k, key, FinalizerOrphan)
		return false
	case slices.Contains(o.GetFinalizers(), FinalizerForeground):
		blocking := s.dependents(o.GetUID())
		if len(blocking) == 0 {
			s.finalized(k, key, FinalizerForeground)
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

// dependents are snapshots: nothing else here has an owner.
func (s *Server) dependents(owner types.UID) []client.Object {
	return slices.DeleteFunc(s.List(Snapshots), func(o client.Object) bool {
		return !slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == owner })
	})
}

func (s *Server) disown(dependent client.Object, owner types.UID) {
	_, _ = s.Update(Snapshots, client.ObjectKeyFromObject(dependent), Someone, func(o client.Object) error {
		o.SetOwnerReferences(slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()),
			func(ref metav1.OwnerReference) bool { return ref.UID == owner }))
		return nil
	})
}

func (s *Server) finalized(k Kind, key client.ObjectKey, finalizer string) {
	_, _ = s.Update(k, key, Someone, func(o client.Object) error {
		o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer }))
		return nil
	})
}
