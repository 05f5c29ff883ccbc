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

// Environment is a simulation without random faults and actions: the test says what happens, and when. One operator runs, and drivers
// are healthy.
type Environment struct {
	sim       *simulation
	namespace string
}

// NewEnvironment returns an environment with an empty namespace, at a time of the API server's clock.
func NewEnvironment(at time.Time) *Environment {
	e := &Environment{sim: newSimulation(1), namespace: "ns"}
	e.sim.now, e.sim.history.Began = at.UTC(), at.UTC()
	e.sim.statusInterval = 5 * time.Second
	_, err := e.sim.server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}, kube.NoRequest)
	must(err)
	e.sim.start(e.sim.statusInterval, func() int { return 0 })
	return e
}

// Now returns the API server's time.
func (e *Environment) Now() time.Time { return e.sim.now }

// RunUntil runs the simulation until a time.
func (e *Environment) RunUntil(at time.Time) { e.sim.run(at) }

// SetClocks sets by how much the operator's clock and the Date header are off.
func (e *Environment) SetClocks(operator, date time.Duration) { e.sim.setClocks(operator, date) }

// Create creates an object in the namespace.
func (e *Environment) Create(o client.Object) {
	o.SetNamespace(e.namespace)
	_, err := e.sim.server.Create(o, kube.NoRequest)
	must(err)
}

// Claim creates a PVC and binds it.
func (e *Environment) Claim(name string) {
	e.Create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
	e.sim.bindClaim(client.ObjectKey{Namespace: e.namespace, Name: name})
}

// Schedule returns the stored schedule, nil if there is none of that name.
func (e *Environment) Schedule(name string) *v1alpha1.SnapshotSchedule {
	o, _ := e.sim.server.Find(kube.Schedules, client.ObjectKey{Namespace: e.namespace, Name: name}).(*v1alpha1.SnapshotSchedule)
	return o
}

// Snapshots returns the stored snapshots.
func (e *Environment) Snapshots() []*snapshotv1.VolumeSnapshot { return e.sim.snapshots() }

// Objects returns all schedules, PVCs and snapshots.
func (e *Environment) Objects() []client.Object { return e.sim.objects() }

// History returns what has happened so far.
func (e *Environment) History() *history.History {
	e.sim.history.Ended = e.sim.now
	return e.sim.history
}

func (sim *simulation) snapshots() []*snapshotv1.VolumeSnapshot {
	var all []*snapshotv1.VolumeSnapshot
	for _, o := range sim.server.List(kube.Snapshots) {
		all = append(all, o.(*snapshotv1.VolumeSnapshot))
	}
	return all
}

func (sim *simulation) objects() []client.Object {
	var all []client.Object
	for _, k := range []kube.Kind{kube.Schedules, kube.Claims, kube.Snapshots} {
		all = append(all, sim.server.List(k)...)
	}
	return all
}

func (sim *simulation) bindClaim(key client.ObjectKey) {
	_, err := sim.server.UpdateStatus(kube.Claims, key, kube.NoRequest, func(o client.Object) error {
		o.(*corev1.PersistentVolumeClaim).Status.Phase = corev1.ClaimBound
		return nil
	})
	must(err)
}
