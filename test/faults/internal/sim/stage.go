// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// Stage is a world in which nothing goes wrong by itself: a script says what
// happens, and when. One operator runs in it, and drivers are well.
type Stage struct {
	world     *world
	namespace string
}

// NewStage is an empty namespace at a time of the server's.
func NewStage(at time.Time) *Stage {
	s := &Stage{world: newWorld(1), namespace: "ns"}
	s.world.now, s.world.history.Began = at.UTC(), at.UTC()
	s.world.statusInterval = 5 * time.Second
	_, err := s.world.server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, kube.Someone)
	must(err)
	s.world.start(s.world.statusInterval, func() int { return 0 })
	return s
}

// Now is the server's time.
func (s *Stage) Now() time.Time { return s.world.now }

// RunUntil lets the world go on.
func (s *Stage) RunUntil(at time.Time) { s.world.run(at) }

// SetClocks sets how far the operator's own clock and the Date header are off.
func (s *Stage) SetClocks(operator, date time.Duration) { s.world.setClocks(operator, date) }

// Create makes an object in the namespace.
func (s *Stage) Create(o client.Object) {
	o.SetNamespace(s.namespace)
	_, err := s.world.server.Create(o, kube.Someone)
	must(err)
}

// Claim makes a PVC that is Bound.
func (s *Stage) Claim(name string) {
	s.Create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
	key := client.ObjectKey{Namespace: s.namespace, Name: name}
	_, err := s.world.server.UpdateStatus(kube.Claims, key, kube.Someone, func(o client.Object) error {
		o.(*corev1.PersistentVolumeClaim).Status.Phase = corev1.ClaimBound
		return nil
	})
	must(err)
}

// Schedule is what the server holds; nil if there is none of the name.
func (s *Stage) Schedule(name string) *v1alpha1.SnapshotSchedule {
	o, _ := s.world.server.Find(kube.Schedules, client.ObjectKey{Namespace: s.namespace, Name: name}).(*v1alpha1.SnapshotSchedule)
	return o
}

// Snapshots are what the server holds.
func (s *Stage) Snapshots() []*snapshotv1.VolumeSnapshot {
	var all []*snapshotv1.VolumeSnapshot
	for _, o := range s.world.server.List(kube.Snapshots) {
		all = append(all, o.(*snapshotv1.VolumeSnapshot))
	}
	return all
}

// Objects are all schedules, PVCs and snapshots.
func (s *Stage) Objects() []client.Object {
	var all []client.Object
	for _, k := range []kube.Kind{kube.Schedules, kube.Claims, kube.Snapshots} {
		all = append(all, s.world.server.List(k)...)
	}
	return all
}

// History is what has happened so far.
func (s *Stage) History() *history.History {
	s.world.history.Ended = s.world.now
	return s.world.history
}
