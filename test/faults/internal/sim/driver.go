// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// driver is the snapshot controller, the CSI drivers and the PVC protection controller: it cuts snapshots, by the PVC's name, makes
// them ready, and removes finalizers.
type driver struct {
	sim *simulation
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

func (d *driver) observe(k kube.Kind, c history.Change) {
	if c.After == nil {
		return
	}
	key, uid := client.ObjectKeyFromObject(c.After), c.After.GetUID()
	created := c.Before == nil
	deleting := !created && beginsDeletion(c)
	switch {
	case k == kube.Snapshots && created:
		d.after(time.Second, 20*time.Second, func() { d.take(key, uid) })
	case k == kube.Snapshots && deleting:
		d.after(time.Second, time.Minute, func() { d.remove(key, uid) })
	case k == kube.Claims && deleting:
		d.after(time.Second, time.Minute, func() { d.finishClaimDeletion(key, uid) })
	}
}

func (d *driver) after(least, most time.Duration, do func()) {
	d.sim.after(between(d.sim.timingRand, least, most), do)
}

func (d *driver) snapshot(key client.ObjectKey, uid types.UID) *snapshotv1.VolumeSnapshot {
	if o := d.sim.server.Find(kube.Snapshots, key); o != nil && o.GetUID() == uid {
		return o.(*snapshotv1.VolumeSnapshot)
	}
	return nil
}

// take cuts a snapshot if it can, and retries otherwise.
func (d *driver) take(key client.ObjectKey, uid types.UID) {
	s := d.snapshot(key, uid)
	if s == nil || s.DeletionTimestamp != nil {
		return
	}
	source := s.Spec.Source.PersistentVolumeClaimName
	if source == nil {
		d.bind(key, uid)
		return
	}
	claim, _ := d.sim.server.Find(kube.Claims, client.ObjectKey{Namespace: key.Namespace, Name: *source}).(*corev1.PersistentVolumeClaim)
	if len(s.Finalizers) == 0 {
		d.edit(key, func(o client.Object) { o.SetFinalizers([]string{finalizerSource, finalizerBound}) })
	}
	retry := func() { d.after(retryAfterFailure/2, retryAfterFailure, func() { d.take(key, uid) }) }
	if claim == nil || claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound || d.modes[*source] == down {
		if s.Status == nil {
			d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) { status.Error = d.problem("cannot take the snapshot") })
		}
		retry()
		return
	}
	d.cut(key, uid, d.modes[*source])
}

// modeOf is healthy for an imported snapshot, which is of no PVC.
func (d *driver) modeOf(s *snapshotv1.VolumeSnapshot) mode {
	return d.modes[ptr.Deref(s.Spec.Source.PersistentVolumeClaimName, "")]
}

// bind makes an imported snapshot ready, or reports an error: some content is never found. Many drivers do not know when its data was
// taken.
func (d *driver) bind(key client.ObjectKey, uid types.UID) {
	if !d.recovered && oneIn(d.sim.timingRand, 3) {
		d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) { status.Error = d.problem("the content is missing") })
		return
	}
	taken := metav1.NewTime(d.sim.now.Add(-between(d.sim.timingRand, 0, 60*24*time.Hour)).Truncate(time.Second))
	d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) {
		if oneIn(d.sim.timingRand, 2) {
			status.CreationTime = &taken
		}
		status.BoundVolumeSnapshotContentName = new("snapcontent-" + string(uid))
		status.ReadyToUse, status.Error = new(true), nil
	})
}

func (d *driver) cut(key client.ObjectKey, uid types.UID, m mode) {
	now := metav1.NewTime(d.sim.now.Truncate(time.Second))
	upload := between(d.sim.timingRand, time.Second, 5*time.Minute)
	if m == slow {
		upload = between(d.sim.timingRand, 2*time.Hour, 3*24*time.Hour)
	}
	d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) {
		status.BoundVolumeSnapshotContentName = new("snapcontent-" + string(uid))
		status.ReadyToUse = new(false)
		status.Error = nil
		switch m {
		case terse:
			status.ReadyToUse = new(true)
		case lying:
			at := metav1.NewTime(pick(d.sim.timingRand, time.Unix(0, 0).UTC(),
				now.AddDate(-3, 0, 0), now.AddDate(1, 0, 0), now.Add(5*time.Hour), now.Add(-9*time.Hour)))
			status.CreationTime = &at
		default:
			status.CreationTime = &now
		}
		if m == failing {
			status.Error = d.problem("the upload failed")
		}
	})
	switch m {
	case terse:
	case failing:
		d.after(retryAfterFailure/2, retryAfterFailure, func() { d.retry(key, uid) })
	default:
		d.after(upload, upload+time.Second, func() { d.finish(key, uid, m) })
	}
}

// retry ends an error once the driver is healthy.
func (d *driver) retry(key client.ObjectKey, uid types.UID) {
	s := d.snapshot(key, uid)
	switch {
	case s == nil || s.DeletionTimestamp != nil:
	case d.modeOf(s) != healthy:
		d.after(retryAfterFailure/2, retryAfterFailure, func() { d.retry(key, uid) })
	default:
		d.finish(key, uid, healthy)
	}
}

func (d *driver) finish(key client.ObjectKey, uid types.UID, m mode) {
	if s := d.snapshot(key, uid); s == nil || s.DeletionTimestamp != nil {
		return
	}
	d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) { status.ReadyToUse, status.Error = new(true), nil })
	if m == losing {
		d.after(6*time.Hour, 6*24*time.Hour, func() { d.lose(key, uid) })
	}
}

func (d *driver) lose(key client.ObjectKey, uid types.UID) {
	if s := d.snapshot(key, uid); s == nil || s.DeletionTimestamp != nil || d.recovered {
		return
	}
	d.report(key, func(status *snapshotv1.VolumeSnapshotStatus) {
		status.ReadyToUse = new(false)
		if oneIn(d.sim.timingRand, 2) {
			status.Error = d.problem("the content is gone")
		}
	})
}

// recover ends all faults: lost, failed and slow snapshots become ready, and imported ones are bound.
func (d *driver) recover() {
	clear(d.modes)
	d.recovered = true
	for _, o := range d.sim.server.List(kube.Snapshots) {
		s := o.(*snapshotv1.VolumeSnapshot)
		if s.Spec.Source.VolumeSnapshotContentName != nil && s.DeletionTimestamp == nil {
			d.bind(client.ObjectKeyFromObject(s), s.UID)
			continue
		}
		if s.Status != nil && s.Status.CreationTime != nil && s.Status.ReadyToUse != nil && !*s.Status.ReadyToUse {
			key, uid := client.ObjectKeyFromObject(s), s.UID
			d.after(time.Minute, 12*time.Hour, func() { d.finish(key, uid, healthy) })
		}
	}
}

// remove removes the finalizers of a snapshot that is being deleted, unless a PVC is being restored from it or its driver is down.
func (d *driver) remove(key client.ObjectKey, uid types.UID) {
	s := d.snapshot(key, uid)
	if s == nil {
		return
	}
	if d.restoring(key) || d.modeOf(s) == down {
		d.after(retryAfterFailure/2, retryAfterFailure, func() { d.remove(key, uid) })
		return
	}
	d.edit(key, func(o client.Object) { o.SetFinalizers(nil) })
}

func (d *driver) restoring(key client.ObjectKey) bool {
	return slices.ContainsFunc(d.sim.server.List(kube.Claims), func(o client.Object) bool {
		claim := o.(*corev1.PersistentVolumeClaim)
		ref := claim.Spec.DataSource
		return claim.Namespace == key.Namespace && claim.Status.Phase == corev1.ClaimPending && ref != nil && ref.Name == key.Name
	})
}

// finishClaimDeletion removes the finalizers of a PVC that is being deleted, unless a snapshot of it has yet to be cut.
func (d *driver) finishClaimDeletion(key client.ObjectKey, uid types.UID) {
	claim := d.sim.server.Find(kube.Claims, key)
	if claim == nil || claim.GetUID() != uid {
		return
	}
	pending := slices.ContainsFunc(d.sim.server.List(kube.Snapshots), func(o client.Object) bool {
		s := o.(*snapshotv1.VolumeSnapshot)
		source := s.Spec.Source.PersistentVolumeClaimName
		return s.Namespace == key.Namespace && source != nil && *source == key.Name && slices.Contains(s.Finalizers, finalizerSource) &&
			(s.Status == nil || s.Status.CreationTime == nil && s.Status.ReadyToUse == nil)
	})
	if pending {
		d.after(time.Minute, 5*time.Minute, func() { d.finishClaimDeletion(key, uid) })
		return
	}
	_, _ = d.sim.server.Update(kube.Claims, key, kube.NoRequest, func(o client.Object) error {
		o.SetFinalizers(nil)
		return nil
	})
}

func (d *driver) edit(key client.ObjectKey, change func(client.Object)) {
	_, _ = d.sim.server.Update(kube.Snapshots, key, kube.NoRequest, func(o client.Object) error {
		change(o)
		return nil
	})
}

func (d *driver) report(key client.ObjectKey, change func(*snapshotv1.VolumeSnapshotStatus)) {
	_, _ = d.sim.server.UpdateStatus(kube.Snapshots, key, kube.NoRequest, func(o client.Object) error {
		s := o.(*snapshotv1.VolumeSnapshot)
		if s.Status == nil {
			s.Status = &snapshotv1.VolumeSnapshotStatus{}
		}
		change(s.Status)
		return nil
	})
}

func (d *driver) problem(text string) *snapshotv1.VolumeSnapshotError {
	now := metav1.NewTime(d.sim.now.Truncate(time.Second))
	return &snapshotv1.VolumeSnapshotError{Time: &now, Message: &text}
}

func beginsDeletion(c history.Change) bool {
	return c.After != nil && c.After.GetDeletionTimestamp() != nil && c.Before.GetDeletionTimestamp() == nil
}
