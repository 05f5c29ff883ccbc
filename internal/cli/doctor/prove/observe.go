// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"context"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/doctor/prove/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// eventsAfter is how long a step has waited before it is asked why.
const eventsAfter = 2 * time.Second

// observe reads what there is of the run. The names of contents and volumes are kept: these go after their snapshots and PVCs.
func (r *run) observe(ctx context.Context, began time.Time) (err error) {
	s := r.seen
	s.Now, s.Since = r.now(), r.f.Clock.Since(began)
	if s.Pods, err = byName[corev1.Pod](ctx, r, &corev1.PodList{}); err != nil {
		return err
	}
	if s.Claims, err = byName[corev1.PersistentVolumeClaim](ctx, r, &corev1.PersistentVolumeClaimList{}); err != nil {
		return err
	}
	if s.Snapshots, err = byName[snapshotv1.VolumeSnapshot](ctx, r, &snapshotv1.VolumeSnapshotList{}); err != nil {
		return err
	}
	if r.proof.Groups {
		if s.Groups, err = byName[groupv1.VolumeGroupSnapshot](ctx, r, &groupv1.VolumeGroupSnapshotList{}); err != nil {
			return err
		}
	}
	for name, claim := range s.Claims {
		if claim.Spec.VolumeName != "" {
			s.VolumeOf[name] = claim.Spec.VolumeName
		}
	}
	for name, v := range s.Snapshots {
		if content := backup.ContentName(v); content != "" {
			s.ContentOf[name] = content
		}
	}
	if name := core.CopyOf(s, r.proof.ID); name != "" {
		r.copyName = name
	}
	return r.observeStorage(ctx)
}

// observeStorage reads what has no namespace, and the events.
func (r *run) observeStorage(ctx context.Context) (err error) {
	s := r.seen
	s.Contents, s.Volumes = map[string]*snapshotv1.VolumeSnapshotContent{}, map[string]*corev1.PersistentVolume{}
	var about []types.UID
	for _, name := range []string{core.ContentOf(s), r.copyName} {
		if name == "" {
			continue
		}
		found, err := view.LookUp(ctx, r.f.Client, client.ObjectKey{Name: name}, &snapshotv1.VolumeSnapshotContent{})
		if err != nil {
			return err
		}
		if found != nil {
			s.Contents[name], about = found, append(about, found.UID)
		}
	}
	if name := core.VolumeOf(s); name != "" {
		found, err := view.LookUp(ctx, r.f.Client, client.ObjectKey{Name: name}, &corev1.PersistentVolume{})
		if err != nil {
			return err
		}
		if found != nil {
			s.Volumes[name], about = found, append(about, found.UID)
		}
	}
	if s.Since < eventsAfter {
		s.Events = nil
		return nil
	}
	s.Events, err = events(ctx, r.f, r.namespace.Name)
	for _, uid := range about {
		if err != nil {
			break
		}
		var more []corev1.Event
		more, err = events(ctx, r.f, corev1.NamespaceDefault, client.MatchingFields{"involvedObject.uid": string(uid)})
		s.Events = append(s.Events, more...)
	}
	return err
}

// events returns events; none if they may not be read.
func events(ctx context.Context, f *term.Factory, namespace string, opts ...client.ListOption) ([]corev1.Event, error) {
	all := &corev1.EventList{}
	err := f.List(ctx, all, append(opts, client.InNamespace(namespace))...)
	if apierrors.IsForbidden(err) {
		err = nil
	}
	return all.Items, err
}

// byName lists the objects of a kind in the namespace of the run.
func byName[T any, P interface {
	*T
	client.Object
}](ctx context.Context, r *run, into client.ObjectList) (map[string]P, error) {
	if err := r.f.List(ctx, into, client.InNamespace(r.namespace.Name)); err != nil {
		return nil, err
	}
	all := map[string]P{}
	err := meta.EachListItem(into, func(o runtime.Object) error {
		found := o.(P)
		all[found.GetName()] = found
		return nil
	})
	return all, err
}
