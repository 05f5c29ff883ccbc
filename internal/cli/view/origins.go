// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Origins are the objects that have a say about schedules, by schedule: see [snapshots.OriginNames].
type Origins map[client.ObjectKey][]client.Object

// Of returns those about a schedule, as far as they are known.
func (o Origins) Of(s *v1alpha1.SnapshotSchedule) []client.Object {
	return o[client.ObjectKeyFromObject(s)]
}

// Decided returns a schedule with the spec by which the operator decides.
func (o Origins) Decided(s *v1alpha1.SnapshotSchedule) *v1alpha1.SnapshotSchedule {
	return snapshots.Decided(s, o.Of(s)...)
}

// OriginsOf are the origins of one schedule.
func OriginsOf(s *v1alpha1.SnapshotSchedule, known []client.Object) Origins {
	return Origins{client.ObjectKeyFromObject(s): known}
}

// ReadOrigins reads what has a say about schedules that a ClusterSnapshotSchedule owns, or owned. A user of a namespace may not
// be allowed to: then they are judged by their own specs, which is said once.
func ReadOrigins(ctx context.Context, f *term.Factory, schedules []*v1alpha1.SnapshotSchedule) (Origins, error) {
	var children []*v1alpha1.SnapshotSchedule
	in := map[string]bool{}
	for _, s := range schedules {
		if snapshots.IsChild(s) {
			children = append(children, s)
			in[s.Namespace] = true
		}
	}
	var all Origins
	var err error
	if len(in) > 1 {
		all, err = originsInAll(ctx, f, children)
	} else {
		all, err = originsInOne(ctx, f, children)
	}
	if apierrors.IsForbidden(err) {
		f.Warn("%v: what a ClusterSnapshotSchedule owns is judged by its own spec", err)
		err = nil
	}
	return all, err
}

// originsInOne reads the objects by name, as more users may.
func originsInOne(ctx context.Context, f *term.Factory, children []*v1alpha1.SnapshotSchedule) (all Origins, denied error) {
	all = Origins{}
	for _, s := range children {
		known, err := getOrigin(ctx, f.Client, s)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		all[client.ObjectKeyFromObject(s)], denied = known, cmp.Or(denied, err)
	}
	return all, denied
}

// originsInAll reads all such objects at once.
func originsInAll(ctx context.Context, f *term.Factory, children []*v1alpha1.SnapshotSchedule) (Origins, error) {
	fleets := &v1alpha1.ClusterSnapshotScheduleList{}
	if err := f.List(ctx, fleets); err != nil {
		return Origins{}, client.IgnoreNotFound(err)
	}
	namespaces, err := ReadNamespaces(ctx, f)
	if err != nil {
		return Origins{}, err
	}
	named, ofName := map[string]client.Object{}, map[string]client.Object{}
	for i := range fleets.Items {
		named[fleets.Items[i].Name] = &fleets.Items[i]
	}
	for i := range namespaces {
		ofName[namespaces[i].Name] = &namespaces[i]
	}
	all := Origins{}
	for _, s := range children {
		if fleet, namespace := named[s.Name], ofName[s.Namespace]; fleet != nil && namespace != nil {
			all[client.ObjectKeyFromObject(s)] = []client.Object{fleet, namespace}
		}
	}
	return all, nil
}

// ReadOrigin reads what has a say about a schedule. A user of a namespace may not be allowed to: then nobody is assumed to
// have confirmed a child, which only delays deletes.
func ReadOrigin(ctx context.Context, c client.Reader, s *v1alpha1.SnapshotSchedule) ([]client.Object, error) {
	known, err := getOrigin(ctx, c, s)
	if apierrors.IsForbidden(err) {
		err = nil
	}
	return known, err
}

func getOrigin(ctx context.Context, c client.Reader, s *v1alpha1.SnapshotSchedule) ([]client.Object, error) {
	var known []client.Object
	parent, namespace := snapshots.OriginNames(s)
	for _, o := range []client.Object{parent, namespace} {
		switch err := c.Get(ctx, client.ObjectKeyFromObject(o), o); {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			return known, nil
		case err != nil:
			return known, err
		}
		known = append(known, o)
	}
	return known, nil
}

// Standalone returns what has a say about a schedule, or an error if a ClusterSnapshotSchedule owns it: the command is about that one.
func Standalone(ctx context.Context, f *term.Factory, s *v1alpha1.SnapshotSchedule, command string) ([]client.Object, error) {
	origin, err := ReadOrigin(ctx, f.Client, s)
	if err == nil && snapshots.IsChild(s, origin...) {
		err = fmt.Errorf("SnapshotSchedule %s belongs to ClusterSnapshotSchedule %s, whose template decides: %s %s --cluster-schedule %s",
			s.Name, s.Name, term.Name, command, term.ShellWord(s.Name))
	}
	return origin, err
}

// EachChild calls a function for each SnapshotSchedule that a ClusterSnapshotSchedule owns, with its namespace.
func EachChild(
	ctx context.Context, f *term.Factory, fleet *v1alpha1.ClusterSnapshotSchedule,
	do func(s *v1alpha1.SnapshotSchedule, namespace client.Object) error,
) error {
	all, err := ReadSchedules(ctx, f, "", "") // a tenant may have taken off the labels of one
	if err != nil {
		return err
	}
	for _, s := range all {
		if !snapshots.OwnedBy(fleet, s) {
			continue
		}
		_, namespace := snapshots.OriginNames(s)
		err := f.Client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		if err == nil {
			err = do(s, namespace)
		}
		if err != nil {
			return fmt.Errorf("namespace %s: %w", s.Namespace, err)
		}
	}
	return nil
}
