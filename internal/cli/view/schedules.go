// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// ReadSchedule reads one schedule.
func ReadSchedule(ctx context.Context, f *term.Factory, name string) (*v1alpha1.SnapshotSchedule, error) {
	s := &v1alpha1.SnapshotSchedule{}
	err := f.Get(ctx, name, s)
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w%s", err, insteadOf(ctx, f, name))
	}
	return s, err
}

// insteadOf says what there is instead of a schedule that does not exist; empty if the user may not know it.
func insteadOf(ctx context.Context, f *term.Factory, name string) string {
	if f.Missing(ctx, f.Namespace) != nil {
		return fmt.Sprintf(": there is no namespace %s", f.Namespace)
	}
	elsewhere := &v1alpha1.SnapshotScheduleList{}
	if err := f.List(ctx, elsewhere, client.MatchingFields{metav1.ObjectNameField: name}); err == nil && len(elsewhere.Items) > 0 {
		return fmt.Sprintf(" in namespace %s, but in namespace %s", f.Namespace, elsewhere.Items[0].Namespace)
	}
	here, err := ReadSchedules(ctx, f, f.Namespace, "")
	if err != nil || len(here) == 0 {
		return ""
	}
	return fmt.Sprintf(" in namespace %s: it has %s", f.Namespace, namesOf(here))
}

// OnlySchedule returns the name of the only schedule of the namespace.
func OnlySchedule(ctx context.Context, f *term.Factory) (string, error) {
	all, err := ReadSchedules(ctx, f, f.Namespace, "")
	switch {
	case err != nil:
		return "", err
	case len(all) == 1:
		return all[0].Name, nil
	case len(all) == 0:
		return "", cmp.Or(f.Missing(ctx, f.Namespace), fmt.Errorf("there is no SnapshotSchedule in namespace %s", f.Namespace))
	}
	return "", fmt.Errorf("specify the SnapshotSchedule: namespace %s has %s", f.Namespace, namesOf(all))
}

// namesOf names some schedules, and not all of many.
func namesOf(all []*v1alpha1.SnapshotSchedule) string {
	var names []string
	for _, s := range all[:min(len(all), term.Listed)] {
		names = append(names, s.Name)
	}
	if more := len(all) - term.Listed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// ReadSchedules reads the schedules of a namespace; of all of them if it is empty.
func ReadSchedules(ctx context.Context, f *term.Factory, namespace, selector string) ([]*v1alpha1.SnapshotSchedule, error) {
	matches, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	list := &v1alpha1.SnapshotScheduleList{}
	err = f.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: matches})
	all := make([]*v1alpha1.SnapshotSchedule, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, err
}
