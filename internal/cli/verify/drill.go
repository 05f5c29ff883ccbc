// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/verify/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// drill is one Job of a verification.
type drill struct {
	of      *verification
	verdict core.Verdict

	snapshot *snapshotv1.VolumeSnapshot
	// job is the Job as it was created.
	job    *batchv1.Job
	volume core.Volume
}

// drillPoll is how often a drill's Job and pods are read.
const drillPoll = 2 * time.Second

// run runs the Job until it says something about the snapshot, and writes that down.
func (d *drill) run(ctx context.Context) {
	if err := d.of.f.Client.Create(ctx, d.job, term.FieldOwner); err != nil {
		d.verdict = core.Verdict{Result: core.Inconclusive, Reason: err.Error()}
		return
	}
	waits := ""
	// The Job ends itself at its deadline: until then, and a little longer, its outcome can be read.
	bounded, cancel := context.WithTimeout(ctx, d.of.options.Timeout+time.Minute)
	defer cancel()
	err := wait.PollUntilContextCancel(bounded, drillPoll, true, func(ctx context.Context) (bool, error) {
		var err error
		if d.verdict, err = d.outcome(ctx); err != nil || d.verdict.Result != core.Running {
			return d.verdict.Result != core.Running, err
		}
		if d.verdict.Reason != waits && d.verdict.Reason != "" {
			d.of.tell(d.of.f.ErrOut, d.snapshot, "waits", d.verdict.Reason)
		}
		waits = d.verdict.Reason
		return false, nil
	})
	if err != nil {
		d.verdict = core.Verdict{Result: core.Inconclusive, Reason: err.Error()}
	}
	d.record(ctx)
	if d.verdict.Result == core.Failed {
		return // its log can be read for a while
	}
	// Else, or if this fails, the Job and its volume go after the deadline. The context may have ended by a signal.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drillPoll)
	defer cancel()
	_ = d.of.f.Client.Delete(last, d.job, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &d.job.UID})
}

// outcome reads what there is to know about the drill.
func (d *drill) outcome(ctx context.Context) (core.Verdict, error) {
	now := &batchv1.Job{}
	err := d.of.f.Client.Get(ctx, client.ObjectKeyFromObject(d.job), now)
	if apierrors.IsNotFound(err) || err == nil && now.UID != d.job.UID {
		now, err = nil, nil
	}
	if err != nil {
		return core.Verdict{}, err
	}
	pods := &corev1.PodList{}
	ofJob := client.MatchingLabels{batchv1.ControllerUidLabel: string(d.job.UID)}
	err = d.of.f.Client.List(ctx, pods, client.InNamespace(d.job.Namespace), ofJob)
	if err != nil {
		return core.Verdict{}, err
	}
	is := core.Drill{Job: d.job, Now: now, Pods: pods.Items, IsDefault: len(d.of.options.Command) == 0}
	about := []types.UID{d.job.UID}
	for _, pod := range is.Own() {
		about = append(about, pod.UID)
		if err := d.seeVolume(ctx, &pod); err != nil {
			return core.Verdict{}, err
		}
	}
	if !is.Runs() {
		if is.Events, err = d.events(ctx, about...); err != nil {
			return core.Verdict{}, err
		}
		if d.volume.Claim != "" && !d.volume.Bound {
			if d.volume.Events, err = d.events(ctx, d.volume.Claim); err != nil {
				return core.Verdict{}, err
			}
		}
	}
	is.Volume = d.volume
	return is.Outcome(), nil
}

// seeVolume finds out about the volume of a pod.
func (d *drill) seeVolume(ctx context.Context, pod *corev1.Pod) error {
	claim := &corev1.PersistentVolumeClaim{}
	err := d.of.f.Client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: core.ClaimName(pod)}, claim)
	if err == nil && metav1.IsControlledBy(claim, pod) {
		d.volume.Claim, d.volume.Bound = claim.UID, d.volume.Bound || claim.Status.Phase == corev1.ClaimBound
	}
	return client.IgnoreNotFound(err)
}

// events returns the events about objects of the namespace; none if they may not be read.
func (d *drill) events(ctx context.Context, about ...types.UID) (all []corev1.Event, err error) {
	for _, uid := range about {
		events := &corev1.EventList{}
		err := d.of.f.List(ctx, events, client.InNamespace(d.job.Namespace), client.MatchingFields{"involvedObject.uid": string(uid)})
		if apierrors.IsForbidden(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, events.Items...)
	}
	return all, nil
}

// settle decides about the drills of snapshots that the storage did not restore, once it is known whether it restored
// others.
func (r *verification) settle(ctx context.Context, drills []*drill) {
	for _, d := range drills {
		if !d.verdict.FailedIfOthers {
			continue
		}
		others := &snapshotv1.VolumeSnapshotList{}
		if err := r.f.List(ctx, others, client.InNamespace(d.snapshot.Namespace)); err != nil {
			d.verdict.Reason = fmt.Sprintf("%s; read other snapshots: %s", d.verdict.Reason, err)
		}
		restored := map[types.UID]bool{}
		for _, other := range drills {
			restored[other.snapshot.UID] = other.volume.Bound
		}
		if core.OtherRestored(d.snapshot, others.Items, restored, d.job) {
			d.verdict.Result = core.Failed
			d.record(ctx)
		}
		r.tell(r.f.Out, d.snapshot, words[d.verdict.Result], d.verdict.Reason)
	}
}

// record writes what the drill has shown into the snapshot. If it cannot, the drill has shown nothing.
func (d *drill) record(ctx context.Context) {
	if d.verdict.Result != core.Verified && d.verdict.Result != core.Failed {
		return
	}
	if err := d.annotateResult(ctx); err != nil {
		d.verdict = core.Verdict{Result: core.Inconclusive, Reason: err.Error()}
	}
}

// annotateResult writes the result into the snapshot that was drilled, and no other one of its name.
func (d *drill) annotateResult(ctx context.Context) error {
	now, err := d.of.f.ServerTime(ctx)
	if err != nil {
		return fmt.Errorf("read the API server's clock: %w", err)
	}
	annotation := map[string]any{v1alpha1.AnnotationVerifiedAt: term.Timestamp(now)}
	if d.verdict.Result == core.Failed {
		why := report.Text(d.verdict.Reason, backup.MaxDrillReason)
		annotation = map[string]any{v1alpha1.AnnotationVerifyFailed: term.Timestamp(now) + " " + why}
	}
	return steps.Send(ctx, d.of.f, change.Mark(d.snapshot, annotation))
}
