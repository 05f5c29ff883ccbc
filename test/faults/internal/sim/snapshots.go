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

func (l *life) deleteSnapshot() {
	if s := l.someSnapshot(); s != nil {
		must(l.server.Delete(kube.Snapshots, client.ObjectKeyFromObject(s), metav1.DeleteOptions{}, kube.Someone))
	}
}

func (l *life) holdSnapshot() {
	if s := l.someSnapshot(); s != nil {
		l.annotate(s, func(all map[string]string) { all[v1alpha1.AnnotationHold] = "" })
	}
}

func (l *life) letGoOfHolds() {
	for _, o := range l.server.List(kube.Snapshots) {
		if _, held := o.GetAnnotations()[v1alpha1.AnnotationHold]; held {
			l.annotate(o, func(all map[string]string) { delete(all, v1alpha1.AnnotationHold) })
		}
	}
}

func (l *life) annotate(s client.Object, change func(map[string]string)) {
	l.edit(kube.Snapshots, s.GetName(), func(o client.Object) {
		annotations := maps.Clone(o.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		change(annotations)
		o.SetAnnotations(annotations)
	})
}

// releaseSnapshot takes a snapshot out of its schedule, by each of the ways.
func (l *life) releaseSnapshot() {
	s := l.someSnapshot()
	if s == nil || s.Labels[v1alpha1.LabelMapKey] == "" {
		return
	}
	way := l.chance.IntN(4)
	l.edit(kube.Snapshots, s.Name, func(o client.Object) {
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

// recreateSnapshot is a backup tool that puts a snapshot back as it was, but
// for who controls it: an orphan.
func (l *life) recreateSnapshot() {
	s := l.someSnapshot()
	if s == nil {
		return
	}
	l.later(between(l.chance, time.Hour, 10*24*time.Hour), func() {
		if l.server.Find(kube.Snapshots, client.ObjectKeyFromObject(s)) == nil {
			l.createSnapshot(s.Name, s.Labels, s.Annotations, s.Spec, nil)
		}
	})
}

// foreignSnapshot is another controller's, whatever its labels say. The namespace
// stands for that controller's object: an owner must exist.
func (l *life) foreignSnapshot() {
	s := l.someSnapshot()
	name := "foreign-" + l.now.Format("0102150405")
	if s == nil || l.find(kube.Snapshots, name) != nil {
		return
	}
	l.createSnapshot(name, s.Labels, s.Annotations, s.Spec, []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Namespace", Name: l.namespace, UID: l.namespaceUID, Controller: new(true),
	}})
}

func (l *life) createSnapshot(
	name string, labels, annotations map[string]string, spec snapshotv1.VolumeSnapshotSpec, owners []metav1.OwnerReference,
) {
	annotations = maps.Clone(annotations)
	delete(annotations, v1alpha1.AnnotationHold)
	_, err := l.server.Create(&snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.namespace, Name: name, Labels: labels, Annotations: annotations, OwnerReferences: owners,
		},
		Spec: spec,
	}, kube.Someone)
	must(err)
}
