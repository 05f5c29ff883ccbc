// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// wait follows the snapshots of a request until each target has one that is ready.
func (r *request) wait(ctx context.Context, wait *Wait) error {
	err := wait.Follow(ctx, r.client, &snapshotv1.VolumeSnapshotList{},
		follower{see: r.see, done: r.done, idle: r.explain}, client.InNamespace(r.namespace), r.selects)
	if errors.Is(err, errTimeout) {
		if explainErr := r.explain(ctx); explainErr != nil {
			return explainErr
		}
		return fmt.Errorf("%w after %s: no ready snapshot of %s", errTimeout, wait.Timeout, strings.Join(r.waiting(), ", "))
	}
	return err
}

// see notes what a snapshot means for its target.
func (r *request) see(o client.Object, deleted bool) bool {
	v := o.(*snapshotv1.VolumeSnapshot)
	for _, t := range r.targets {
		if t.ready != "" || !t.owns(v) {
			continue
		}
		state := t.stateOf(v, deleted)
		if state == "" || state == t.state {
			return false
		}
		t.state = state
		if t.ready != "" {
			r.did(snapshotResource, v.Name, "ready")
		} else {
			say(r.ErrOut, t.claim.Name+": "+state)
		}
		return true
	}
	return false
}

func (t *target) owns(v *snapshotv1.VolumeSnapshot) bool {
	is := snapshots.Ownership.Relation(t.schedule, v)
	return (is.Owned || is.Orphan) && v.Labels[v1alpha1.LabelMapKey] == string(t.claim.UID)
}

// stateOf describes a snapshot of the target; empty if it does not matter.
func (t *target) stateOf(v *snapshotv1.VolumeSnapshot, deleted bool) string {
	slot, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
	requested := err == nil && !slot.Before(t.at)
	if t.taken && !requested {
		return ""
	}
	t.taken = requested && !deleted
	status := ptr.Deref(v.Status, snapshotv1.VolumeSnapshotStatus{})
	switch {
	case deleted || v.DeletionTimestamp != nil:
		if !requested {
			return ""
		}
		return v.Name + " was deleted before it was ready"
	case ptr.Deref(status.ReadyToUse, false):
		if !requested {
			return ""
		}
		t.ready = v.Name
		return "ready"
	case status.Error != nil:
		return fmt.Sprintf("%s is not ready: %s", v.Name, ptr.Deref(status.Error.Message, "its driver reports an error"))
	case !requested:
		return v.Name + " is in progress, and the next one is taken after it"
	case status.CreationTime != nil:
		return v.Name + " is cut, and not ready to use yet"
	}
	return v.Name + " is created, and not cut yet"
}

func (r *request) done() (bool, error) { return len(r.waiting()) == 0, nil }

// waiting are the PVCs without a ready snapshot under each schedule.
func (r *request) waiting() []string {
	var names []string
	for _, t := range r.targets {
		if t.ready == "" {
			names = append(names, t.claim.Name)
		}
	}
	return slices.Compact(names) // one PVC may be the target of several schedules
}

// explain says what the wait is waiting for, and what is new of what the operator reports.
func (r *request) explain(ctx context.Context) error {
	r.waitingFor(r.waiting())
	asked := map[string]bool{}
	for _, t := range r.targets {
		if t.ready != "" || asked[t.schedule.Name] {
			continue
		}
		asked[t.schedule.Name] = true
		s, err := readSchedule(ctx, r.client, r.namespace, t.schedule.Name)
		if err != nil {
			return err
		}
		switch ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); {
		case ready == nil:
			r.told.once(r.ErrOut, fmt.Sprintf("SnapshotSchedule %s has no status: does the operator run?", s.Name))
		case ready.Status != metav1.ConditionTrue:
			r.told.once(r.ErrOut, fmt.Sprintf("SnapshotSchedule %s is not ready: %s: %s", s.Name, ready.Reason, ready.Message))
		}
	}
	return nil
}
