// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// discoveryRetry is when to ask again after the API server did not answer: a
// start must not wait for that as long as for a kind to be installed.
const discoveryRetry = 5 * time.Second

// availability knows which of the kinds that a controller needs are not installed.
type availability struct {
	discovery discovery.ServerResourcesInterface
	needed    []schema.GroupVersionKind
	// suspect is signaled when a write found that a kind may be missing.
	suspect chan struct{}
	absent  atomic.Pointer[[]string]
}

func newAvailability(d discovery.ServerResourcesInterface, kinds *plan.Kinds) *availability {
	a := &availability{discovery: d, needed: kinds.Needed, suspect: make(chan struct{}, 1)}
	a.absent.Store(&[]string{})
	return a
}

// missing returns the kinds that the last check found missing.
func (a *availability) missing() []string { return *a.absent.Load() }

// suspectMissing asks for a check. It never blocks.
func (a *availability) suspectMissing() {
	select {
	case a.suspect <- struct{}{}:
	default:
	}
}

// explains returns whether an error came from a kind that is not installed. A 404
// alone does not say so.
func (a *availability) explains(_ context.Context, err error) bool {
	if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return false
	}
	missing, err := a.check()
	if len(missing) > 0 {
		a.suspectMissing() // somebody has to notice when the kind is back
	}
	return err == nil && len(missing) > 0
}

// check asks the API server which kinds are missing.
func (a *availability) check() ([]string, error) {
	var absent []string
	for _, gvk := range a.needed {
		found, err := a.discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("discover %s: %w", gvk.GroupVersion(), err)
		}
		if err != nil || !slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Kind == gvk.Kind }) {
			absent = append(absent, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
		}
	}
	a.absent.Store(&absent)
	return absent, nil
}

// wait returns when all kinds are installed, or false at the end of the context.
// changed is called when the missing kinds are others than before.
func (a *availability) wait(ctx context.Context, interval time.Duration, log logr.Logger, changed func()) bool {
	var reported []string
	for {
		next := interval
		missing, err := a.check()
		switch {
		case err != nil:
			next = min(interval, discoveryRetry)
			log.Error(err, "Failed to discover kinds", "retryAfter", next)
		case len(missing) == 0:
			return true
		case !slices.Equal(missing, reported):
			reported = missing
			log.Info("Waiting for kinds to be installed", "missing", missing, "interval", interval)
			changed()
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(next):
		}
	}
}
