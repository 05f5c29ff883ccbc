// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"maps"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// What users and backup tools do to snapshots.

func (sc *scenario) deleteSnapshot() {
	if s := sc.anySnapshot(); s != nil {
		sc.delete(kube.Snapshots, s.Name)
	}
}

func (sc *scenario) holdSnapshot() {
	if s := sc.anySnapshot(); s != nil {
		sc.annotate(kube.Snapshots, s.Name, hold)
	}
}

func hold(annotations map[string]string) { annotations[v1alpha1.AnnotationHold] = "" }

func (sc *scenario) removeHolds() {
	for _, o := range sc.server.List(kube.Snapshots) {
		if _, held := o.GetAnnotations()[v1alpha1.AnnotationHold]; held {
			sc.annotate(kube.Snapshots, o.GetName(), func(all map[string]string) { delete(all, v1alpha1.AnnotationHold) })
		}
	}
}

// releaseSnapshot takes a snapshot out of its schedule, in one of the ways that a user has.
func (sc *scenario) releaseSnapshot() {
	s := sc.anySnapshot()
	if s == nil || s.Labels[v1alpha1.LabelMapKey] == "" {
		return
	}
	way := sc.actionRand.IntN(4)
	sc.edit(kube.Snapshots, s.Name, func(o client.Object) {
		labels := maps.Clone(o.GetLabels())
		switch way {
		case 0, 1:
			delete(labels, v1alpha1.LabelMapKey)
		case 2:
			labels[v1alpha1.LabelMapKey] = ""
		case 3:
			labels[v1alpha1.LabelSchedule] = "another"
		}
		o.SetLabels(labels)
	})
}

// recreateSnapshot is a backup tool that restores a snapshot after its deletion, without a controller: an orphan.
func (sc *scenario) recreateSnapshot() {
	s := sc.anySnapshot()
	if s == nil {
		return
	}
	sc.later(between(sc.actionRand, time.Hour, 10*24*time.Hour), func() {
		if sc.find(kube.Snapshots, s.Name) == nil {
			sc.createSnapshot(s.Name, s, nil)
		}
	})
}

// importSnapshot is a user or a backup tool that makes a snapshot of data which exists only in the storage: a series gets one without a
// controller, with the slot of one of its snapshots, with a slot of its own in the past, or with none.
func (sc *scenario) importSnapshot() {
	like := sc.anySnapshot()
	name := "imported-" + sc.now.Format("0102150405")
	if like == nil || sc.find(kube.Snapshots, name) != nil {
		return
	}
	annotations := maps.Clone(like.Annotations)
	switch sc.actionRand.IntN(3) {
	case 0:
		annotations = nil
	case 1:
		annotations = map[string]string{v1alpha1.AnnotationScheduledAt: sc.now.Add(-between(sc.actionRand, 0, 90*24*time.Hour)).Format(time.RFC3339)}
	}
	imported := like.DeepCopy()
	imported.Annotations, imported.Spec.Source = annotations, snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: &name}
	sc.createSnapshot(name, imported, nil)
}

// createForeignSnapshot copies a snapshot, labels included, under another controller.
func (sc *scenario) createForeignSnapshot() {
	s := sc.anySnapshot()
	name := "foreign-" + sc.now.Format("0102150405")
	if s == nil || sc.find(kube.Snapshots, name) != nil {
		return
	}
	sc.createSnapshot(name, s, sc.foreignController())
}

// foreignController is the namespace, which stands for any object: the garbage collector requires that an owner exists.
func (sc *scenario) foreignController() []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Namespace", Name: sc.namespace, UID: sc.namespaceUID, Controller: new(true),
	}}
}

func (sc *scenario) createSnapshot(name string, like *snapshotv1.VolumeSnapshot, owners []metav1.OwnerReference) {
	annotations := maps.Clone(like.Annotations)
	delete(annotations, v1alpha1.AnnotationHold)
	_, err := sc.server.Create(&snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: sc.namespace, Name: name, Labels: like.Labels, Annotations: annotations, OwnerReferences: owners,
		},
		Spec: like.Spec,
	}, kube.NoRequest)
	must(err)
}
