// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// collide puts someone else's object in the place of the newest snapshot of a
// PVC, whose slot is due then. The operator must say so for as long as it is
// there, and take the snapshot once it is gone.
func (l *life) collide() []oracle.Violation {
	v, s := l.replaceable()
	if v == nil || l.stopped {
		return nil
	}
	key := client.ObjectKeyFromObject(v)
	vanish := func() {
		_, _ = l.server.Update(kube.Snapshots, key, kube.Someone, func(o client.Object) error {
			o.SetFinalizers(nil)
			return nil
		})
		_ = l.server.Delete(kube.Snapshots, key, metav1.DeleteOptions{}, kube.Someone)
	}
	vanish()
	l.createSnapshot(v.Name, v.Labels, v.Annotations, v.Spec, []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Namespace", Name: l.namespace, UID: l.namespaceUID, Controller: new(true),
	}})
	l.run(l.now.Add(slack))

	e := &end{world: l.world}
	claim := *v.Spec.Source.PersistentVolumeClaimName
	told := slices.ContainsFunc(l.schedule(s.Name).Status.Problems, func(p v1alpha1.Problem) bool {
		return p.PersistentVolumeClaim == claim && p.Reason == v1alpha1.ReasonNameCollision
	})
	if !told {
		e.fail("the name of VolumeSnapshot %s is taken by another's, and SnapshotSchedule %s says problems %+v",
			v.Name, s.Name, l.schedule(s.Name).Status.Problems)
	}
	e.expectReady(l.schedule(s.Name), v1alpha1.ReasonSnapshotsFailing)

	vanish()
	l.run(l.now.Add(slack))
	if again := l.find(kube.Snapshots, v.Name); again == nil || !metav1.IsControlledBy(again, s) {
		e.fail("the name of VolumeSnapshot %s is free again, and the snapshot was not taken", v.Name)
	}
	return e.found
}

// replaceable finds a snapshot that serves a slot that goes on to be the newest
// and to be due for long enough.
func (l *life) replaceable() (*snapshotv1.VolumeSnapshot, *v1alpha1.SnapshotSchedule) {
	for _, o := range l.server.List(kube.Snapshots) {
		v := o.(*snapshotv1.VolumeSnapshot)
		ref := metav1.GetControllerOf(v)
		source := v.Spec.Source.PersistentVolumeClaimName
		if ref == nil || source == nil || v.DeletionTimestamp != nil || v.Labels[v1alpha1.LabelSchedule] != ref.Name {
			continue
		}
		s := l.schedule(ref.Name)
		claim, _ := l.find(kube.Claims, *source).(*corev1.PersistentVolumeClaim)
		if s != nil && s.UID == ref.UID && claim != nil && string(claim.UID) == v.Labels[v1alpha1.LabelMapKey] && l.staysDue(v, s, claim) {
			return v, s
		}
	}
	return nil, nil
}

func (l *life) staysDue(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) bool {
	const long = 3 * slack
	rule, valid := ruleOf(&s.Spec)
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.Selector)
	must(err)
	slot, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil || !valid || s.Spec.Suspend || rule.jitter > 0 || !selector.Matches(labels.Set(claim.Labels)) ||
		claim.Status.Phase != corev1.ClaimBound || claim.DeletionTimestamp != nil {
		return false
	}
	for _, limit := range []v1alpha1.Duration{s.Spec.SnapshotTTL, s.Spec.StartingDeadline} {
		if limit != "" && l.now.Add(long).Sub(slot) >= lengthOf(limit) {
			return false
		}
	}
	for _, o := range []client.Object{s, claim} {
		if _, asked := o.GetAnnotations()[v1alpha1.AnnotationRequestedAt]; asked {
			return false
		}
	}
	anchor := s.CreationTimestamp.Time
	if claim.CreationTimestamp.After(anchor) {
		anchor = claim.CreationTimestamp.Time
	}
	then, ok := rule.last(l.now.Add(long), anchor)
	return ok && then.Equal(slot)
}
