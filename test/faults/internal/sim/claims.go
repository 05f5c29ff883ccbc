// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// What users do to PVCs.

const appLabel = "app"

func (sc *scenario) createClaim(name string) { sc.createClaimFrom(name, nil) }

func (sc *scenario) createClaimFrom(name string, source *corev1.TypedLocalObjectReference) {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: sc.namespace, Name: name,
			Labels:     map[string]string{appLabel: pick(sc.actionRand, "a", "a", "b")},
			Finalizers: []string{finalizerInUse},
		},
		Spec: corev1.PersistentVolumeClaimSpec{DataSource: source},
	}
	if source != nil {
		claim.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	}
	created, err := sc.server.Create(claim, kube.NoRequest)
	must(err)
	pending := between(sc.timingRand, time.Second, time.Minute)
	if source != nil || oneIn(sc.actionRand, 6) {
		pending = between(sc.actionRand, time.Minute, 3*24*time.Hour)
	}
	sc.after(pending, func() { sc.bind(name, created.GetUID()) })
}

func (sc *scenario) bind(name string, uid types.UID) {
	claim := sc.find(kube.Claims, name)
	if claim != nil && claim.GetUID() == uid && claim.GetDeletionTimestamp() == nil {
		sc.bindClaim(sc.key(name))
	}
}

func (sc *scenario) deleteClaim() {
	name := pick(sc.actionRand, sc.claims...)
	if sc.find(kube.Claims, name) == nil {
		return
	}
	sc.delete(kube.Claims, name)
	if oneIn(sc.actionRand, 2) { // and creates it again soon, under the same name
		sc.later(between(sc.timingRand, time.Second, 2*time.Hour), func() {
			if sc.find(kube.Claims, name) == nil {
				sc.createClaim(name)
			}
		})
	}
}

func (sc *scenario) recreateClaims() {
	for _, name := range sc.claims {
		if sc.find(kube.Claims, name) == nil {
			sc.createClaim(name)
		}
	}
}

// relabelClaim takes a PVC out of a schedule or back in, half of the time for a while only.
func (sc *scenario) relabelClaim() {
	name := pick(sc.actionRand, sc.claims...)
	claim := sc.find(kube.Claims, name)
	if claim == nil {
		return
	}
	before := claim.GetLabels()[appLabel]
	sc.relabel(name, pick(sc.actionRand, "a", "b", "none"))
	if oneIn(sc.actionRand, 2) {
		sc.later(between(sc.actionRand, time.Second, 40*time.Hour), func() { sc.relabel(name, before) })
	}
}

func (sc *scenario) relabel(name, value string) {
	if sc.find(kube.Claims, name) == nil {
		return
	}
	sc.edit(kube.Claims, name, func(o client.Object) {
		labels := maps.Clone(o.GetLabels())
		labels[appLabel] = value
		o.SetLabels(labels)
	})
}

// restore creates a PVC from a snapshot, and deletes it after some time.
func (sc *scenario) restore() {
	s := sc.anySnapshot()
	name := pick(sc.actionRand, "restored", "restored-again")
	if s == nil || sc.find(kube.Claims, name) != nil {
		return
	}
	sc.createClaimFrom(name, &corev1.TypedLocalObjectReference{
		APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: s.Name,
	})
	sc.later(between(sc.actionRand, time.Hour, 6*24*time.Hour), func() {
		if sc.find(kube.Claims, name) != nil {
			sc.delete(kube.Claims, name)
		}
	})
}

// requestNow asks for a snapshot, of all PVCs of a schedule or of some of them, by a clock that may be wrong, or in a malformed way. On a
// PVC the request must be ignored.
func (sc *scenario) requestNow() {
	at := sc.now.Add(pick(sc.actionRand, 0, 0, -time.Minute, 3*time.Hour, -20*24*time.Hour)).Format(time.RFC3339)
	if oneIn(sc.actionRand, 6) {
		at = "now"
	}
	k, name := kube.Schedules, pick(sc.actionRand, sc.schedules...)
	switch sc.actionRand.IntN(4) {
	case 0:
		at += " " + pick(sc.actionRand, sc.claims...)
	case 1:
		at += " none," + strings.Join(sc.claims[sc.actionRand.IntN(len(sc.claims)):], ",")
	case 2:
		k, name = kube.Claims, pick(sc.actionRand, sc.claims...)
	}
	if sc.find(k, name) != nil {
		sc.annotate(k, name, func(all map[string]string) { all[v1alpha1.AnnotationRequestedAt] = at })
	}
}
