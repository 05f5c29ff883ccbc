// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func newSnapshotCommand(f *Factory) *cobra.Command {
	var claim string
	var wait Wait
	cmd := &cobra.Command{
		Use:     "snapshot (NAME | --pvc PVC)",
		GroupID: GroupAct,
		Short:   "Take snapshots now",
		Long: "Take a snapshot of every PVC of a schedule now, or of one PVC under each schedule that selects it. This also\n" +
			"works while the schedule is suspended. The request is the annotation " + v1alpha1.AnnotationRequestedAt + "\n" +
			"of the schedule, with the API server's time; the operator takes the snapshots. A request for one PVC\n" +
			"keeps the PVCs of a request younger than a minute that have no snapshot for it yet.",
		Example: `  # All PVCs of a schedule, and wait until the snapshots are ready
  kubectl snapsched snapshot nightly --wait

  # One PVC, before an upgrade
  kubectl snapsched snapshot --pvc pgdata --wait --timeout 5m`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: CompleteOne(f.CompleteSchedules()),
		RunE: f.connected(func(ctx context.Context, args []string) error {
			if (len(args) == 1) == (claim != "") {
				return errors.New("name either a schedule or, with --pvc, a PVC")
			}
			r := &request{Factory: f, told: told{}}
			var err error
			if claim != "" {
				err = r.ofClaim(ctx, claim)
			} else {
				err = r.ofSchedule(ctx, args[0])
			}
			if err != nil || !wait.Enabled {
				return err
			}
			return r.wait(ctx, &wait)
		}),
	}
	cmd.Flags().StringVar(&claim, "pvc", "", "Take a snapshot of this PVC, under each schedule that selects it.")
	_ = cmd.RegisterFlagCompletionFunc("pvc", f.CompleteClaims())
	wait.AddFlags(cmd, "the snapshots are ready to use")
	return cmd
}

// request is a request for snapshots.
type request struct {
	*Factory
	now     time.Time // the API server's
	targets []*target
	// selects are the labels of the snapshots to wait for.
	selects client.MatchingLabels
	told    told
}

// target is a PVC of which a schedule takes a snapshot.
type target struct {
	schedule *v1alpha1.SnapshotSchedule
	claim    *corev1.PersistentVolumeClaim
	at       time.Time // the requested time
	// state is what is known of its snapshot, in words.
	state string
	taken bool // the snapshot exists
	ready bool
}

// ofSchedule requests a snapshot of every PVC of a schedule.
func (r *request) ofSchedule(ctx context.Context, name string) error {
	s, err := r.readSchedule(ctx, name)
	if err != nil {
		return err
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.list(ctx, claims, client.InNamespace(r.namespace)); err != nil {
		return err
	}
	err = r.find(ctx, []*v1alpha1.SnapshotSchedule{s}, claims.Items, func(why error) error { return why })
	if err == nil && len(r.targets) == 0 {
		err = fmt.Errorf("SnapshotSchedule %s selects no PVC that can be snapshotted", name)
	}
	if err != nil {
		return err
	}
	r.selects = ofSchedule(name)
	return r.request(ctx, s, "", r.targets...)
}

// ofClaim requests a snapshot of a PVC under each schedule that selects it.
func (r *request) ofClaim(ctx context.Context, name string) error {
	claim := corev1.PersistentVolumeClaim{}
	if err := r.get(ctx, name, &claim); err != nil {
		return err
	}
	schedules, err := r.readSchedules(ctx, r.namespace, "")
	if err != nil {
		return err
	}
	err = r.find(ctx, schedules, []corev1.PersistentVolumeClaim{claim}, func(why error) error {
		r.warn("%s", why)
		return nil
	})
	if err == nil && len(r.targets) == 0 {
		err = fmt.Errorf("no SnapshotSchedule would take a snapshot of PersistentVolumeClaim %s", name)
	}
	if err != nil {
		return err
	}
	r.selects = client.MatchingLabels{v1alpha1.LabelMapKey: string(claim.UID)}
	var errs []error
	for _, t := range r.targets {
		errs = append(errs, r.request(ctx, t.schedule, name, t))
	}
	return errors.Join(errs...)
}

// find finds the targets of a request. refused is called with why a schedule takes no
// snapshots on it.
func (r *request) find(
	ctx context.Context, schedules []*v1alpha1.SnapshotSchedule, claims []corev1.PersistentVolumeClaim, refused func(error) error,
) error {
	classes, err := r.readClasses(ctx)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		judge, err := snapshots.NewJudge(scheme, s, classes)
		if err != nil {
			err = fmt.Errorf("SnapshotSchedule %s takes no snapshots, because its spec is invalid: %w", s.Name, err)
		}
		for i := 0; err == nil && i < len(claims); i++ {
			if judge.Selects(&claims[i]) {
				if err = ofFleet(s); err == nil {
					r.add(s, judge, &claims[i])
				}
			}
		}
		if err != nil {
			if err := refused(err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *request) add(s *v1alpha1.SnapshotSchedule, judge *snapshots.Judge, claim *corev1.PersistentVolumeClaim) {
	if reason := judge.Refused(claim); reason != "" {
		r.warn("SnapshotSchedule %s skips PersistentVolumeClaim %s: %s", s.Name, claim.Name, reason)
		return
	}
	for _, p := range problemsOf(s, claim.Name, stateSelected, nil) {
		if refusals[p.Reason] {
			r.warn("SnapshotSchedule %s reports of PersistentVolumeClaim %s: %s: %s", s.Name, claim.Name, p.Reason, p.Message)
		}
	}
	r.targets = append(r.targets, &target{schedule: s, claim: claim})
}

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
	_, err = update(ctx, r.Factory, s, func() ([]byte, error) {
		before, _ := v1alpha1.RequestOf(s.Annotations)
		if made, err = mergeRequests(before, r.now, claim, func() (v1alpha1.Request, error) { return r.unserved(ctx, s, before) }); err != nil {
			return nil, fmt.Errorf("SnapshotSchedule %s: %w", s.Name, err)
		}
		if before.At.Sub(r.now) >= sameRequest {
			r.warn("this replaces the request for %s", timestamp(before.At))
		}
		return metadata(map[string]any{
			"resourceVersion": s.ResourceVersion,
			"annotations":     map[string]any{v1alpha1.AnnotationRequestedAt: made.String()},
		}), nil
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
	inv, err := r.readInventory(ctx, s.Namespace, labels.Everything(), managed, ofSchedule(s.Name))
	if apierrors.IsForbidden(err) {
		return before, nil // without permission to list PVCs and snapshots, all of them may wait
	}
	if err != nil {
		return v1alpha1.Request{}, err
	}
	now := r.now
	if before.At.After(now) {
		now = before.At
	}
	_, all, err := inv.judged(s, now)
	if err != nil {
		return v1alpha1.Request{}, err
	}
	var names []string
	for of, d := range all {
		if of.claim != nil && before.Of(of.claim.Name) && d.Retention.Take.Due {
			names = append(names, of.claim.Name)
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
// if it is not one.
func ofFleet(s *v1alpha1.SnapshotSchedule) error {
	owner := metav1.GetControllerOf(s)
	if owner == nil || owner.Kind != "ClusterSnapshotSchedule" || !strings.HasPrefix(owner.APIVersion, v1alpha1.GroupName+"/") {
		return nil
	}
	return fmt.Errorf("SnapshotSchedule %s belongs to ClusterSnapshotSchedule %s, and takes snapshots on its requests only: "+
		"annotate that with %s", s.Name, owner.Name, v1alpha1.AnnotationRequestedAt)
}

// wait follows the snapshots of a request until each target has one that is ready.
func (r *request) wait(ctx context.Context, wait *Wait) error {
	to := follower{see: r.see, left: r.waiting, explain: r.explain, missing: "no ready snapshot of"}
	return wait.Follow(ctx, r.Factory, &snapshotv1.VolumeSnapshotList{}, to, client.InNamespace(r.namespace), r.selects)
}

// see notes what a snapshot means for its target.
func (r *request) see(o client.Object, deleted bool) bool {
	v := o.(*snapshotv1.VolumeSnapshot)
	for _, t := range r.targets {
		if t.ready || !t.owns(v) {
			continue
		}
		state := t.stateOf(v, deleted)
		if state == "" || state == t.state {
			return false
		}
		t.state = state
		if t.ready {
			r.did(snapshotResource, v.Name, "ready")
		} else {
			say(r.ErrOut, t.claim.Name+": "+state)
		}
		return true
	}
	return false
}

func (t *target) owns(v *snapshotv1.VolumeSnapshot) bool {
	is := snapshots.Ownership.Relation(t.schedule, v)
	return (is.Owned || is.Orphan) && v.Labels[v1alpha1.LabelMapKey] == string(t.claim.UID)
}

// stateOf describes a snapshot of the target; empty if it does not matter.
func (t *target) stateOf(v *snapshotv1.VolumeSnapshot, deleted bool) string {
	slot, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
	requested := err == nil && !slot.Before(t.at)
	if t.taken && !requested {
		return ""
	}
	t.taken = requested && !deleted
	status := ptr.Deref(v.Status, snapshotv1.VolumeSnapshotStatus{})
	switch {
	case deleted || v.DeletionTimestamp != nil:
		if !requested {
			return ""
		}
		return v.Name + " was deleted before it was ready"
	case ptr.Deref(status.ReadyToUse, false):
		if !requested {
			return ""
		}
		t.ready = true
		return "ready"
	case status.Error != nil:
		return fmt.Sprintf("%s is not ready: %s", v.Name, ptr.Deref(status.Error.Message, "its driver reports an error"))
	case !requested:
		return v.Name + " is in progress, and the next one is taken after it"
	case status.CreationTime != nil:
		return v.Name + " is cut, and not ready to use yet"
	}
	return v.Name + " is created, and not cut yet"
}

// waiting are the PVCs without a ready snapshot under each schedule.
func (r *request) waiting() []string {
	var names []string
	for _, t := range r.targets {
		if !t.ready {
			names = append(names, t.claim.Name)
		}
	}
	return slices.Compact(names) // one PVC may be the target of several schedules
}

// explain says what is new of what the operator reports.
func (r *request) explain(ctx context.Context) error {
	asked := map[string]bool{}
	for _, t := range r.targets {
		if t.ready || asked[t.schedule.Name] {
			continue
		}
		asked[t.schedule.Name] = true
		s, err := r.readSchedule(ctx, t.schedule.Name)
		if err != nil {
			return err
		}
		switch ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); {
		case ready == nil:
			r.told.once(r.ErrOut, fmt.Sprintf("SnapshotSchedule %s has no status: does the operator run?", s.Name))
		case ready.Status != metav1.ConditionTrue:
			r.told.once(r.ErrOut, fmt.Sprintf("SnapshotSchedule %s is not ready: %s: %s", s.Name, ready.Reason, ready.Message))
		}
	}
	return nil
}
