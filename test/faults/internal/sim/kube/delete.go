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

// Delete removes an object, or marks it as being deleted if it has finalizers or the propagation policy adds one.
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
	s.commit(k, stored, deleting, request)
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
