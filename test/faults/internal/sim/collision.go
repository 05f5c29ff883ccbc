// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// judgeNameCollision replaces the newest snapshot of a PVC by a foreign object of its name. The operator must report the collision for
// as long as that object exists, and take the snapshot once it is gone.
func (sc *scenario) judgeNameCollision() []oracle.Violation {
	v, s := sc.replaceable()
	if v == nil || sc.stopped {
		return nil
	}
	key := client.ObjectKeyFromObject(v)
	remove := func() {
		_, _ = sc.server.Update(kube.Snapshots, key, kube.NoRequest, func(o client.Object) error {
			o.SetFinalizers(nil)
			return nil
		})
		_ = sc.server.Delete(kube.Snapshots, key, metav1.DeleteOptions{}, kube.NoRequest)
	}
	remove()
	sc.createSnapshot(v.Name, v, sc.foreignController())
	sc.run(sc.now.Add(slack))

	f := &finalState{simulation: sc.simulation}
	claim := *v.Spec.Source.PersistentVolumeClaimName
	reported := slices.ContainsFunc(sc.schedule(s.Name).Status.Problems, func(p v1alpha1.Problem) bool {
		return p.PersistentVolumeClaim == claim && p.Reason == v1alpha1.ReasonNameCollision
	})
	if !reported {
		f.fail("a foreign object has the name of VolumeSnapshot %s, and the problems of SnapshotSchedule %s are %+v",
			v.Name, s.Name, sc.schedule(s.Name).Status.Problems)
	}
	f.expectReady(sc.schedule(s.Name), v1alpha1.ReasonSnapshotsFailing)

	remove()
	sc.run(sc.now.Add(slack))
	if again := sc.find(kube.Snapshots, v.Name); again == nil || !metav1.IsControlledBy(again, s) {
		f.fail("the name of VolumeSnapshot %s is free again, and the snapshot was not taken", v.Name)
	}
	return f.found
}

// replaceable finds a snapshot whose slot stays the latest one, and due, for long enough.
func (sc *scenario) replaceable() (*snapshotv1.VolumeSnapshot, *v1alpha1.SnapshotSchedule) {
	for _, v := range sc.snapshots() {
		ref := metav1.GetControllerOf(v)
		source := v.Spec.Source.PersistentVolumeClaimName
		if ref == nil || source == nil || v.DeletionTimestamp != nil || v.Labels[v1alpha1.LabelSchedule] != ref.Name {
			continue
		}
		s := sc.schedule(ref.Name)
		claim, _ := sc.find(kube.Claims, *source).(*corev1.PersistentVolumeClaim)
		if s != nil && s.UID == ref.UID && claim != nil && string(claim.UID) == v.Labels[v1alpha1.LabelMapKey] && sc.staysDue(v, s, claim) {
			return v, s
		}
	}
	return nil, nil
}

func (sc *scenario) staysDue(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) bool {
	then := sc.now.Add(3 * slack)
	spec, invalid := oracle.ReadSpec(&s.Spec)
	slot, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil || invalid != nil || s.Spec.Suspend || spec.Jitter > 0 || !selects(s, claim) ||
		claim.Status.Phase != corev1.ClaimBound || claim.DeletionTimestamp != nil {
		return false
	}
	for _, limit := range []time.Duration{spec.TTL, spec.StartingDeadline} {
		if limit > 0 && then.Sub(slot) >= limit {
			return false
		}
	}
	for _, o := range []client.Object{s, claim} {
		if _, requested := o.GetAnnotations()[v1alpha1.AnnotationRequestedAt]; requested {
			return false
		}
	}
	latest, ok := spec.LatestSlot(oracle.Anchor(s, claim), then)
	return ok && latest.Equal(slot)
}
