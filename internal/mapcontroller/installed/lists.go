// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AwaitLists returns when every kind can be listed, or false at the end of the
// context. A cache that cannot list its kind would never sync, and the others wait for
// it. Where the API server fails, that is tried again soon.
func AwaitLists(ctx context.Context, live client.Reader, kinds []schema.GroupVersionKind, interval time.Duration, log logr.Logger) bool {
	for reported, next := "", interval; ; next = interval {
		err := list(ctx, live, kinds)
		switch {
		case err == nil:
			return true
		case !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
			next = min(next, Retry) // nobody has to act
		}
		if err.Error() != reported {
			reported = err.Error()
			log.Info("Waiting for kinds that cannot be listed", "reason", reported, "retryAfter", next)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(next):
		}
	}
}

func list(ctx context.Context, live client.Reader, kinds []schema.GroupVersionKind) error {
	for _, gvk := range kinds {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := live.List(ctx, page, client.Limit(1)); err != nil {
			return err
		}
	}
	return nil
}
