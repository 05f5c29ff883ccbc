// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

const (
	namespace = "ns"
	day       = 24 * time.Hour
)

// world is the simulated cluster: the API server, the controllers around the operators, and the operators.
type world struct {
	mu     sync.Mutex
	server *kube.Server
	// log is every change so far, and committed is closed at the next one.
	log       []kube.Change
	committed chan struct{}
	// rand decides how long things take and which requests fail.
	rand   *rand.Rand
	faults faults
	judge  *judge.AtWrite
	// writing is the link whose write is judged.
	writing *link

	driver    driver
	collected map[types.UID]bool // soon

	options   options
	operators []*operator
	running   sync.WaitGroup
	// clockOff and dateOff are by how much the clock of operators, and the Date of answers, are wrong.
	clockOff, dateOff time.Duration
	ended             bool
	counts
}

// counts are of the operators' requests but watches, of what became of their writes of snapshots, and of their starts.
type counts struct{ sent, refused, created, deleted, patched, starts int }

func (c *counts) add(o counts) {
	c.sent, c.refused, c.created = c.sent+o.sent, c.refused+o.refused, c.created+o.created
	c.deleted, c.patched, c.starts = c.deleted+o.deleted, c.patched+o.patched, c.starts+o.starts
}

func newWorld(start time.Time, seed uint64, o options) *world {
	time.Sleep(time.Until(start))
	w := &world{
		committed: make(chan struct{}), rand: rand.New(rand.NewPCG(seed, 2)), collected: map[types.UID]bool{}, options: o,
	}
	w.driver = driver{world: w, modes: map[string]mode{}}
	uids := rand.New(rand.NewPCG(seed, 3))
	w.server = kube.NewServer(time.Now, func() types.UID {
		return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x",
			uids.Uint32(), uids.Uint32()&0xffff, uids.Uint32()&0xfff, uids.Uint32()&0xfff, uids.Uint64()&0xffffffffffff))
	})
	w.server.OnCommit = w.onCommit
	w.judge = judge.NewAtWrite(reader{w}, namespace, w.clocksDiffer, 0)
	w.judge.Moments = w.moments
	_, err := w.server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	must(err)
	return w
}

// end ends all operators, and waits for them: nothing may be left in the bubble.
func (w *world) end() {
	w.mu.Lock()
	w.ended = true
	for _, o := range w.operators {
		o.kill()
	}
	w.mu.Unlock()
	w.running.Wait()
}

// locked calls do with the world stopped.
func (w *world) locked(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// after calls do after a time, unless the simulation has ended by then.
func (w *world) after(d time.Duration, do func()) {
	time.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.ended {
			do()
		}
	})
}

func (w *world) onCommit(c kube.Change) {
	w.log = append(w.log, c)
	close(w.committed)
	w.committed = make(chan struct{})
	w.driver.observe(c)
	w.collect(c)
}

// moments returns what guards that have read since a time may have been shown, by the clock of operators: schedules are read live, and
// each of the other informers shows a state of its own, to an operator that is late an older one.
func (w *world) moments(since time.Time) (all []judge.Moment) {
	shown := since
	if late, isLate := w.writing.late(); isLate {
		shown = late
	}
	schedules, claims := w.states(kube.Schedules, since), w.states(kube.Claims, shown)
	for _, snapshots := range w.states(kube.Snapshots, shown) {
		for _, c := range claims {
			for _, s := range schedules {
				all = append(all, judge.Moment{
					From: since.Add(w.clockOff), Until: time.Now().Add(w.clockOff), Objects: slices.Concat(snapshots, c, s),
				})
			}
		}
	}
	return all
}

// states returns the objects of a kind as they have been since a time, the latest first.
func (w *world) states(k kube.Kind, since time.Time) (all [][]client.Object) {
	held := map[types.UID]client.Object{}
	for _, o := range w.server.List(k) {
		held[o.GetUID()] = o
	}
	all = append(all, slices.Collect(maps.Values(held)))
	for _, c := range slices.Backward(w.log) {
		if c.At.Before(since) {
			break
		}
		if c.Kind != k {
			continue
		}
		if c.After != nil {
			delete(held, c.After.GetUID())
		}
		if c.Before != nil {
			held[c.Before.GetUID()] = c.Before
		}
		all = append(all, slices.Collect(maps.Values(held)))
	}
	return all
}

// objects returns all schedules, PVCs and snapshots.
func (w *world) objects() (all []client.Object) {
	for _, k := range []kube.Kind{kube.Schedules, kube.Claims, kube.Snapshots} {
		all = append(all, w.server.List(k)...)
	}
	return all
}

func (w *world) snapshots() (all []*snapshotv1.VolumeSnapshot) {
	for _, o := range w.server.List(kube.Snapshots) {
		all = append(all, o.(*snapshotv1.VolumeSnapshot))
	}
	return all
}

func (w *world) find(k kube.Kind, name string) client.Object {
	return w.server.Find(k, client.ObjectKey{Namespace: namespace, Name: name})
}

func (w *world) schedule(name string) *v1alpha1.SnapshotSchedule {
	s, _ := w.find(kube.Schedules, name).(*v1alpha1.SnapshotSchedule)
	return s
}

// clocksDiffer returns whether the clocks differ so much that nothing may be deleted, with a margin for a Date in whole seconds.
func (w *world) clocksDiffer() bool {
	return (w.clockOff - w.dateOff).Abs() > maxClockSkew+2*time.Second
}

// setClocks moves the clocks, but not between a delete's guards and the delete.
func (w *world) setClocks(clock, date time.Duration) {
	if !w.ended && slices.ContainsFunc(w.operators, func(o *operator) bool { return o.busy > 0 }) {
		w.after(10*time.Second, func() { w.setClocks(clock, date) })
		return
	}
	w.clockOff, w.dateOff = clock, date
}

// operatorClock is the clock of operators.
type operatorClock struct{ *world }

// Now implements clock.PassiveClock.
func (c operatorClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.clockOff)
}

// Since implements clock.PassiveClock.
func (c operatorClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// reader reads the API server at once. Who uses it has stopped the world.
type reader struct{ *world }

// Get implements client.Reader.
func (r reader) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	k, err := kube.KindOf(o)
	if err != nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	stored, err := r.server.Get(k, key)
	if err != nil {
		return err
	}
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		*o = *stored.(*v1alpha1.SnapshotSchedule)
	case *corev1.Namespace:
		*o = *stored.(*corev1.Namespace)
	default:
		return fmt.Errorf("unexpected %T", o)
	}
	return nil
}

// List implements client.Reader.
func (r reader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *v1alpha1.SnapshotScheduleList:
		list.Items = all[v1alpha1.SnapshotSchedule](r.server.List(kube.Schedules))
	case *corev1.PersistentVolumeClaimList:
		list.Items = all[corev1.PersistentVolumeClaim](r.server.List(kube.Claims))
	case *snapshotv1.VolumeSnapshotList:
		list.Items = all[snapshotv1.VolumeSnapshot](r.server.List(kube.Snapshots))
	default:
		return fmt.Errorf("unexpected %T", list)
	}
	return nil
}

func all[T any](objects []client.Object) []T {
	items := make([]T, len(objects))
	for i, o := range objects {
		items[i] = *any(o).(*T)
	}
	return items
}

// between draws a duration from [least, most).
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// oneIn returns true once in n times; never if n is 0.
func oneIn(r *rand.Rand, n int) bool { return n > 0 && r.IntN(n) == 0 }

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func must(err error) {
	if err != nil {
		panic(err)
	}
}
