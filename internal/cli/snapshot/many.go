// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// ofSelected requests a snapshot of every PVC of the schedules that a label selector matches.
// None is no error: before the first installation of an application there is nothing to save.
func (r *request) ofSelected(ctx context.Context, scope *term.Scope) error {
	r.namespace = scope.Namespace(r.f)
	schedules, err := view.ReadSchedules(ctx, r.f, r.namespace, scope.Selector)
	if meta.IsNoMatchError(err) {
		r.f.Warn("the cluster has no SnapshotSchedules: their CustomResourceDefinition is not installed")
		schedules, err = nil, nil
	}
	if err != nil {
		return err
	}
	if len(schedules) == 0 {
		scope.SayNothingFound(r.f)
		return nil
	}
	schedules = slices.DeleteFunc(schedules, func(s *v1alpha1.SnapshotSchedule) bool {
		err := r.ofFleet(s)
		if err != nil {
			r.leaveOut(err)
		}
		return err != nil
	})
	if err := r.findAll(ctx, schedules); err != nil {
		return err
	}
	if err := r.f.DryRun.OneWrite(len(schedules)); err != nil {
		return err
	}
	requested := 0
	for _, s := range schedules { // without a PVC that is bound, there is nothing to save either
		targets := r.targetsOf(s)
		if len(targets) == 0 {
			continue
		}
		switch err := r.request(ctx, s, "", targets); {
		case err == nil:
			requested++
		case ctx.Err() != nil && requested > 0:
			return fmt.Errorf("%w\nThe requests of %s stay: their snapshots are still taken", err, term.Plural(requested, "SnapshotSchedule"))
		case ctx.Err() != nil:
			return err
		default:
			r.leaveOut(fmt.Errorf("SnapshotSchedule %s: %w", r.inNamespace(s), err))
			r.targets = slices.DeleteFunc(r.targets, func(t *target) bool { return t.schedule == s })
		}
	}
	return nil
}

// leaveOut says why a schedule takes no part in a request for many. What others write into theirs must not keep anybody
// from a snapshot.
func (r *request) leaveOut(why error) {
	r.f.Warn("%s", why)
	r.without++
}

// leftOut says how many schedules take no part.
func (r *request) leftOut() error {
	if r.without == 0 {
		return nil
	}
	return term.Failed(fmt.Errorf("%s left out: the warnings say why", term.Plural(r.without, "SnapshotSchedule")))
}

// ofCluster requests a snapshot of every PVC of a ClusterSnapshotSchedule, whose operator
// hands the request on to its schedules in the namespaces that it selects.
func (r *request) ofCluster(ctx context.Context, name string) error {
	r.namespace = ""
	fleet := &v1alpha1.ClusterSnapshotSchedule{}
	if err := r.f.Client.Get(ctx, client.ObjectKey{Name: name}, fleet); err != nil {
		return err
	}
	children, err := r.childrenOf(ctx, fleet)
	if err != nil {
		return err
	}
	r.cluster = name
	if err := r.findAll(ctx, children); err != nil {
		return err
	}
	if len(r.targets) == 0 {
		return term.Failed(fmt.Errorf("ClusterSnapshotSchedule %s selects no PVC that can be snapshotted", name))
	}
	return r.annotate(ctx, term.ClusterScheduleResource, fleet, "", r.targets, func(v1alpha1.Request) (v1alpha1.Request, error) {
		return v1alpha1.Request{}, nil // a request for all replaces any other
	})
}

// childrenOf returns the schedules of a ClusterSnapshotSchedule in the namespaces that it selects, with the specs by which
// they take snapshots, whatever a tenant has edited. On others, its requests do not count.
func (r *request) childrenOf(ctx context.Context, fleet *v1alpha1.ClusterSnapshotSchedule) ([]*v1alpha1.SnapshotSchedule, error) {
	if _, err := fleet.Spec.NamespaceSelector.AsSelector(); err != nil {
		return nil, fmt.Errorf("ClusterSnapshotSchedule %s: %w", fleet.Name, err)
	}
	namespaces, err := view.ReadNamespaces(ctx, r.f)
	if err != nil {
		return nil, err
	}
	all, err := view.ReadSchedules(ctx, r.f, "", "") // a tenant may have taken off the labels of one
	if err != nil {
		return nil, err
	}
	in := map[string]*v1alpha1.SnapshotSchedule{}
	for _, s := range all {
		if snapshots.OwnedBy(fleet, s) {
			in[s.Namespace] = s
		}
	}
	var children []*v1alpha1.SnapshotSchedule
	for i := range namespaces {
		namespace := &namespaces[i]
		if !snapshots.SelectsNamespace(fleet, namespace) {
			continue
		}
		if child := in[namespace.Name]; child != nil {
			children = append(children, snapshots.Decided(child, fleet, namespace))
			continue
		}
		r.f.Warn("namespace %s has no SnapshotSchedule of ClusterSnapshotSchedule %s", namespace.Name, fleet.Name)
	}
	return children, nil
}

// findAll finds the targets under some schedules, each in its own namespace.
func (r *request) findAll(ctx context.Context, schedules []*v1alpha1.SnapshotSchedule) error {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.f.List(ctx, claims, client.InNamespace(r.namespace)); err != nil {
		return err
	}
	refused := map[*v1alpha1.SnapshotSchedule]bool{}
	err := r.find(ctx, schedules, claims.Items, func(s *v1alpha1.SnapshotSchedule, why error) error {
		refused[s] = true
		r.leaveOut(why)
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range schedules {
		if len(r.targetsOf(s)) == 0 && !refused[s] {
			r.f.Warn("SnapshotSchedule %s selects no PVC that can be snapshotted", r.inNamespace(s))
		}
	}
	r.selects = view.Managed
	return nil
}

func (r *request) targetsOf(s *v1alpha1.SnapshotSchedule) (all []*target) {
	for _, t := range r.targets {
		if t.schedule == s {
			all = append(all, t)
		}
	}
	return all
}
