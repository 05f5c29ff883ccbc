// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

const appLabel = "app"

func (l *life) createClaim(name string) { l.createClaimFrom(name, nil) }

func (l *life) createClaimFrom(name string, source *corev1.TypedLocalObjectReference) {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.namespace, Name: name,
			Labels:     map[string]string{appLabel: pick(l.chance, "a", "a", "b")},
			Finalizers: []string{finalizerInUse},
		},
		Spec: corev1.PersistentVolumeClaimSpec{DataSource: source},
	}
	if source != nil {
		claim.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	}
	created, err := l.server.Create(claim, kube.Someone)
	must(err)
	pending := between(l.luck, time.Second, time.Minute)
	if source != nil || oneIn(l.chance, 6) {
		pending = between(l.chance, time.Minute, 3*24*time.Hour)
	}
	l.after(pending, func() { l.bind(name, created.GetUID()) })
}

func (l *life) bind(name string, uid types.UID) {
	claim := l.find(kube.Claims, name)
	if claim == nil || claim.GetUID() != uid || claim.GetDeletionTimestamp() != nil {
		return
	}
	_, err := l.server.UpdateStatus(kube.Claims, l.key(name), kube.Someone, func(o client.Object) error {
		o.(*corev1.PersistentVolumeClaim).Status.Phase = corev1.ClaimBound
		return nil
	})
	must(err)
}

func (l *life) deleteClaim() {
	name := pick(l.chance, l.claims...)
	if l.find(kube.Claims, name) == nil {
		return
	}
	must(l.server.Delete(kube.Claims, l.key(name), metav1.DeleteOptions{}, kube.Someone))
	if oneIn(l.chance, 2) { // and at once again, under the same name
		l.later(between(l.luck, time.Second, 2*time.Hour), func() {
			if l.find(kube.Claims, name) == nil {
				l.createClaim(name)
			}
		})
	}
}

func (l *life) fillClaims() {
	for _, name := range l.claims {
		if l.find(kube.Claims, name) == nil {
			l.createClaim(name)
		}
	}
}

// relabelClaim takes a PVC out of a schedule, or back in; often for a moment
// alone.
func (l *life) relabelClaim() {
	name := pick(l.chance, l.claims...)
	claim := l.find(kube.Claims, name)
	if claim == nil {
		return
	}
	before := claim.GetLabels()[appLabel]
	l.relabel(name, pick(l.chance, "a", "b", "none"))
	if oneIn(l.chance, 2) {
		l.later(between(l.chance, time.Second, 40*time.Hour), func() { l.relabel(name, before) })
	}
}

func (l *life) relabel(name, value string) {
	if l.find(kube.Claims, name) == nil {
		return
	}
	l.edit(kube.Claims, name, func(o client.Object) {
		labels := maps.Clone(o.GetLabels())
		labels[appLabel] = value
		o.SetLabels(labels)
	})
}

// restore fills a new PVC from a snapshot.
func (l *life) restore() {
	s := l.someSnapshot()
	name := pick(l.chance, "restored", "restored-again")
	if s == nil || l.find(kube.Claims, name) != nil {
		return
	}
	l.createClaimFrom(name, &corev1.TypedLocalObjectReference{
		APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: s.Name,
	})
	l.later(between(l.chance, time.Hour, 6*24*time.Hour), func() {
		if l.find(kube.Claims, name) != nil {
			must(l.server.Delete(kube.Claims, l.key(name), metav1.DeleteOptions{}, kube.Someone))
		}
	})
}

// requestNow asks for a snapshot now, by the clock of whoever asks.
func (l *life) requestNow() {
	at := l.now.Add(pick(l.chance, 0, 0, -time.Minute, 3*time.Hour, -20*24*time.Hour)).Format(time.RFC3339)
	if oneIn(l.chance, 6) {
		at = "now"
	}
	set := func(o client.Object) {
		annotations := maps.Clone(o.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1alpha1.AnnotationRequestedAt] = at
		o.SetAnnotations(annotations)
	}
	k, name := kube.Claims, pick(l.chance, l.claims...)
	if oneIn(l.chance, 2) {
		k, name = kube.Schedules, pick(l.chance, l.schedules...)
	}
	if l.find(k, name) != nil {
		l.edit(k, name, set)
	}
}
