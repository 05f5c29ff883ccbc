// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// sameRequest is how far apart the requests of two people may be so that the later one
// keeps what the earlier one still waits for.
const sameRequest = time.Minute

// request requests a snapshot of the targets under a schedule: of one PVC, or of all if no
// name is given.
func (r *request) request(ctx context.Context, s *v1alpha1.SnapshotSchedule, claim string, targets []*target) error {
	return r.annotate(ctx, term.ScheduleResource, s, claim, targets, func(before v1alpha1.Request) (v1alpha1.Request, error) {
		return r.unserved(ctx, s, before)
	})
}

// at is the time that is requested: what was cut before the command began covers a slot of its second.
func (r *request) at() time.Time { return r.now.Add(time.Second) }

// annotate writes the annotation of a request on a schedule or a ClusterSnapshotSchedule.
func (r *request) annotate(
	ctx context.Context, resource string, o client.Object, claim string, targets []*target,
	unserved func(before v1alpha1.Request) (v1alpha1.Request, error),
) error {
	var made v1alpha1.Request
	// Somebody else's request may arrive between the read and the write.
	_, err := steps.Update(ctx, r.f, o, func() (_ []byte, err error) {
		before, _ := v1alpha1.RequestOf(o.GetAnnotations())
		if made, err = mergeRequests(before, r.at(), claim, func() (v1alpha1.Request, error) { return unserved(before) }); err != nil {
			return nil, fmt.Errorf("SnapshotSchedule %s: %w", o.GetName(), err)
		}
		if before.At.Sub(r.at()) >= sameRequest {
			r.f.Warn("this replaces the request for %s", term.Timestamp(before.At))
		}
		return change.Annotate(o, map[string]any{v1alpha1.AnnotationRequestedAt: made.String()}).Patch, nil
	})
	if errors.As(err, &steps.UnansweredError{}) {
		err = fmt.Errorf("%w\nIf so, the snapshots are taken, but nobody waits for them, marks or holds them", err)
	}
	if err != nil {
		return term.Failed(err)
	}
	for _, t := range targets {
		t.at = made.At
	}
	what := "requested " + counted(targets)
	if r.namespace == "" && o.GetNamespace() != "" {
		what += " in namespace " + o.GetNamespace()
	}
	return r.f.Done(r.output, o, resource, what)
}

// counted says how many snapshots are taken of some targets: of a group it is one.
func counted(targets []*target) string {
	alone, groups, members := 0, sets.New[string](), 0
	for _, t := range targets {
		if t.schedule.Spec.Group == nil {
			alone++
			continue
		}
		members++
		groups.Insert(t.schedule.Namespace + "/" + t.schedule.Name + "/" + t.key)
	}
	all := term.Plural(alone, "snapshot")
	if members == 0 {
		return all
	}
	ofGroups := fmt.Sprintf("%s of %s", term.Plural(groups.Len(), "group snapshot"), term.Plural(members, "PVC"))
	if alone == 0 {
		return ofGroups
	}
	return all + " and " + ofGroups
}

// mergeRequests returns the request that replaces another one at a time, for one PVC or, if
// no name is given, for all. What a request of the same minute still waits for stays
// requested; what it no longer waits for does not, or requests in a row would take snapshots
// of its PVCs forever. unserved returns the part of the earlier request that still waits.
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
	inv, err := view.ReadInventory(ctx, r.f, s.Namespace, labels.Everything(), view.Managed, view.OfSchedule(s.Name))
	if apierrors.IsForbidden(err) {
		return before, nil // without permission to list PVCs and snapshots, all of them may wait
	}
	if err != nil {
		return v1alpha1.Request{}, err
	}
	now := r.at()
	if before.At.After(now) {
		now = before.At
	}
	_, all, err := inv.Judged(s, now)
	if err != nil {
		return v1alpha1.Request{}, err
	}
	var names []string
	for of, d := range all {
		for _, claim := range of.Judged().Claims {
			if before.Of(claim.Name) && d.Retention.Take.Due {
				names = append(names, claim.Name)
			}
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

// ofFleet says how to request a snapshot under a schedule of a ClusterSnapshotSchedule; nil
// if it is not one. A tenant may have taken off the owner, which makes it no other schedule.
func (r *request) ofFleet(s *v1alpha1.SnapshotSchedule) error {
	if !snapshots.IsChild(s) {
		return nil
	}
	fleet := s.Name
	if owner := metav1.GetControllerOf(s); owner != nil && owner.Kind == "ClusterSnapshotSchedule" {
		fleet = owner.Name
	}
	return fmt.Errorf("SnapshotSchedule %s belongs to ClusterSnapshotSchedule %s, and takes snapshots on its requests only: "+
		"use %s snapshot --cluster-schedule %s", r.inNamespace(s), fleet, term.Name, term.ShellWord(fleet))
}
