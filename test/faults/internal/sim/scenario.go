// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"maps"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// scenario is what users and backup tools do in a simulation, and which faults happen when.
type scenario struct {
	*simulation

	namespace    string
	namespaceUID types.UID
	claims       []string
	schedules    []string
	until        time.Time
}

// meanPause is the mean time between two actions.
const meanPause = 9 * time.Hour

func newScenario(sim *simulation, until time.Time) *scenario {
	sc := &scenario{simulation: sim, namespace: "ns", until: until}
	ns, err := sim.server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sc.namespace}}, kube.NoRequest)
	must(err)
	sc.namespaceUID = ns.GetUID()
	for i := range 1 + sim.actionRand.IntN(3) {
		sc.claims = append(sc.claims, fmt.Sprintf("data-%d", i))
	}
	for i := range 1 + sim.actionRand.IntN(3)/2 {
		sc.schedules = append(sc.schedules, fmt.Sprintf("plan-%d", i))
	}
	for _, name := range sc.claims {
		sc.createClaim(name)
	}
	for _, name := range sc.schedules {
		sc.createSchedule(name)
	}
	sim.after(time.Minute, sc.step)
	return sc
}

// step takes an action and schedules the next one.
func (sc *scenario) step() {
	if !sc.now.Before(sc.until) {
		return
	}
	sc.act()
	sc.after(time.Duration(sc.actionRand.ExpFloat64()*float64(meanPause)), sc.step)
}

// later adds a consequence of an action, which is dropped if it would come after the end of the scenario.
func (sc *scenario) later(d time.Duration, do func()) {
	sc.after(d, func() {
		if sc.now.Before(sc.until) {
			do()
		}
	})
}

// act takes one action, drawn by weight.
func (sc *scenario) act() {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	draw := sc.actionRand.IntN(total)
	for _, a := range actions {
		if draw -= a.weight; draw < 0 {
			a.do(sc)
			return
		}
	}
}

var actions = []struct {
	weight int
	do     func(*scenario)
}{
	{12, (*scenario).breakDriver},
	{10, (*scenario).repairDrivers},
	{12, (*scenario).setRequestFaults},
	{8, (*scenario).stopRequestFaults},
	{8, (*scenario).freezeInformer},
	{5, (*scenario).crashOperator},
	{3, (*scenario).startSecondOperator},
	{6, (*scenario).moveClocks},
	{10, (*scenario).deleteClaim},
	{14, (*scenario).recreateClaims},
	{10, (*scenario).relabelClaim},
	{6, (*scenario).restore},
	{6, (*scenario).deleteSnapshot},
	{6, (*scenario).holdSnapshot},
	{4, (*scenario).removeHolds},
	{4, (*scenario).releaseSnapshot},
	{4, (*scenario).recreateSnapshot},
	{4, (*scenario).importSnapshot},
	{2, (*scenario).createForeignSnapshot},
	{8, (*scenario).requestNow},
	{16, (*scenario).editSchedule},
	{3, (*scenario).breakSpec},
	{4, (*scenario).suspend},
	{3, (*scenario).deleteSchedule},
	{8, (*scenario).recreateSchedules},
	{3, (*scenario).deleteScheduleUnseen},
	{5, (*scenario).editScheduleUnseen},
	{5, (*scenario).deleteStuck},
	{5, (*scenario).deleteSnapshotsUnseen},
}

// The users' requests, all in the scenario's namespace.

func (sc *scenario) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: sc.namespace, Name: name}
}

func (sc *scenario) find(k kube.Kind, name string) client.Object {
	return sc.server.Find(k, sc.key(name))
}

func (sc *scenario) schedule(name string) *v1alpha1.SnapshotSchedule {
	s, _ := sc.find(kube.Schedules, name).(*v1alpha1.SnapshotSchedule)
	return s
}

// anySnapshot draws a snapshot, or returns nil.
func (sc *scenario) anySnapshot() *snapshotv1.VolumeSnapshot {
	all := sc.server.List(kube.Snapshots)
	if len(all) == 0 {
		return nil
	}
	return pick(sc.actionRand, all...).(*snapshotv1.VolumeSnapshot)
}

// edit changes an object as a user does, who reads it first.
func (sc *scenario) edit(k kube.Kind, name string, change func(client.Object)) {
	_, err := sc.server.Update(k, sc.key(name), kube.NoRequest, func(o client.Object) error {
		change(o)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("a user's edit of %s: %v", name, err))
	}
}

func (sc *scenario) editSpec(name string, change func(*v1alpha1.SnapshotScheduleSpec)) {
	sc.edit(kube.Schedules, name, func(o client.Object) { change(&o.(*v1alpha1.SnapshotSchedule).Spec) })
}

func (sc *scenario) annotate(k kube.Kind, name string, change func(map[string]string)) {
	sc.edit(k, name, func(o client.Object) {
		annotations := maps.Clone(o.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		change(annotations)
		o.SetAnnotations(annotations)
	})
}

func (sc *scenario) delete(k kube.Kind, name string) {
	must(sc.server.Delete(k, sc.key(name), metav1.DeleteOptions{}, kube.NoRequest))
}

// goIdle leaves nothing to do: no slots, and nothing that may expire.
func (sc *scenario) goIdle() {
	for _, o := range sc.server.List(kube.Schedules) {
		sc.edit(kube.Schedules, o.GetName(), func(o client.Object) {
			spec := &o.(*v1alpha1.SnapshotSchedule).Spec
			repairSpec(sc.actionRand, spec) // under an invalid spec the counts stay what they were
			spec.Suspend = true
			o.SetAnnotations(nil)
		})
	}
	for _, o := range sc.server.List(kube.Claims) {
		sc.edit(kube.Claims, o.GetName(), func(o client.Object) { o.SetAnnotations(nil) })
	}
	for _, o := range sc.server.List(kube.Snapshots) {
		sc.annotate(kube.Snapshots, o.GetName(), hold)
	}
}
