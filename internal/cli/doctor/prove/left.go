// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"context"
	"errors"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/doctor/prove/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// goes is how long a removal waits for the next object to go.
const goes = 2 * time.Minute

// list returns the namespaces and contents that proofs have made, by their IDs.
func list(ctx context.Context, f *term.Factory) (map[string][]client.Object, error) {
	namespaces, contents := &corev1.NamespaceList{}, &snapshotv1.VolumeSnapshotContentList{}
	labeled := client.HasLabels{v1alpha1.LabelProof}
	if err := f.List(ctx, namespaces, labeled); err != nil {
		return nil, err
	}
	if err := f.List(ctx, contents, labeled); err != nil {
		return nil, err
	}
	all := map[string][]client.Object{}
	for _, o := range append(view.Items(namespaces), view.Items(contents)...) {
		if id := core.Owner(o); id != "" {
			all[id] = append(all[id], o)
		} else {
			f.Warn("%s has the label of a proof, and no proof has made it: it is left alone", o.GetName())
		}
	}
	return all, nil
}

// living returns the namespace of a proof that runs; empty if none does. Beside one's own, only an older one counts.
func living(all map[string][]client.Object, now time.Time, own client.Object) string {
	for id, objects := range all {
		if own != nil && core.Namespace(id) == own.GetName() {
			continue
		}
		for _, o := range objects {
			created, mine := o.GetCreationTimestamp(), metaTime(own)
			older := own == nil || created.Time.Before(mine) || created.Time.Equal(mine) && core.Namespace(id) < own.GetName()
			if older && core.Alive(o, now) {
				return core.Namespace(id)
			}
		}
	}
	return ""
}

func metaTime(o client.Object) time.Time {
	if o == nil {
		return time.Time{}
	}
	return o.GetCreationTimestamp().Time
}

func beside(namespace string) error {
	return fmt.Errorf("another proof runs in namespace %s, or was killed there less than %s ago: wait until it has ended",
		namespace, term.Span(core.Dead))
}

// removeDead removes what proofs have left that do not run any more, and refuses to go on beside one that does.
func removeDead(ctx context.Context, f *term.Factory) error {
	now, err := f.ServerTime(ctx)
	if err != nil {
		return fmt.Errorf("read the API server's clock: %w", err)
	}
	all, err := list(ctx, f)
	if err != nil {
		return err
	}
	if namespace := living(all, now, nil); namespace != "" {
		return beside(namespace)
	}
	for id := range all {
		term.Say(f.ErrOut, "Removing what a proof has left: namespace "+core.Namespace(id))
		left, err := remove(ctx, f, id)
		if err != nil {
			return err
		}
		for _, what := range left {
			f.Warn("it could not be removed: %s", what)
		}
	}
	return nil
}

// remove removes all that a proof has made, and returns what stays. Groups go first: a member alone does not go. The content of the
// copy goes last: it belongs to no namespace, and is found by its label until then.
func remove(ctx context.Context, f *term.Factory, id string) (left []string, err error) {
	name := core.Namespace(id)
	namespace, err := view.LookUp(ctx, f.Client, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if err != nil {
		return nil, err
	}
	if namespace != nil && core.Owner(namespace) == id {
		if err := removeGroups(ctx, f, name); err != nil {
			return nil, err
		}
		if namespace.DeletionTimestamp == nil {
			if err := client.IgnoreNotFound(f.Client.Delete(ctx, namespace, client.Preconditions{UID: &namespace.UID})); err != nil {
				return nil, err
			}
		}
		var stays []client.Object
		err := await(ctx, f, "namespace "+name, func() (int, error) {
			if stays, err = remaining(ctx, f, []client.Object{namespace}); len(stays) > 0 && err == nil {
				err = release(ctx, f, name)
			}
			return len(stays), err
		})
		if err != nil {
			return nil, err
		}
		if len(stays) > 0 {
			left = append(left, "Namespace "+name)
		}
	}
	if err := removeCopy(ctx, f, id); err != nil {
		return left, err
	}
	stays, err := storageOf(ctx, f, name)
	if err != nil {
		return left, err
	}
	err = await(ctx, f, "volumes and snapshots of "+name, func() (going int, err error) {
		stays, err = remaining(ctx, f, stays)
		for _, o := range stays {
			if policyOf(o) == string(corev1.PersistentVolumeReclaimDelete) {
				going++
			}
		}
		return going, err
	})
	for _, o := range stays {
		left = append(left, fmt.Sprintf("%s %s, with the policy %s", kindOf(o), o.GetName(), policyOf(o)))
	}
	return left, err
}

// release releases the snapshots of a namespace that are stuck, once it has no PVC that could be made from them.
func release(ctx context.Context, f *term.Factory, namespace string) error {
	claims, snapshots := &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{}
	err := errors.Join(f.List(ctx, claims, client.InNamespace(namespace)), f.List(ctx, snapshots, client.InNamespace(namespace)))
	for i := range snapshots.Items {
		if v := &snapshots.Items[i]; err == nil && len(claims.Items) == 0 && core.Stuck(v) {
			err = client.IgnoreNotFound(ignoreConflict(steps.Send(ctx, f, core.Release(v))))
		}
	}
	return err
}

// removeGroups removes the group snapshots of a namespace.
func removeGroups(ctx context.Context, f *term.Factory, namespace string) error {
	return await(ctx, f, "group snapshots of "+namespace, func() (int, error) {
		groups := &groupv1.VolumeGroupSnapshotList{}
		err := f.List(ctx, groups, client.InNamespace(namespace))
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
			return 0, nil
		}
		for i := range groups.Items {
			// One that goes before it is bound, or within a moment, leaves its data in the storage.
			v := &groups.Items[i]
			protected, bound := backup.Bound(v)
			settled := protected && bound && f.Clock.Since(v.CreationTimestamp.Time) > time.Minute
			if err == nil && v.DeletionTimestamp == nil && settled {
				err = ignoreConflict(steps.Send(ctx, f, change.Change{Delete: v}))
			}
		}
		return len(groups.Items), err
	})
}

// removeCopy removes the content of the copy, whose data was the snapshot's.
func removeCopy(ctx context.Context, f *term.Factory, id string) error {
	return await(ctx, f, "VolumeSnapshotContent of the copy", func() (left int, err error) {
		contents := &snapshotv1.VolumeSnapshotContentList{}
		if err := f.List(ctx, contents, client.MatchingLabels{v1alpha1.LabelProof: id}); err != nil {
			return 0, err
		}
		for i := range contents.Items {
			content := &contents.Items[i]
			if core.Owner(content) != id {
				continue
			}
			left++
			for _, one := range (&recovery.Clone{Name: content.Name, Namespace: core.Namespace(id), Content: content}).CleanUp().Changes {
				if err := ignoreConflict(steps.Send(ctx, f, one)); client.IgnoreNotFound(err) != nil {
					return left, err
				}
			}
		}
		return left, nil
	})
}

// storageOf returns the volumes and contents that are left of a namespace. Without it, there are no new ones.
func storageOf(ctx context.Context, f *term.Factory, namespace string) (all []client.Object, err error) {
	volumes, contents := &corev1.PersistentVolumeList{}, &snapshotv1.VolumeSnapshotContentList{}
	if err := errors.Join(f.List(ctx, volumes), f.List(ctx, contents)); err != nil {
		return nil, err
	}
	for i := range volumes.Items {
		if ref := volumes.Items[i].Spec.ClaimRef; ref != nil && ref.Namespace == namespace {
			all = append(all, &volumes.Items[i])
		}
	}
	for i := range contents.Items {
		if contents.Items[i].Spec.VolumeSnapshotRef.Namespace == namespace {
			all = append(all, &contents.Items[i])
		}
	}
	return all, nil
}

// remaining returns which of some objects still exist.
func remaining(ctx context.Context, f *term.Factory, all []client.Object) (left []client.Object, err error) {
	for _, o := range all {
		uid := o.GetUID()
		switch err := f.Client.Get(ctx, client.ObjectKeyFromObject(o), o); {
		case apierrors.IsNotFound(err) || err == nil && o.GetUID() != uid:
		case err != nil:
			return all, err
		default:
			left = append(left, o)
		}
	}
	return left, nil
}

// kindOf and policyOf say what an object of the storage is, and what becomes of its data.
func kindOf(o client.Object) string {
	if _, is := o.(*corev1.PersistentVolume); is {
		return "PersistentVolume"
	}
	return "VolumeSnapshotContent"
}

func policyOf(o client.Object) string {
	if v, is := o.(*corev1.PersistentVolume); is {
		return string(v.Spec.PersistentVolumeReclaimPolicy)
	}
	return string(o.(*snapshotv1.VolumeSnapshotContent).Spec.DeletionPolicy)
}

// await waits until nothing is left, or nothing more goes for some time.
func await(ctx context.Context, f *term.Factory, what string, count func() (int, error)) error {
	since, said, wait, before := f.Clock.Now(), f.Clock.Now(), term.ProgressAfter, 0
	for {
		left, err := count()
		switch {
		case left == 0 || err != nil:
			return err
		case left < before:
			since = f.Clock.Now()
		case f.Clock.Since(since) > goes:
			return nil
		}
		before = left
		if f.Clock.Since(said) >= wait {
			said, wait = f.Clock.Now(), term.ProgressEvery
			term.Say(f.ErrOut, fmt.Sprintf("Waiting until this is gone: %s (%d)", what, left))
		}
		if err := steps.Pause(ctx); err != nil {
			return err
		}
	}
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}
