// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// What happens while an operator looks the other way: rare by chance, and what
// the guards are for.

// blind holds back what all operators are told of a kind.
func (w *world) blind(k kube.Kind, d time.Duration) {
	for _, o := range w.operators {
		o.watches[k].freeze(w.longestBlind(k, d))
	}
}

// longestBlind bounds what two operators with different views, or one whose
// status is refused every few seconds, cost a run: nothing new comes of more.
func (w *world) longestBlind(k kube.Kind, d time.Duration) time.Duration {
	switch {
	case len(w.operators) > 1:
		return min(d, 20*time.Second)
	case k == kube.Schedules:
		return min(d, 3*time.Hour)
	}
	return d
}

// deleteUnseen deletes a schedule that its operator holds with its finalizer, and
// does not know to be going.
func (l *life) deleteUnseen() {
	for _, name := range l.schedules {
		s := l.schedule(name)
		if s == nil || s.DeletionTimestamp != nil || !slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease) {
			continue
		}
		l.blind(kube.Schedules, between(l.luck, time.Hour, 2*24*time.Hour))
		must(l.server.Delete(kube.Schedules, l.key(name), metav1.DeleteOptions{}, kube.Someone))
		return
	}
}

// editUnseen edits a schedule of which the operator goes on to know the old spec.
func (l *life) editUnseen() {
	l.blind(kube.Schedules, between(l.luck, time.Hour, 2*24*time.Hour))
	if oneIn(l.chance, 3) {
		l.breakSpec()
		return
	}
	l.editSchedule()
}

// deleteStuck deletes the newest snapshots of a PVC whose driver can't be
// reached: they stay, and count for nothing.
func (l *life) deleteStuck() {
	name := pick(l.chance, l.claims...)
	l.driver.modes[name] = down
	l.deleteNewest(name)
}

// deleteUnseenSnapshots deletes the newest snapshots of a PVC, of which the
// operator goes on to think that they make up the floor.
func (l *life) deleteUnseenSnapshots() {
	l.blind(kube.Snapshots, between(l.luck, time.Hour, 2*24*time.Hour))
	name := pick(l.chance, l.claims...)
	l.deleteNewest(name)
}

func (l *life) deleteNewest(claim string) {
	n := 1 + l.chance.IntN(3)
	for _, o := range slices.Backward(l.server.List(kube.Snapshots)) { // by name, and so by slot
		if n > 0 && strings.HasPrefix(o.GetName(), claim+"-") {
			must(l.server.Delete(kube.Snapshots, client.ObjectKeyFromObject(o), metav1.DeleteOptions{}, kube.Someone))
			n--
		}
	}
}
