// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Delete removes an object, or has it begin to go if there are finalizers, or if
// dependents are to be dealt with first.
func (s *Server) Delete(k Kind, key client.ObjectKey, options metav1.DeleteOptions, request int) error {
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
		s.commit(k, stored, nil, request)
		return nil
	}
	if stored.GetDeletionTimestamp() != nil && slices.Equal(finalizers, stored.GetFinalizers()) {
		return nil
	}
	going := clone(stored)
	going.SetFinalizers(finalizers)
	if stored.GetDeletionTimestamp() == nil {
		at := s.stamp()
		going.SetDeletionTimestamp(&at)
		going.SetDeletionGracePeriodSeconds(new(int64(0)))
		if going.GetGeneration() > 0 {
			going.SetGeneration(going.GetGeneration() + 1)
		}
	}
	s.commit(k, stored, going, request)
	return nil
}

// withPropagation leaves the finalizers as they are where no policy is asked for:
// the default of these kinds is background.
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

// RemoveNamespace is the end of a namespace that is being deleted and empty.
func (s *Server) RemoveNamespace(name string) {
	key := client.ObjectKey{Name: name}
	if o := s.objects[Namespaces][key]; o != nil {
		s.commit(Namespaces, o, nil, Someone)
	}
}
