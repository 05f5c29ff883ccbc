// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// keeping: refuses to delete, as where snapshots have clones.
	keeping
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
	finalizerBound  = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
	finalizerSource = "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"
	finalizerInUse  = "kubernetes.io/pvc-protection"
)

func (d *driver) observe(c kube.Change) {
	if c.After == nil {
		return
	}
	deleting := c.Before != nil && c.Before.GetDeletionTimestamp() == nil && c.After.GetDeletionTimestamp() != nil
	switch o := c.After.(type) {
	case *snapshotv1.VolumeSnapshot:
		switch {
		case slices.Contains(o.Finalizers, finalizerInGroup): // it comes and goes with its group
		case c.Before == nil:
			later(d, time.Second, 20*time.Second, o, d.take)
		case deleting:
			later(d, time.Second, time.Minute, o, d.remove)
		}
	case *groupv1.VolumeGroupSnapshot:
		if c.Before == nil {
			later(d, time.Second, 20*time.Second, o, d.takeGroup)
		} else if deleting {
			later(d, time.Second, time.Minute, o, d.removeGroup)
		}
	case *corev1.PersistentVolumeClaim:
		if deleting {
			later(d, time.Second, time.Minute, o, d.finishClaimDeletion)
		}
	}
}

// later does something with an object after a while, unless it has been removed by then, or its deletion has begun.
func later[T client.Object](d *driver, least, most time.Duration, o T, do func(T)) {
	k := kube.KindOf(o)
	d.after(between(d.rand, least, most), func() {
		now, ok := d.server.Find(k, o.GetName()).(T)
		if ok && now.GetUID() == o.GetUID() && (now.GetDeletionTimestamp() == nil) == (o.GetDeletionTimestamp() == nil) {
			do(now)
		}
	})
}

func (d *driver) retry(s *snapshotv1.VolumeSnapshot, do func(*snapshotv1.VolumeSnapshot)) {
	later(d, 20*time.Minute, 40*time.Minute, s, do)
}

// take cuts a snapshot if it can, and retries otherwise.
func (d *driver) take(s *snapshotv1.VolumeSnapshot) {
	source := s.Spec.Source.PersistentVolumeClaimName
	if source == nil {
		d.bind(s)
		return
	}
	if len(s.Finalizers) == 0 {
		d.edit(kube.Snapshots, s.Name, func(o client.Object) { o.SetFinalizers([]string{finalizerSource, finalizerBound}) })
	}
	claim := d.claim(*source)
	if claim == nil || claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound || d.modes[*source] == down {
		if s.Status == nil {
			d.report(s, func(status *snapshotv1.VolumeSnapshotStatus) { status.Error = problem("cannot take the snapshot") })
		}
		d.retry(s, d.take)
		return
	}
	d.cut(s, d.modes[*source])
}

// bind makes an imported snapshot ready, or reports an error: some content is never found. Many drivers do not know when its data was
// taken.
func (d *driver) bind(s *snapshotv1.VolumeSnapshot) {
	if !d.recovered && oneIn(d.rand, 3) {
		d.report(s, func(status *snapshotv1.VolumeSnapshotStatus) { status.Error = problem("the content is missing") })
		return
	}
	taken := metav1.NewTime(time.Now().Add(-between(d.rand, 0, 60*day)).Truncate(time.Second))
	d.report(s, func(status *snapshotv1.VolumeSnapshotStatus) {
		if oneIn(d.rand, 2) {
			status.CreationTime = &taken
		}
		status.BoundVolumeSnapshotContentName = new("snapcontent-" + string(s.UID))
		status.ReadyToUse, status.Error = new(true), nil
	})
}

func (d *driver) cut(s *snapshotv1.VolumeSnapshot, m mode) {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	d.report(s, func(status *snapshotv1.VolumeSnapshotStatus) {
		status.BoundVolumeSnapshotContentName = new("snapcontent-" + string(s.UID))
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
	finish := func(s *snapshotv1.VolumeSnapshot) { d.finish(s, m) }
	switch m {
	case terse:
	case failing:
		d.retry(s, d.endError)
	case slow:
		later(d, 2*time.Hour, 3*day, s, finish)
	default:
		later(d, time.Second, 5*time.Minute, s, finish)
	}
}

// endError ends the error of a snapshot once its driver is healthy. An imported one is of no PVC.
func (d *driver) endError(s *snapshotv1.VolumeSnapshot) {
	if d.modes[ptr.Deref(s.Spec.Source.PersistentVolumeClaimName, "")] != healthy {
		d.retry(s, d.endError)
		return
	}
	d.finish(s, healthy)
}

func (d *driver) finish(s *snapshotv1.VolumeSnapshot, m mode) {
	d.report(s, func(status *snapshotv1.VolumeSnapshotStatus) { status.ReadyToUse, status.Error = new(true), nil })
	if m == losing {
		later(d, 6*time.Hour, 6*day, s, d.lose)
	}
}

func (d *driver) lose(s *snapshotv1.VolumeSnapshot) {
	if d.recovered {
		return
	}
	d.report(s, func(status *snapshotv1.VolumeSnapshotStatus) {
		if status.ReadyToUse = new(false); oneIn(d.rand, 2) {
			status.Error = problem("the content is gone")
		}
	})
}

// recover ends all faults: lost, failed and slow snapshots become ready, and imported ones are bound.
func (d *driver) recover() {
	clear(d.modes)
	d.recovered = true
	d.recoverGroups()
	for _, s := range d.snapshots() {
		switch {
		case s.DeletionTimestamp != nil, slices.Contains(s.Finalizers, finalizerInGroup):
		case s.Spec.Source.VolumeSnapshotContentName != nil:
			d.bind(s)
		case s.Status != nil && s.Status.CreationTime != nil && s.Status.ReadyToUse != nil && !*s.Status.ReadyToUse:
			later(d, time.Minute, 12*time.Hour, s, func(s *snapshotv1.VolumeSnapshot) { d.finish(s, healthy) })
		}
	}
}

// remove removes the finalizers of a snapshot that is being deleted, unless its driver does not delete it.
func (d *driver) remove(s *snapshotv1.VolumeSnapshot) {
	if d.keeps(s) {
		d.retry(s, d.remove)
		return
	}
	d.edit(kube.Snapshots, s.Name, func(o client.Object) { o.SetFinalizers(nil) })
}

// keeps returns whether a snapshot is not deleted now: a PVC is being restored from it, or its driver is down or refuses.
func (d *driver) keeps(s *snapshotv1.VolumeSnapshot) bool {
	m := d.modes[ptr.Deref(s.Spec.Source.PersistentVolumeClaimName, "")]
	return d.restoring(s.Name) || m == down || m == keeping && isCut(s)
}

// isCut returns whether a snapshot holds data.
func isCut(s *snapshotv1.VolumeSnapshot) bool {
	return isReadyToUse(s) || s.Status != nil && s.Status.CreationTime != nil || s.Spec.Source.VolumeSnapshotContentName != nil
}

func isReadyToUse(s *snapshotv1.VolumeSnapshot) bool {
	return s.Status != nil && ptr.Deref(s.Status.ReadyToUse, false)
}

// restoring returns whether a PVC is being restored from a snapshot.
func (w *world) restoring(snapshot string) bool {
	return slices.ContainsFunc(w.server.List(kube.Claims), func(c client.Object) bool { return isRestoring(c, snapshot) })
}

// finishClaimDeletion removes the finalizers of a PVC that is being deleted, unless a snapshot of it is not ready, cut or not.
func (d *driver) finishClaimDeletion(c *corev1.PersistentVolumeClaim) {
	if slices.ContainsFunc(d.snapshots(), func(s *snapshotv1.VolumeSnapshot) bool { return keepsClaim(s, c) }) {
		later(d, time.Minute, 5*time.Minute, c, d.finishClaimDeletion)
		return
	}
	d.edit(kube.Claims, c.Name, func(o client.Object) { o.SetFinalizers(nil) })
}

// keepsClaim returns whether a snapshot keeps its PVC from being deleted. A member of a group snapshot does not: nobody protects its source.
func keepsClaim(s *snapshotv1.VolumeSnapshot, c *corev1.PersistentVolumeClaim) bool {
	return ptr.Deref(s.Spec.Source.PersistentVolumeClaimName, "") == c.Name && slices.Contains(s.Finalizers, finalizerSource) && !isReadyToUse(s)
}

func (d *driver) report(s *snapshotv1.VolumeSnapshot, change func(*snapshotv1.VolumeSnapshotStatus)) {
	d.editStatus(kube.Snapshots, s.Name, func(o client.Object) {
		s := o.(*snapshotv1.VolumeSnapshot)
		if s.Status == nil {
			s.Status = &snapshotv1.VolumeSnapshotStatus{}
		}
		change(s.Status)
	})
}

func problem(text string) *snapshotv1.VolumeSnapshotError {
	return &snapshotv1.VolumeSnapshotError{Time: new(metav1.NewTime(time.Now().Truncate(time.Second))), Message: &text}
}

// collect is the garbage collector: some time after a change it does its work for the object, for schedules, which may wait for it, and
// after a removal for all that may have belonged to it.
func (d *driver) collect(c kube.Change) {
	candidates := append(d.objects(), d.server.List(kube.Groups)...)
	if c.After != nil {
		candidates = append(d.server.List(kube.Schedules), c.After)
	}
	for _, o := range candidates {
		if d.server.IsGarbage(o) {
			later(d, 100*time.Millisecond, 40*time.Second, o, d.server.Collect)
		}
	}
}
