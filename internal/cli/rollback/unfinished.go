// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"cmp"
	"context"
	"errors"
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
	deployments, sets, volumes := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.PersistentVolumeList{}
	in := client.InNamespace(namespace)
	err = errors.Join(listIfAllowed(ctx, f, deployments, in), listIfAllowed(ctx, f, sets, in), listIfAllowed(ctx, f, volumes))
	if err != nil {
		return nil, err
	}
	for _, o := range slices.Concat(view.Items(deployments), view.Items(sets)) {
		add(o.GetNamespace(), o)
	}
	for in, found := range claims {
		add(in, found...)
	}
	for i := range volumes.Items {
		if v := &volumes.Items[i]; recorded(v) && (namespace == "" || v.Spec.ClaimRef.Namespace == namespace) {
			add(v.Spec.ClaimRef.Namespace).Volumes[v.Name] = v
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

func listIfAllowed(ctx context.Context, f *term.Factory, list client.ObjectList, opts ...client.ListOption) error {
	if err := f.List(ctx, list, opts...); !apierrors.IsForbidden(err) {
		return err
	}
	return nil
}

// recorded returns whether a volume has records of a namespace. Malformed ones say nothing; rollback names them.
func recorded(v *corev1.PersistentVolume) bool {
	records, err := core.RecordsOf(v)
	return err == nil && len(records) > 0 && v.Spec.ClaimRef != nil
}
