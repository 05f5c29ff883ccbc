// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// life is what users, backup tools and bad luck do in a run.
type life struct {
	*world

	namespace    string
	namespaceUID types.UID
	claims       []string
	schedules    []string
	until        time.Time
}

// meanPause is how long it is, on average, from one thing that happens to the
// next.
const meanPause = 9 * time.Hour

func newLife(w *world, until time.Time) *life {
	l := &life{world: w, namespace: "ns", until: until}
	ns, err := w.server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}, kube.Someone)
	must(err)
	l.namespaceUID = ns.GetUID()
	for i := range 1 + w.chance.IntN(3) {
		l.claims = append(l.claims, fmt.Sprintf("data-%d", i))
	}
	for i := range 1 + w.chance.IntN(3)/2 {
		l.schedules = append(l.schedules, fmt.Sprintf("plan-%d", i))
	}
	for _, name := range l.claims {
		l.createClaim(name)
	}
	for _, name := range l.schedules {
		l.createSchedule(name)
	}
	w.after(time.Minute, l.step)
	return l
}

// step lets something happen, and puts the next step down.
func (l *life) step() {
	if !l.now.Before(l.until) {
		return
	}
	l.happen()
	l.after(time.Duration(l.chance.ExpFloat64()*float64(meanPause)), l.step)
}

// later lets something follow from what happened, if it comes in time.
func (l *life) later(d time.Duration, do func()) {
	l.after(d, func() {
		if l.now.Before(l.until) {
			do()
		}
	})
}

// happen draws what happens, the common before the rare.
func (l *life) happen() {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	draw := l.chance.IntN(total)
	for _, a := range actions {
		if draw -= a.weight; draw < 0 {
			a.do(l)
			return
		}
	}
}

var actions = []struct {
	weight int
	do     func(*life)
}{
	{12, (*life).disturbDriver},
	{10, (*life).mendDrivers},
	{12, (*life).disturbRequests},
	{8, (*life).mendRequests},
	{8, (*life).freezeWatch},
	{5, (*life).crashNow},
	{3, (*life).secondOperator},
	{6, (*life).moveClocks},
	{10, (*life).deleteClaim},
	{14, (*life).fillClaims},
	{10, (*life).relabelClaim},
	{6, (*life).restore},
	{6, (*life).deleteSnapshot},
	{6, (*life).holdSnapshot},
	{4, (*life).letGoOfHolds},
	{4, (*life).releaseSnapshot},
	{4, (*life).recreateSnapshot},
	{2, (*life).foreignSnapshot},
	{8, (*life).requestNow},
	{16, (*life).editSchedule},
	{3, (*life).breakSpec},
	{4, (*life).suspend},
	{3, (*life).deleteSchedule},
	{8, (*life).fillSchedules},
	{3, (*life).deleteUnseen},
	{5, (*life).editUnseen},
	{5, (*life).deleteStuck},
	{5, (*life).deleteUnseenSnapshots},
}

func (l *life) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: l.namespace, Name: name}
}

func (l *life) find(k kube.Kind, name string) client.Object { return l.server.Find(k, l.key(name)) }

// edit changes an object as a user does, who reads it first.
func (l *life) edit(k kube.Kind, name string, change func(client.Object)) {
	_, err := l.server.Update(k, l.key(name), kube.Someone, func(o client.Object) error {
		change(o)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("a user's edit of %s: %v", name, err))
	}
}

// someSnapshot draws one, or returns nil.
func (l *life) someSnapshot() *snapshotv1.VolumeSnapshot {
	all := l.server.List(kube.Snapshots)
	if len(all) == 0 {
		return nil
	}
	return pick(l.chance, all...).(*snapshotv1.VolumeSnapshot)
}

func (l *life) schedule(name string) *v1alpha1.SnapshotSchedule {
	s, _ := l.find(kube.Schedules, name).(*v1alpha1.SnapshotSchedule)
	return s
}
