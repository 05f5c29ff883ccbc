// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

const (
	// slotPatience and requestPatience are how long a slot, or a request, may be due before the operator
	// should have shown a sign of life.
	slotPatience    = time.Minute
	requestPatience = 15 * time.Second
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
func unansweredSlot(s *v1alpha1.SnapshotSchedule, of *view.Series, d *snapshots.Judgment, classes []client.Object) (u unanswered, is bool) {
	if len(d.Create) == 0 || s.DeletionTimestamp != nil {
		return u, false
	}
	u = unanswered{since: d.Slots.Current, patience: slotPatience}
	if !d.Slots.Current.Equal(d.Slots.Latest) {
		u.patience = requestPatience
	}
	for _, o := range slices.Concat([]client.Object{s}, of.Snapshots, classes) {
		u.since = later(u.since, changed(o))
	}
	for _, claim := range of.Judged().Claims {
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

// silenceOf returns for how long the operator has shown no sign of life; zero if it may live. now is the API server's time: a
// clock that is ahead must accuse nobody. lease is nil where it could not be read; else it decides.
func silenceOf(all []unanswered, lease *coordinationv1.Lease, now time.Time) time.Duration {
	var longest time.Duration
	for _, u := range all {
		if late := now.Sub(u.since); late > u.patience && (lease != nil || !u.explained) {
			longest = max(longest, late)
		}
	}
	if lease == nil || longest == 0 {
		return longest.Truncate(time.Second)
	}
	return SilentFor(lease, now)
}

// SilentFor returns for how long nobody has renewed a lease that has ended; zero while somebody holds it.
func SilentFor(lease *coordinationv1.Lease, now time.Time) time.Duration {
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

// FillSilence fills in for how long the operator has shown no sign of life, where something should have happened.
func FillSilence(ctx context.Context, f *term.Factory, all []*ScheduleStatus, now time.Time) {
	if !slices.ContainsFunc(all, func(s *ScheduleStatus) bool { return len(s.unanswered) > 0 }) {
		return
	}
	namespaces := view.OperatorNamespaces(ctx, f)
	lease := ReadLease(ctx, f, namespaces)
	for _, s := range all {
		s.operatorNamespace = namespaces[0]
		if s.Silent = silenceOf(s.unanswered, lease, now); lease != nil {
			s.operatorNamespace = lease.Namespace
		}
	}
}

// ReadLease returns the lease of the operator in one of some namespaces; nil if it may not be read, or there is none. Of
// several operators it is that of the one that renewed it last: that one may take what the others do not. What an operator that took
// part in leader election has left says nothing of one that does not.
func ReadLease(ctx context.Context, f *term.Factory, namespaces []string) (last *coordinationv1.Lease) {
	for _, namespace := range namespaces {
		lease := &coordinationv1.Lease{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: snapshots.LeaseName}, lease)
		if err != nil || last != nil && !renewedAt(lease).After(renewedAt(last)) {
			continue
		}
		// If Deployments may not be listed, there is none.
		deployments, _ := view.OperatorDeployments(ctx, f, []string{namespace})
		if len(deployments) == 0 || slices.ContainsFunc(deployments, view.Elects) {
			last = lease
		}
	}
	return last
}

// SilenceWords says that the operator shows no sign of life; nothing if it may live.
func (s *ScheduleStatus) SilenceWords(style term.Style) []string {
	if s.Silent == 0 {
		return nil
	}
	return []string{style.Bad("Operator: no sign of life since "+term.Rounded(s.Silent)) + ": " + SilenceCommand(s.operatorNamespace)}
}

// OperatorSilence returns for how long the operator of a cluster has shown no sign of life, and the command that shows whether it runs.
// The lease shows that also while no snapshot is due. Without it, a slot that has no snapshot does.
func OperatorSilence(o *Operator, all []*ScheduleStatus) (silent time.Duration, command string) {
	if o != nil && o.Silent > 0 {
		return o.Silent, SilenceCommand(o.Namespace)
	}
	for _, s := range all {
		if s.Silent > 0 {
			return s.Silent, SilenceCommand(s.operatorNamespace)
		}
	}
	return 0, ""
}

// SilenceCommand shows whether the operator runs in its namespace, which is empty if it is not known.
func SilenceCommand(namespace string) string {
	return fmt.Sprintf("kubectl -n %s get pods,lease", term.ShellWord(cmp.Or(namespace, view.DocumentedNamespace)))
}
