// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// driver is the snapshot controller, the CSI drivers and the PVC protection controller: it cuts snapshots, by the PVC's name, makes
// them ready, and removes finalizers.
type driver struct {
	*world
	// modes are by the name of the PVC.
	modes map[string]mode
	// recovered: no ready snapshot is lost any more.
	recovered bool
}

// mode is how a driver behaves for one PVC.
type mode int

const (
	healthy mode = iota
	// down: cuts nothing and removes nothing.
	down
	// failing: snapshots are in error once they are cut.
	failing
	// slow: uploads take hours or days.
	slow
	// losing: ready snapshots become unready after hours or days.
	losing
	// lying: the reported creation time is wrong.
	lying
	// terse: snapshots become ready without a creation time.
	terse
	modes
)

// Finalizers of the snapshot controller and of PVCs.
const (
	finalizerBound    = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
	finalizerSource   = "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"
	finalizerInUse    = "kubernetes.io/pvc-protection"
	retryAfterFailure = 40 * time.Minute
)

func (d *driver) observe(c kube.Change) {
	if c.After == nil {
		return
	}
	key, uid := client.ObjectKeyFromObject(c.After), c.After.GetUID()
	deleting := c.Before != nil && c.Before.GetDeletionTimestamp() == nil && c.After.GetDeletionTimestamp() != nil
	switch {
	case c.Kind == kube.Snapshots && c.Before == nil:
		d.later(time.Second, 20*time.Second, func() { d.take(key, uid) })
	case c.Kind == kube.Snapshots && deleting:
		d.later(time.Second, time.Minute, func() { d.remove(key, uid) })
	case c.Kind == kube.Claims && deleting:
		d.later(time.Second, time.Minute, func() { d.finishClaimDeletion(key, uid) })
	}
}

func (d *driver) later(least, most time.Duration, do func()) {
	d.after(between(d.rand, least, most), do)
}

// snapshot returns nil for one that is gone or being deleted.
func (d *driver) snapshot(key client.ObjectKey, uid types.UID) *snapshotv1.VolumeSnapshot {
	if o := d.server.Find(kube.Snapshots, key); o != nil && o.GetUID() == uid && o.GetDeletionTimestamp() == nil {
		return o.(*snapshotv1.VolumeSnapshot)
	}
	return nil
}

// take cuts a snapshot if it can, and retries otherwise.
func (d *driver) take(key client.ObjectKey, uid types.UID) {
	s := d.snapshot(key, uid)
	if s == nil {
		return
	}
	source := s.Spec.Source.PersistentVolumeClaimName
	if source == nil {
		d.bind(key, uid)
		return
	}
	claim, _ := d.find(kube.Claims, *source).(*corev1.PersistentVolumeClaim)
	if len(s.Finalizers) == 0 {
		d.edit(kube.Snapshots, key.Name, func(o client.Object) { o.SetFinalizers([]string{finalizerSource, finalizerBound}) })
	}
	if claim == nil || claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound || d.modes[*source] == down {
		if s.Status == nil {
			d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) { status.Error = problem("cannot take the snapshot") })
		}
		d.later(retryAfterFailure/2, retryAfterFailure, func() { d.take(key, uid) })
		return
	}
	d.cut(key, uid, d.modes[*source])
}

// bind makes an imported snapshot ready, or reports an error: some content is never found. Many drivers do not know when its data was
// taken.
func (d *driver) bind(key client.ObjectKey, uid types.UID) {
	if !d.recovered && oneIn(d.rand, 3) {
		d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) { status.Error = problem("the content is missing") })
		return
	}
	taken := metav1.NewTime(time.Now().Add(-between(d.rand, 0, 60*day)).Truncate(time.Second))
	d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) {
		if oneIn(d.rand, 2) {
			status.CreationTime = &taken
		}
		status.BoundVolumeSnapshotContentName = new("snapcontent-" + string(uid))
		status.ReadyToUse, status.Error = new(true), nil
	})
}

func (d *driver) cut(key client.ObjectKey, uid types.UID, m mode) {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	upload := between(d.rand, time.Second, 5*time.Minute)
	if m == slow {
		upload = between(d.rand, 2*time.Hour, 3*day)
	}
	d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) {
		status.BoundVolumeSnapshotContentName = new("snapcontent-" + string(uid))
		status.ReadyToUse, status.Error, status.CreationTime = new(m == terse), nil, &now
		switch m {
		case terse:
			status.CreationTime = nil
		case lying:
			status.CreationTime = new(metav1.NewTime(pick(d.rand, time.Unix(0, 0).UTC(),
				now.AddDate(-3, 0, 0), now.AddDate(1, 0, 0), now.Add(5*time.Hour), now.Add(-9*time.Hour))))
		case failing:
			status.Error = problem("the upload failed")
		}
	})
	switch m {
	case terse:
	case failing:
		d.later(retryAfterFailure/2, retryAfterFailure, func() { d.retry(key, uid) })
	default:
		d.later(upload, upload+time.Second, func() { d.finish(key, uid, m) })
	}
}

// retry ends an error once the driver is healthy.
func (d *driver) retry(key client.ObjectKey, uid types.UID) {
	switch s := d.snapshot(key, uid); {
	case s == nil:
	case d.modeOf(s) != healthy:
		d.later(retryAfterFailure/2, retryAfterFailure, func() { d.retry(key, uid) })
	default:
		d.finish(key, uid, healthy)
	}
}

// modeOf is healthy for an imported snapshot, which is of no PVC.
func (d *driver) modeOf(s *snapshotv1.VolumeSnapshot) mode {
	return d.modes[ptr.Deref(s.Spec.Source.PersistentVolumeClaimName, "")]
}

func (d *driver) finish(key client.ObjectKey, uid types.UID, m mode) {
	if d.snapshot(key, uid) == nil {
		return
	}
	d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) { status.ReadyToUse, status.Error = new(true), nil })
	if m == losing {
		d.later(6*time.Hour, 6*day, func() {
			if d.snapshot(key, uid) == nil || d.recovered {
				return
			}
			d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) {
				if status.ReadyToUse = new(false); oneIn(d.rand, 2) {
					status.Error = problem("the content is gone")
				}
			})
		})
	}
}

// recover ends all faults: lost, failed and slow snapshots become ready, and imported ones are bound.
func (d *driver) recover() {
	clear(d.modes)
	d.recovered = true
	for _, s := range d.snapshots() {
		key, uid := client.ObjectKeyFromObject(s), s.UID
		switch {
		case s.DeletionTimestamp != nil:
		case s.Spec.Source.VolumeSnapshotContentName != nil:
			d.bind(key, uid)
		case s.Status != nil && s.Status.CreationTime != nil && s.Status.ReadyToUse != nil && !*s.Status.ReadyToUse:
			d.later(time.Minute, 12*time.Hour, func() { d.finish(key, uid, healthy) })
		}
	}
}

// remove removes the finalizers of a snapshot that is being deleted, unless a PVC is being restored from it or its driver is down.
func (d *driver) remove(key client.ObjectKey, uid types.UID) {
	o := d.server.Find(kube.Snapshots, key)
	switch {
	case o == nil || o.GetUID() != uid:
	case d.restoring(key.Name) || d.modeOf(o.(*snapshotv1.VolumeSnapshot)) == down:
		d.later(retryAfterFailure/2, retryAfterFailure, func() { d.remove(key, uid) })
	default:
		d.edit(kube.Snapshots, key.Name, func(o client.Object) { o.SetFinalizers(nil) })
	}
}

// restoring returns whether a PVC is being restored from a snapshot.
func (w *world) restoring(snapshot string) bool {
	return slices.ContainsFunc(w.server.List(kube.Claims), func(o client.Object) bool {
		claim := o.(*corev1.PersistentVolumeClaim)
		ref := claim.Spec.DataSource
		return claim.Status.Phase == corev1.ClaimPending && ref != nil && ref.Name == snapshot
	})
}

// finishClaimDeletion removes the finalizers of a PVC that is being deleted, unless a snapshot of it has yet to be cut.
func (d *driver) finishClaimDeletion(key client.ObjectKey, uid types.UID) {
	claim := d.server.Find(kube.Claims, key)
	if claim == nil || claim.GetUID() != uid {
		return
	}
	pending := slices.ContainsFunc(d.snapshots(), func(s *snapshotv1.VolumeSnapshot) bool {
		source := s.Spec.Source.PersistentVolumeClaimName
		return source != nil && *source == key.Name && slices.Contains(s.Finalizers, finalizerSource) &&
			(s.Status == nil || s.Status.CreationTime == nil && s.Status.ReadyToUse == nil)
	})
	if pending {
		d.later(time.Minute, 5*time.Minute, func() { d.finishClaimDeletion(key, uid) })
		return
	}
	d.edit(kube.Claims, key.Name, func(o client.Object) { o.SetFinalizers(nil) })
}

// edit changes an object, if it is there.
func (w *world) edit(k kube.Kind, name string, change func(client.Object)) {
	_, err := w.server.Update(k, client.ObjectKey{Namespace: namespace, Name: name}, func(o client.Object) error {
		change(o)
		return nil
	})
	must(client.IgnoreNotFound(err))
}

func (d *driver) report(key client.ObjectKey, change func(*snapshotv1.VolumeSnapshotStatus)) {
	_, err := d.server.UpdateStatus(kube.Snapshots, key, func(o client.Object) error {
		s := o.(*snapshotv1.VolumeSnapshot)
		if s.Status == nil {
			s.Status = &snapshotv1.VolumeSnapshotStatus{}
		}
		change(s.Status)
		return nil
	})
	must(err)
}

func problem(text string) *snapshotv1.VolumeSnapshotError {
	return &snapshotv1.VolumeSnapshotError{Time: new(metav1.NewTime(time.Now().Truncate(time.Second))), Message: &text}
}

// collect is the garbage collector: some time after it has a reason to, it checks a snapshot whose owner is absent, or a schedule that
// is being deleted with one of its finalizers.
func (w *world) collect(c kube.Change) {
	check := func(uid types.UID, do func()) {
		if !w.collected[uid] {
			w.collected[uid] = true
			w.after(between(w.rand, 100*time.Millisecond, 40*time.Second), func() {
				delete(w.collected, uid)
				do()
			})
		}
	}
	dependent := func(o client.Object) {
		absent := func(ref metav1.OwnerReference) bool { return !w.server.Exists(ref.UID) }
		if o.GetDeletionTimestamp() == nil && slices.ContainsFunc(o.GetOwnerReferences(), absent) {
			key := client.ObjectKeyFromObject(o)
			check(o.GetUID(), func() { w.server.CollectDependent(kube.Snapshots, key) })
		}
	}
	var owner func(o client.Object)
	owner = func(o client.Object) {
		key := client.ObjectKeyFromObject(o)
		if slices.Contains(o.GetFinalizers(), kube.FinalizerOrphan) || slices.Contains(o.GetFinalizers(), kube.FinalizerForeground) {
			check(o.GetUID(), func() {
				if w.server.CollectOwner(kube.Schedules, key) {
					owner(o)
				}
			})
		}
	}
	switch {
	case c.Kind == kube.Schedules && c.After == nil:
		for _, o := range w.server.List(kube.Snapshots) {
			dependent(o)
		}
	case c.Kind == kube.Schedules && c.After.GetDeletionTimestamp() != nil:
		owner(c.After)
	case c.Kind == kube.Snapshots && c.After != nil:
		dependent(c.After)
	}
}
