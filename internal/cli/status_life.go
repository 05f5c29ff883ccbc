// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

const (
	// slotPatience and requestPatience are how long a slot, or a request, may be due before the operator
	// should have shown a sign of life.
	slotPatience    = time.Minute
	requestPatience = 15 * time.Second
	// operatorNamespace is where the installation of the documentation puts the operator.
	operatorNamespace = "snapshotschedule-system"
)

// unanswered is a slot that is due, and nothing among the live objects says why it has no snapshot.
type unanswered struct {
	// since is the slot, or the last change of what decides about it, if that is later: the PVC may have been
	// bound, and the class created, after the slot. A status that was written since is a sign of life.
	since    time.Time
	patience time.Duration
	// explained is set if the status says why, as the operator wrote it.
	explained bool
}

// unansweredSlot returns the slot of a series that has no snapshot and nothing in its way.
func unansweredSlot(s *v1alpha1.SnapshotSchedule, of *series, d *snapshots.Judgment, classes []client.Object) (u unanswered, is bool) {
	if len(d.Create) == 0 || s.DeletionTimestamp != nil {
		return u, false
	}
	u = unanswered{since: d.Slots.Current, patience: slotPatience}
	if !d.Slots.Current.Equal(d.Slots.Latest) {
		u.patience = requestPatience
	}
	for _, o := range slices.Concat([]client.Object{s}, of.snapshots, classes) {
		u.since = later(u.since, changed(o))
	}
	for _, claim := range of.judged().Claims {
		u.since = later(u.since, changed(claim))
	}
	return u, true
}

// changed returns when an object was written last, by the API server's clock.
func changed(o client.Object) time.Time {
	last := o.GetCreationTimestamp().Time
	for _, by := range o.GetManagedFields() {
		last = later(last, ptr.Deref(by.Time, metav1.Time{}).Time)
	}
	return last
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// lifeOf returns for how long the operator has shown no sign of life; zero if it may live. now is the API server's time: a
// clock that is ahead must accuse nobody. lease is nil where it could not be read; else it decides.
func lifeOf(all []unanswered, lease *coordinationv1.Lease, now time.Time) time.Duration {
	var longest time.Duration
	for _, u := range all {
		if late := now.Sub(u.since); late > u.patience && (lease != nil || !u.explained) {
			longest = max(longest, late)
		}
	}
	if lease == nil || longest == 0 {
		return longest.Truncate(time.Second)
	}
	renewed := renewedAt(lease)
	lasts := 2 * time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	if silent := now.Sub(renewed); ptr.Deref(lease.Spec.HolderIdentity, "") == "" || silent > lasts {
		return max(silent, time.Second).Truncate(time.Second)
	}
	return 0
}

// renewedAt returns when a lease was renewed: by the API server's clock where the lease has that, else by the operator's.
func renewedAt(lease *coordinationv1.Lease) time.Time {
	if len(lease.ManagedFields) > 0 || lease.Spec.RenewTime == nil {
		return changed(lease)
	}
	return lease.Spec.RenewTime.Time
}

// findLife fills in for how long the operator has shown no sign of life, where something should have happened.
func (f *Factory) findLife(ctx context.Context, all []*scheduleStatus) {
	if !slices.ContainsFunc(all, func(s *scheduleStatus) bool { return len(s.unanswered) > 0 }) {
		return
	}
	now, err := f.serverTime(ctx)
	if err != nil { // whose clock is right is not known
		return
	}
	lease := f.readLease(ctx)
	for _, s := range all {
		if s.silent = lifeOf(s.unanswered, lease, now); lease != nil {
			s.operatorNamespace = lease.Namespace
		}
	}
}

// readLease returns the lease of the operator; nil if it may not be read, there is none, or several operators share the
// cluster: whose schedules are whose is not known.
func (f *Factory) readLease(ctx context.Context) *coordinationv1.Lease {
	all := &coordinationv1.LeaseList{}
	if err := f.client.List(ctx, all, client.MatchingFields{"metadata.name": snapshots.LeaseName}); err == nil {
		if len(all.Items) == 1 {
			return &all.Items[0]
		}
		return nil
	}
	lease := &coordinationv1.Lease{}
	if f.client.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: snapshots.LeaseName}, lease) != nil {
		return nil
	}
	return lease
}

// lifeWords says that the operator shows no sign of life; nothing if it may live.
func (s *scheduleStatus) lifeWords(style Style) []string {
	if s.silent == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: kubectl -n %s get pods,lease",
		style.Bad("Operator: no sign of life since "+duration.HumanDuration(s.silent)), cmp.Or(s.operatorNamespace, operatorNamespace))}
}
