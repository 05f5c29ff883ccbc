// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// sameRequest is how far apart the requests of two people may be so that the later one
// keeps what the earlier one still waits for.
const sameRequest = time.Minute

// request requests a snapshot of the targets under a schedule: of one PVC, or of all if no
// name is given.
func (r *request) request(ctx context.Context, s *v1alpha1.SnapshotSchedule, claim string, targets ...*target) (err error) {
	if r.now.IsZero() {
		if r.now, err = r.serverTime(ctx); err != nil {
			return fmt.Errorf("read the API server's clock: %w", err)
		}
	}
	var made v1alpha1.Request
	// Somebody else's request may arrive between the read and the write.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		before, _ := v1alpha1.RequestOf(s.Annotations)
		if made, err = mergeRequests(before, r.now, claim, func() (v1alpha1.Request, error) { return r.unserved(ctx, s, before) }); err != nil {
			return fmt.Errorf("SnapshotSchedule %s: %w", s.Name, err)
		}
		if before.At.Sub(r.now) >= sameRequest {
			r.warn("this replaces the request for %s", timestamp(before.At))
		}
		return again(ctx, r.client, s, mergePatch(ctx, r.client, s.DeepCopy(), map[string]any{"metadata": map[string]any{
			"resourceVersion": s.ResourceVersion,
			"annotations":     map[string]any{v1alpha1.AnnotationRequestedAt: made.String()},
		}}))
	})
	if err != nil {
		return err
	}
	for _, t := range targets {
		t.at = made.At
	}
	r.did(scheduleResource, s.Name, "requested "+plural(len(targets), "snapshot"))
	return nil
}

// mergeRequests returns the request that replaces another one at a time, for one PVC or, if
// no name is given, for all. What a request of the same minute still waits for stays
// requested; what it no longer waits for does not, or requests in a row would take snapshots
// of its PVCs for ever. unserved returns the part of the earlier request that still waits.
func mergeRequests(
	before v1alpha1.Request, now time.Time, claim string, unserved func() (v1alpha1.Request, error),
) (v1alpha1.Request, error) {
	made := v1alpha1.Request{At: now}
	same := !before.At.IsZero() && now.Sub(before.At).Abs() < sameRequest
	if same && before.At.After(now) { // by the clock of another API server
		made.At = before.At
	}
	if claim == "" {
		return made, nil
	}
	made.Claims = []string{claim}
	if !same {
		return made, nil
	}
	waiting, err := unserved()
	switch {
	case err != nil, waiting.At.IsZero():
		return made, err
	case len(waiting.Claims) == 0: // all
		made.Claims = nil
		return made, nil
	}
	made.Claims = append(made.Claims, waiting.Claims...)
	slices.Sort(made.Claims)
	if made.Claims = slices.Compact(made.Claims); len(made.Claims) > v1alpha1.MaxRequestedClaims {
		return made, fmt.Errorf("%d PVCs of an earlier request still wait, and a request can name %d: "+
			"try again later, or request a snapshot of all PVCs of the schedule", len(waiting.Claims), v1alpha1.MaxRequestedClaims)
	}
	return made, nil
}

// unserved returns the part of a request that still waits: for those of its PVCs that have no
// snapshot for it yet, and get one. Of a request for all, that is for all if many wait.
func (r *request) unserved(ctx context.Context, s *v1alpha1.SnapshotSchedule, before v1alpha1.Request) (v1alpha1.Request, error) {
	inv, err := r.readInventory(ctx, r.client, s.Namespace, labels.Everything(), client.MatchingLabels{v1alpha1.LabelSchedule: s.Name})
	if apierrors.IsForbidden(err) {
		return before, nil // without permission to list PVCs and snapshots, all of them may wait
	}
	if err != nil {
		return v1alpha1.Request{}, err
	}
	judge, err := inv.judge(s)
	if err != nil {
		return v1alpha1.Request{}, err
	}
	now := r.now
	if before.At.After(now) {
		now = before.At
	}
	var names []string
	for _, x := range inv.seriesOf(s, judge.Selects) {
		if x.claim != nil && before.Of(x.claim.Name) && judge.Judge(now, x.mapKey, x.claim, x.snapshots, x.restores).Retention.Take.Due {
			names = append(names, x.claim.Name)
		}
	}
	switch {
	case len(names) == 0:
		return v1alpha1.Request{}, nil
	case len(before.Claims) == 0 && len(names) >= v1alpha1.MaxRequestedClaims:
		return before, nil
	}
	return v1alpha1.Request{At: before.At, Claims: names}, nil
}

// fleetOf returns the ClusterSnapshotSchedule that made a schedule; empty if none did.
func fleetOf(s *v1alpha1.SnapshotSchedule) string {
	owner := metav1.GetControllerOf(s)
	if owner == nil || owner.Kind != "ClusterSnapshotSchedule" {
		return ""
	}
	if version, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || version.Group != v1alpha1.GroupName {
		return ""
	}
	return owner.Name
}

// ofFleet says how to request a snapshot under a schedule of a ClusterSnapshotSchedule.
func ofFleet(schedule, fleet string) string {
	return fmt.Sprintf("SnapshotSchedule %s belongs to ClusterSnapshotSchedule %s, and takes snapshots on its requests only: "+
		"annotate that with %s", schedule, fleet, v1alpha1.AnnotationRequestedAt)
}
