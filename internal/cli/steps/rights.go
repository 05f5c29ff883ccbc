// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Rights are some verbs on a resource, without a namespace in the whole cluster.
func Rights(namespace, group, resource string, verbs ...string) (all []authorizationv1.ResourceAttributes) {
	for _, verb := range verbs {
		all = append(all, authorizationv1.ResourceAttributes{Namespace: namespace, Group: group, Resource: resource, Verb: verb})
	}
	return all
}

// Need returns an error that names all rights that the user lacks. A command asks first: one that may not go on leaves half of it.
func Need(ctx context.Context, f *term.Factory, what string, rights ...[]authorizationv1.ResourceAttributes) error {
	missing, err := f.Lacking(ctx, slices.Concat(rights...))
	if err == nil && missing != nil {
		err = fmt.Errorf("%s needs permissions that you do not have:\n%s", what, strings.Join(missing, "\n"))
	}
	return err
}
