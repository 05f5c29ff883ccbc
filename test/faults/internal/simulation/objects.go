// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// What users do to PVCs and snapshots.

const appLabel = "app"

// createClaim creates a PVC, which is bound after some time: with a source, a snapshot, mostly much later.
func (u *users) createClaim(name, source string) {
	if u.claim(name) != nil {
		return
	}
	c := newClaim(name, source)
	c.Labels, c.Finalizers = map[string]string{appLabel: pick(u.r, "a", "a", "b")}, []string{finalizerInUse}
	created := u.create(c).(*corev1.PersistentVolumeClaim)
	if source != "" || oneIn(u.r, 6) {
		later(&u.driver, time.Minute, 3*day, created, u.bindClaim)
	} else {
		later(&u.driver, time.Second, time.Minute, created, u.bindClaim)
	}
}

// newClaim returns a PVC. With a source, it is restored from that snapshot.
func newClaim(name, source string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if source != "" {
		group := new(snapshotv1.GroupName)
		c.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: group, Kind: "VolumeSnapshot", Name: source}
		c.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: group, Kind: "VolumeSnapshot", Name: source}
	}
	return c
}

func (w *world) bindClaim(c *corev1.PersistentVolumeClaim) {
	w.editStatus(kube.Claims, c.Name, func(o client.Object) { o.(*corev1.PersistentVolumeClaim).Status.Phase = corev1.ClaimBound })
}

func (u *users) deleteClaim() {
	name := u.anyClaim()
	u.delete(kube.Claims, name)
	if oneIn(u.r, 2) { // and creates it again soon, under the same name
		u.later(between(u.r, time.Second, 2*time.Hour), func(u *users) { u.createClaim(name, "") })
	}
}

func (u *users) recreateClaims() {
	for _, name := range u.claimNames {
		u.createClaim(name, "")
	}
}

// relabelClaim takes a PVC out of a schedule or back in, half of the time for a while only.
func (u *users) relabelClaim() {
	c := u.claim(u.anyClaim())
	if c == nil {
		return
	}
	relabel := func(value string) {
		u.edit(kube.Claims, c.Name, func(o client.Object) { o.SetLabels(map[string]string{appLabel: value}) })
	}
	relabel(pick(u.r, "a", "b", "none"))
	if oneIn(u.r, 2) {
		u.later(between(u.r, time.Second, 40*time.Hour), func(*users) { relabel(c.Labels[appLabel]) })
	}
}

// restore creates a PVC from a snapshot, and deletes it after some time.
func (u *users) restore(s *snapshotv1.VolumeSnapshot) {
	name := pick(u.r, "restored", "restored-again")
	u.createClaim(name, s.Name)
	u.later(between(u.r, time.Hour, 6*day), func(u *users) { u.delete(kube.Claims, name) })
}

// requestNow asks for a snapshot, of all PVCs of a schedule or of some of them, by a clock that may be wrong, or in a malformed way. On a
// PVC the request must be ignored.
func (u *users) requestNow() {
	at := time.Now().Add(pick(u.r, 0, 0, -time.Minute, 3*time.Hour, -20*day)).UTC().Format(time.RFC3339)
	if oneIn(u.r, 6) {
		at = "now"
	}
	k, name := kube.Schedules, u.anySchedule()
	switch u.r.IntN(4) {
	case 0:
		at += " " + u.anyClaim()
	case 1:
		at += " none," + strings.Join(u.claimNames[u.r.IntN(len(u.claimNames)):], ",")
	case 2:
		k, name = kube.Claims, u.anyClaim()
	}
	u.annotate(k, name, v1alpha1.AnnotationRequestedAt, at)
}

func (u *users) annotate(k kube.Kind, name, key, value string) {
	u.edit(k, name, func(o client.Object) {
		annotations := map[string]string{}
		maps.Copy(annotations, o.GetAnnotations())
		annotations[key] = value
		o.SetAnnotations(annotations)
	})
}

func (u *users) hold(s *snapshotv1.VolumeSnapshot) {
	u.annotate(kube.Snapshots, s.Name, v1alpha1.AnnotationHold, "")
}

func (u *users) removeHolds() {
	for _, s := range u.snapshots() {
		u.edit(kube.Snapshots, s.Name, func(o client.Object) { delete(o.GetAnnotations(), v1alpha1.AnnotationHold) })
	}
}

// release takes a snapshot out of its schedule, in one of the ways that a user has.
func (u *users) release(s *snapshotv1.VolumeSnapshot) {
	if s.Labels[v1alpha1.LabelMapKey] == "" {
		return
	}
	way := u.r.IntN(4)
	u.edit(kube.Snapshots, s.Name, func(o client.Object) {
		switch labels := o.GetLabels(); way {
		case 0, 1:
			delete(labels, v1alpha1.LabelMapKey)
		case 2:
			labels[v1alpha1.LabelMapKey] = ""
		case 3:
			labels[v1alpha1.LabelSchedule] = "another"
		}
	})
}

// recreateSnapshot is a backup tool that restores a snapshot after its deletion, without a controller: an orphan.
func (u *users) recreateSnapshot(s *snapshotv1.VolumeSnapshot) {
	u.later(between(u.r, time.Hour, 10*day), func(u *users) { u.createSnapshot(s.Name, s, nil) })
}

// importSnapshot makes a snapshot of data which exists only in the storage: a series gets one without a controller, with the slot of one
// of its snapshots, with a slot of its own in the past, or with none.
func (u *users) importSnapshot(like *snapshotv1.VolumeSnapshot) {
	name, imported := "imported-"+stamp(), like.DeepCopy()
	switch u.r.IntN(3) {
	case 0:
		imported.Annotations = nil
	case 1:
		at := time.Now().Add(-between(u.r, 0, 90*day)).UTC().Format(time.RFC3339)
		imported.Annotations = map[string]string{v1alpha1.AnnotationScheduledAt: at}
	}
	imported.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: &name}
	u.createSnapshot(name, imported, nil)
}

// copyForeign creates a snapshot with the labels of another, which an object of another kind controls.
func (u *users) copyForeign(s *snapshotv1.VolumeSnapshot) {
	u.createSnapshot("foreign-"+stamp(), s, []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Namespace", Name: kube.Namespace, UID: "another", Controller: new(true)},
	})
}

func stamp() string { return time.Now().UTC().Format("0102150405") }

func (w *world) createSnapshot(name string, like *snapshotv1.VolumeSnapshot, owners []metav1.OwnerReference) {
	if w.server.Find(kube.Snapshots, name) != nil {
		return
	}
	annotations := maps.Clone(like.Annotations)
	delete(annotations, v1alpha1.AnnotationHold)
	w.create(&snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: like.Labels, Annotations: annotations, OwnerReferences: owners}, Spec: like.Spec,
	})
}

// deleteStuck deletes the newest snapshots of a PVC whose driver is down: they stay, terminating, and count for nothing.
func (u *users) deleteStuck() {
	name := u.anyClaim()
	u.driver.modes[name] = down
	u.deleteNewest(name)
}

func (u *users) deleteNewest(claim string) {
	n := 1 + u.r.IntN(3)
	for _, s := range slices.Backward(u.snapshots()) { // by name, and so by slot
		if n > 0 && strings.HasPrefix(s.Name, claim+"-") {
			u.delete(kube.Snapshots, s.Name)
			n--
		}
	}
}
