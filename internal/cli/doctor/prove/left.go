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

const (
	// goes is how long a removal waits while nothing more goes: a refused delete is tried again within a minute or two.
	goes = 2 * time.Minute
	// settles is how old a group snapshot must be: one that goes before it is bound, or soon after, leaves its data in the storage.
	settles = time.Minute
	// atLeast is how long it looks at each part, even if another one does not go.
	atLeast = 20 * time.Second
)

// removal is the removal of what proofs have made.
type removal struct {
	f    *term.Factory
	goes time.Duration
	// since is when something went last.
	since time.Time
}

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
			f.Warn("%s has the label of a proof, but no proof has made it: it is left alone", o.GetName())
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
func removeDead(ctx context.Context, w *removal) error {
	f := w.f
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
		left, err := w.remove(ctx, id)
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
func (w *removal) remove(ctx context.Context, id string) (left []string, err error) {
	name := core.Namespace(id)
	namespace, err := view.LookUp(ctx, w.f.Client, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if err != nil {
		return nil, err
	}
	if namespace != nil && core.Owner(namespace) == id {
		stays, err := w.removeNamespace(ctx, namespace)
		if err != nil {
			return nil, err
		}
		if stays {
			left = append(left, "Namespace "+name)
		}
	}
	if err := w.removeCopy(ctx, id); err != nil {
		return left, err
	}
	stays, err := storageOf(ctx, w.f, name)
	if err != nil {
		return left, err
	}
	err = w.await(ctx, "volumes and snapshots of "+name, func() (going int, err error) {
		stays, err = remaining(ctx, w.f, stays)
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

// removeNamespace removes a namespace with all that is in it, and returns whether it stays.
func (w *removal) removeNamespace(ctx context.Context, namespace *corev1.Namespace) (stays bool, err error) {
	if err := w.removeGroups(ctx, namespace.Name); err != nil {
		return true, err
	}
	if namespace.DeletionTimestamp == nil {
		if err := client.IgnoreNotFound(w.f.Client.Delete(ctx, namespace, client.Preconditions{UID: &namespace.UID})); err != nil {
			return true, err
		}
	}
	err = w.await(ctx, "namespace "+namespace.Name, func() (int, error) {
		left, err := remaining(ctx, w.f, []client.Object{namespace})
		if stays = len(left) > 0; !stays || err != nil {
			return 0, err
		}
		within, err := release(ctx, w.f, namespace.Name)
		return 1 + within, err
	})
	return stays, err
}

// release releases the snapshots of a namespace that are stuck, once it has no PVC that could be made from them. It returns how many PVCs
// and snapshots there are.
func release(ctx context.Context, f *term.Factory, namespace string) (n int, err error) {
	claims, snapshots := &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{}
	err = errors.Join(f.List(ctx, claims, client.InNamespace(namespace)), f.List(ctx, snapshots, client.InNamespace(namespace)))
	for i := range snapshots.Items {
		if v := &snapshots.Items[i]; err == nil && len(claims.Items) == 0 && core.Stuck(v) {
			err = client.IgnoreNotFound(ignoreConflict(steps.Send(ctx, f, core.Release(v))))
		}
	}
	return len(claims.Items) + len(snapshots.Items), err
}

// removeGroups removes the group snapshots of a namespace.
func (w *removal) removeGroups(ctx context.Context, namespace string) error {
	f, began := w.f, w.f.Clock.Now()
	server, err := f.ServerTime(ctx)
	if err != nil {
		return fmt.Errorf("read the API server's clock: %w", err)
	}
	patient := &removal{f: f, goes: max(w.goes, settles+atLeast)} // also if the time is up
	return patient.await(ctx, "group snapshots of "+namespace, func() (int, error) {
		groups := &groupv1.VolumeGroupSnapshotList{}
		err := f.List(ctx, groups, client.InNamespace(namespace))
		if noGroups(err) {
			return 0, nil
		}
		for i := range groups.Items {
			v := &groups.Items[i]
			protected, bound := backup.Bound(v)
			settled := protected && bound && server.Add(f.Clock.Since(began)).Sub(v.CreationTimestamp.Time) > settles
			if err == nil && v.DeletionTimestamp == nil && settled {
				err = ignoreConflict(steps.Send(ctx, f, change.Change{Delete: v}))
			}
		}
		return len(groups.Items), err
	})
}

// removeCopy removes the content of the copy, whose data was the snapshot's.
func (w *removal) removeCopy(ctx context.Context, id string) error {
	f := w.f
	return w.await(ctx, "VolumeSnapshotContent of the copy", func() (left int, err error) {
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
	volumes := &corev1.PersistentVolumeList{}
	contents, groups := &snapshotv1.VolumeSnapshotContentList{}, &groupv1.VolumeGroupSnapshotContentList{}
	if err := errors.Join(f.List(ctx, volumes), f.List(ctx, contents)); err != nil {
		return nil, err
	}
	if err := f.List(ctx, groups); err != nil && !noGroups(err) {
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
	for i := range groups.Items {
		if groups.Items[i].Spec.VolumeGroupSnapshotRef.Namespace == namespace {
			all = append(all, &groups.Items[i])
		}
	}
	return all, nil
}

// noGroups returns whether there are no group snapshots, or none that the user may read, and so none of a proof.
func noGroups(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err)
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
	switch o.(type) {
	case *corev1.PersistentVolume:
		return "PersistentVolume"
	case *groupv1.VolumeGroupSnapshotContent:
		return "VolumeGroupSnapshotContent"
	}
	return "VolumeSnapshotContent"
}

func policyOf(o client.Object) string {
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		return string(o.Spec.PersistentVolumeReclaimPolicy)
	case *groupv1.VolumeGroupSnapshotContent:
		return string(o.Spec.DeletionPolicy)
	}
	return string(o.(*snapshotv1.VolumeSnapshotContent).Spec.DeletionPolicy)
}

// await waits until nothing is left, or nothing more goes for some time.
func (w *removal) await(ctx context.Context, what string, count func() (int, error)) error {
	began := w.f.Clock.Now()
	said, wait, before := began, term.ProgressAfter, 0
	if w.since.IsZero() {
		w.since = began
	}
	for {
		left, err := count()
		now := w.f.Clock.Now()
		switch {
		case err != nil:
			return err
		case left == 0:
			w.since = now
			return nil
		case left < before:
			w.since = now
		case now.Sub(w.since) > w.goes && now.Sub(began) > atLeast:
			return nil
		}
		before = left
		if now.Sub(said) >= wait {
			said, wait = now, term.ProgressEvery
			term.Say(w.f.ErrOut, fmt.Sprintf("Waiting until this is gone: %s (%d)", what, left))
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
