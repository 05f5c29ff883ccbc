// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
)

// Unfinished reads which rollbacks began more than an hour ago and have not ended, in a namespace whose PVCs were read, or in all. What
// only workloads or PersistentVolumes show is left out for users who may not list these.
func Unfinished(
	ctx context.Context, f *term.Factory, namespace string, claims map[string][]client.Object, now time.Time,
) (all []protection.Rollback, err error) {
	states, on := map[string]*core.State{}, map[string][]client.Object{}
	add := func(namespace string, o ...client.Object) *core.State {
		on[namespace] = append(on[namespace], o...)
		if states[namespace] == nil {
			states[namespace] = &core.State{Namespace: namespace, Now: now, Volumes: map[string]*corev1.PersistentVolume{}}
		}
		return states[namespace]
	}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}} {
		if err := f.List(ctx, list, client.InNamespace(namespace)); err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		for _, o := range view.Items(list) {
			add(o.GetNamespace(), o)
		}
	}
	for in, found := range claims {
		add(in, found...)
	}
	volumes := &corev1.PersistentVolumeList{}
	if err := f.List(ctx, volumes); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for i := range volumes.Items {
		v := &volumes.Items[i]
		ref := v.Spec.ClaimRef
		if records, err := core.RecordsOf(v); err == nil && len(records) > 0 && ref != nil && (namespace == "" || ref.Namespace == namespace) {
			add(ref.Namespace).Volumes[v.Name] = v
		}
	}
	for _, in := range slices.Sorted(maps.Keys(states)) {
		if err := states[in].ReadRecords(); err != nil {
			return nil, err
		}
		for _, u := range states[in].LongUnfinished(on[in]) {
			all = append(all, protection.Rollback{
				Namespace: in, ID: u.ID, Claims: u.Names(), BeganTime: *term.TimeOf(cmp.Or(u.Began, u.Time).Time),
				Remedy: fmt.Sprintf("finish the rollback, or undo it: %s rollback -n %s %s --undo", term.Name, term.ShellWord(in), u.Of),
			})
		}
	}
	return all, nil
}
