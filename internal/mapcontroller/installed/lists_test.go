// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// failsOnce is an API server whose first list fails.
type failsOnce struct {
	client.Reader
	err error
}

func (f *failsOnce) List(context.Context, client.ObjectList, ...client.ListOption) error {
	err := f.err
	f.err = nil
	return err
}

func TestAwaitListsRetriesSoonUnlessSomebodyHasToAct(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err  error
		want time.Duration
	}{
		"everything can be listed": {},
		"the API server fails":     {errors.New("internal error"), 5 * time.Second},
		"it is overloaded":         {apierrors.NewTooManyRequests("later", 1), 5 * time.Second},
		"the CRD is missing":       {&meta.NoKindMatchError{}, time.Minute},
		"the resource is missing":  {apierrors.NewNotFound(pods, ""), time.Minute},
		"the permission is":        {apierrors.NewForbidden(pods, "", errors.New("no role")), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				if !AwaitLists(t.Context(), &failsOnce{err: test.err}, []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}}, time.Minute, logr.Discard()) || time.Since(began) != test.want {
					t.Errorf("waited %s, want %s", time.Since(began), test.want)
				}
			})
		})
	}
}

func TestAwaitListsEndsWithTheContext(t *testing.T) {
	live := &failsOnce{err: errors.New("internal error")}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if AwaitLists(ctx, live, []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}}, time.Minute, logr.Discard()) {
		t.Error("started without having listed anything")
	}
}
