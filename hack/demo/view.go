// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(errors.Join(snapshotv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
}

// view is what the API server shows of namespace demo at one time.
type view struct {
	time      time.Time
	schedule  v1alpha1.SnapshotSchedule // without a name if there is none
	snapshots []snapshot                // by slot
}

type snapshot struct {
	name, pvc     string
	slot, created time.Time
	ready, owned  bool
}

// refresh reads namespace demo.
func (d *demo) refresh(ctx context.Context) error {
	var schedules v1alpha1.SnapshotScheduleList
	var snapshots snapshotv1.VolumeSnapshotList
	v := view{time: time.Now()}
	for _, list := range []client.ObjectList{&schedules, &snapshots} {
		if err := d.client.List(ctx, list, client.InNamespace("demo")); err != nil {
			return err
		}
	}
	for _, s := range schedules.Items {
		v.schedule = s
	}
	for _, s := range snapshots.Items {
		slot, _ := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
		v.snapshots = append(v.snapshots, snapshot{
			name: s.Name, pvc: *s.Spec.Source.PersistentVolumeClaimName, slot: slot, created: s.CreationTimestamp.Time,
			ready: s.Status != nil && s.Status.ReadyToUse != nil && *s.Status.ReadyToUse, owned: len(s.OwnerReferences) > 0,
		})
	}
	slices.SortFunc(v.snapshots, func(a, b snapshot) int { return a.slot.Compare(b.slot) })
	for _, s := range d.now.snapshots {
		if !v.has(s.name) {
			d.deleted = append(d.deleted, s)
		}
	}
	d.now = v
	return nil
}

// list returns the snapshots that a filter wants, by slot.
func (v view) list(want func(snapshot) bool) []snapshot {
	return slices.DeleteFunc(slices.Clone(v.snapshots), func(s snapshot) bool { return !want(s) })
}

func (v view) of(pvc string) []snapshot { return v.list(func(s snapshot) bool { return s.pvc == pvc }) }

func (v view) has(name string) bool {
	return len(v.list(func(s snapshot) bool { return s.name == name })) > 0
}

// ready counts the ready snapshots of a PVC for slots since a time.
func (v view) ready(pvc string, since time.Time) int {
	return len(v.list(func(s snapshot) bool { return s.pvc == pvc && s.ready && !s.slot.Before(since) }))
}

func (v view) owned() int { return len(v.list(func(s snapshot) bool { return s.owned })) }

// reason returns the reason of the schedule's Ready condition, if that is about its current spec.
func (v view) reason() string {
	c := meta.FindStatusCondition(v.schedule.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.ObservedGeneration != v.schedule.Generation {
		return ""
	}
	return c.Reason
}

// dots draws the snapshots of each PVC: ● ready, ○ not ready.
func (v view) dots() string {
	var dots strings.Builder
	for _, pvc := range []string{"db", "web"} {
		if all := len(v.of(pvc)); all > 0 {
			ready := v.ready(pvc, time.Time{})
			dots.WriteString(pvc + " " + strings.Repeat("●", ready) + strings.Repeat("○", all-ready) + "  ")
		}
	}
	return dots.String()
}
