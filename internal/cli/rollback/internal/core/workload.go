// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Workload is a Deployment or a StatefulSet.
type Workload struct {
	Object   client.Object
	Kind     string
	Replicas int32
	Template *corev1.PodTemplateSpec
}

// NewWorkload returns a Deployment or a StatefulSet as a workload.
func NewWorkload(o client.Object) *Workload {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &Workload{Object: o, Kind: "Deployment", Replicas: ptr.Deref(o.Spec.Replicas, 1), Template: &o.Spec.Template}
	case *appsv1.StatefulSet:
		return &Workload{Object: o, Kind: "StatefulSet", Replicas: ptr.Deref(o.Spec.Replicas, 1), Template: &o.Spec.Template}
	}
	return nil
}

// claimTemplates and firstOrdinal are those of a StatefulSet.
func (w *Workload) claimTemplates() (names []string) {
	if set, ok := w.Object.(*appsv1.StatefulSet); ok {
		for i := range set.Spec.VolumeClaimTemplates {
			names = append(names, set.Spec.VolumeClaimTemplates[i].Name)
		}
	}
	return names
}

func (w *Workload) firstOrdinal() int32 {
	if set, ok := w.Object.(*appsv1.StatefulSet); ok && set.Spec.Ordinals != nil {
		return set.Spec.Ordinals.Start
	}
	return 0
}

// Name returns the workload as kubectl names it, such as statefulset/db.
func (w *Workload) Name() string { return strings.ToLower(w.Kind) + "/" + w.Object.GetName() }

// ClaimsOf returns the names of the PVCs of a workload's pods, of a StatefulSet those of its present
// replicas. Of one that is scaled to 0 by somebody else, existing PVCs are found by their names.
func ClaimsOf(w *Workload, replicas int32, existing []string) []string {
	var names []string
	for _, v := range w.Template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	for _, template := range w.claimTemplates() {
		prefix := template + "-" + w.Object.GetName() + "-"
		for ordinal := range replicas {
			names = append(names, fmt.Sprintf("%s%d", prefix, w.firstOrdinal()+ordinal))
		}
		for _, name := range existing {
			ordinal, ok := strings.CutPrefix(name, prefix)
			if ok && replicas == 0 && ordinal != "" && strings.Trim(ordinal, "0123456789") == "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// RecordedOf returns the PVCs of unfinished rollbacks of the workload. Those that are deleted have no other sign: the note on a workload
// goes with it, and it may be created again at 0.
func RecordedOf(s *State) (names []string) {
	for _, r := range s.unfinished() {
		if r.Lock != nil && r.Workload == s.Workload.Name() {
			names = append(names, r.Claim.Name)
		}
	}
	return names
}

// WorkloadOf returns the name of the Deployment or StatefulSet whose pods use one of the PVCs, or that
// an unfinished rollback of one has scaled to 0; empty if there is none.
func WorkloadOf(s *State, claims []string) string {
	for _, r := range s.unfinished() {
		if r.Workload != "" && slices.Contains(claims, r.Claim.Name) {
			return r.Workload
		}
	}
	for _, p := range s.Pods {
		scales := p.Owner != nil && (p.Owner.Kind == "Deployment" || p.Owner.Kind == "StatefulSet")
		if scales && slices.ContainsFunc(claims, p.uses) {
			return strings.ToLower(p.Owner.Kind) + "/" + p.Owner.Name
		}
	}
	return ""
}

// Replicas returns how many the workload has.
func Replicas(s *State) int32 {
	if s.Workload == nil {
		return 0
	}
	return s.Workload.Replicas
}
