// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// gets is a reader that answers the reads of a ClusterSnapshotSchedule, and of another
// object.
type gets struct {
	client.Reader

	parent, other error
}

func (g gets) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if _, ok := o.(*v1alpha1.ClusterSnapshotSchedule); ok {
		return g.parent
	}
	return g.other
}

// Contract: FLEET-9.
func TestOriginIsReadAsFarAsTheUserMay(t *testing.T) {
	resource := schema.GroupResource{Resource: "any"}
	forbidden := apierrors.NewForbidden(resource, "", errors.New("no role"))
	for name, test := range map[string]struct {
		gets  gets
		known int
		fails bool
	}{
		"both":                             {gets{}, 2, false},
		"there is no such object":          {gets{parent: apierrors.NewNotFound(resource, "")}, 0, false},
		"its kind is not installed":        {gets{parent: &meta.NoKindMatchError{}}, 0, false},
		"the user may not read it":         {gets{parent: forbidden}, 0, false},
		"the user may not read namespaces": {gets{other: forbidden}, 1, false},
		"the API server fails":             {gets{parent: errors.New("internal error")}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			known, err := view.ReadOrigin(t.Context(), test.gets, clitest.NewScenario().Tiers)
			if len(known) != test.known || (err != nil) != test.fails {
				t.Errorf("got %v, %v", known, err)
			}
		})
	}
}
