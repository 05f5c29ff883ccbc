// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation simulates a cluster in which the operator runs for weeks or months, and judges each of its writes while it passes.
//
// A simulation is a state machine of pgregory.net/rapid in a bubble of testing/synctest, whose clock stands still while anything runs. In
// it are
//
//   - an API server in memory (package kube), which operators reach through an http.RoundTripper: a link, which delays, refuses and
//     loses requests and answers, ends with its operator, and freezes watches,
//   - operators: the product's engine with its real queues, informers and clients, started without a manager, whose queues measure
//     themselves twice a simulated second; with one worker each, because those that share a live read wait for it on a lock,
//   - the controllers around them: snapshot drivers and the garbage collector,
//   - users, who take one action after the other: on PVCs, snapshots and schedules, and on the network, the clocks and the drivers.
//
// After the last action the faults stop, and days later the state is judged by the contract (L1). At last nothing is due any more, and
// nothing but watches may be sent (L2).
//
// A failure prints the actions, and the seed that repeats them. Their consequences repeat nearly always: the order of what happens in the
// same nanosecond differs, and so do the delays before client-go tries again. ClusterSnapshotSchedules are not simulated.
//
//	world.go              the API server, what it has held, the clocks
//	link.go               the network of an operator, its faults, what it is shown and when, and the judging of writes
//	operator.go           operators: start, crash, start again
//	driver.go             snapshot drivers, the garbage collector
//	groups.go             group snapshots: what the snapshot controller and users do with them
//	groupjudge.go         the judging of their writes and of the end
//	users.go, objects.go  what users do
//	end.go                what must be at the end
//
// Tests: simulation_test.go has the state machine; scenario_test.go runs fixed scenarios, of clocks that are wrong and of caches that are
// late; storage_test.go those of storage that does not do what it accepted.
package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

const day = 24 * time.Hour

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
	// writing is the operator whose write is judged.
	writing *operator

	driver driver

	// inFlight is how many snapshots may be in flight; zero: any number. It is judged unless the clock of operators is wrong, or was lately.
	inFlight int
	// moved is when that clock was last set right.
	moved time.Time
	// takesGroups is whether schedules take group snapshots, instead of single ones.
	takesGroups    bool
	statusInterval time.Duration
	operators      []*operator
	running        sync.WaitGroup
	// clockOff and dateOff are by how much the clock of operators, and the Date of answers, are wrong.
	clockOff, dateOff time.Duration
	ended             bool
	// asParts is set while the delete of a group snapshot is judged.
	asParts bool
	// wrong is what the judge of writes of group snapshots found.
	wrong []string
	*counts
}

// counts are of the operators' requests but watches, of what became of their writes of snapshots, and of their starts.
type counts struct{ sent, refused, created, deleted, patched, starts int }

func newWorld(start time.Time, seed uint64, statusInterval time.Duration) *world {
	time.Sleep(time.Until(start))
	w := &world{
		committed: make(chan struct{}), rand: rand.New(rand.NewPCG(seed, 2)), statusInterval: statusInterval, counts: &counts{},
	}
	w.driver = driver{world: w, modes: map[string]mode{}}
	uids := rand.New(rand.NewPCG(seed, 3))
	w.server = &kube.Server{OnCommit: w.onCommit, Now: time.Now, NewUID: func() types.UID {
		return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x",
			uids.Uint32(), uids.Uint32()&0xffff, uids.Uint32()&0xfff, uids.Uint32()&0xfff, uids.Uint64()&0xffffffffffff))
	}}
	w.judge = judge.NewAtWrite(func() []client.Object {
		if w.asParts {
			return w.judged()
		}
		return w.objects()
	}, kube.Namespace, w.clocksDiffer)
	w.judge.Moments = w.moments
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
	w.driver.collect(c)
}

// moments returns what guards that have read since a time may have been shown, by the clock of operators: schedules are read live, and
// each of the other informers shows a state of its own, to an operator that is late an older one.
func (w *world) moments(since time.Time) (all []judge.Moment) {
	shown := since
	if late, isLate := w.writing.late(); isLate {
		shown = late
	}
	schedules, claims, groups := w.states(kube.Schedules, since), w.states(kube.Claims, shown), w.states(kube.Groups, shown)
	for _, snapshots := range w.states(kube.Snapshots, shown) {
		for _, c := range claims {
			for _, g := range groups {
				parts := partsOf(g, snapshots, c)
				for _, s := range schedules {
					all = append(all, judge.Moment{
						From: since.Add(w.clockOff), Until: time.Now().Add(w.clockOff), Objects: slices.Concat(snapshots, parts, c, s),
					})
				}
			}
		}
	}
	return all
}

// states returns the objects of a kind as they have been since a time, the latest first.
func (w *world) states(k kube.Kind, since time.Time) (all [][]client.Object) {
	held := w.server.List(k)
	all = append(all, held)
	for _, c := range slices.Backward(w.log) {
		if c.At.Before(since) {
			break
		}
		if c.Kind != k {
			continue
		}
		held = slices.DeleteFunc(slices.Clone(held), func(o client.Object) bool { return o == c.After })
		if c.Before != nil {
			held = append(held, c.Before)
		}
		all = append(all, held)
	}
	return all
}

// objects returns all schedules, PVCs and snapshots.
func (w *world) objects() []client.Object {
	return slices.Concat(w.server.List(kube.Schedules), w.server.List(kube.Claims), w.server.List(kube.Snapshots))
}

// judged returns what the judge knows: all objects and, for group snapshots, those that they stand for.
func (w *world) judged() []client.Object {
	snapshots, claims := w.server.List(kube.Snapshots), w.server.List(kube.Claims)
	return append(w.objects(), partsOf(w.server.List(kube.Groups), snapshots, claims)...)
}

func (w *world) state() *judge.State { return judge.StateOf(w.objects()) }

func (w *world) schedules() []*v1alpha1.SnapshotSchedule { return w.state().Schedules }

func (w *world) claims() []*corev1.PersistentVolumeClaim { return w.state().Claims }

func (w *world) snapshots() []*snapshotv1.VolumeSnapshot { return w.state().Snapshots }

// schedule and claim return nil if there is none of this name.
func (w *world) schedule(name string) *v1alpha1.SnapshotSchedule {
	return judge.Named(w.schedules(), name)
}

func (w *world) claim(name string) *corev1.PersistentVolumeClaim {
	return judge.Named(w.claims(), name)
}

func (w *world) create(o client.Object) client.Object {
	created, err := w.server.Create(o)
	must(err)
	return created
}

// edit changes an object other than its status, if it is there.
func (w *world) edit(k kube.Kind, name string, change func(client.Object)) {
	_, err := w.server.Update(k, name, kube.Main, change)
	must(client.IgnoreNotFound(err))
}

// editStatus changes the status of an object, if it is there.
func (w *world) editStatus(k kube.Kind, name string, change func(client.Object)) {
	_, err := w.server.Update(k, name, kube.Status, change)
	must(client.IgnoreNotFound(err))
}

func (w *world) delete(k kube.Kind, name string) {
	must(client.IgnoreNotFound(w.server.Delete(k, name, metav1.DeleteOptions{})))
}

// clocksDiffer returns whether the clocks differ so much that nothing may be deleted, with a margin for a Date in whole seconds.
func (w *world) clocksDiffer() bool {
	return (w.clockOff - w.dateOff).Abs() > maxClockSkew+2*time.Second
}

// noDate is the dateOff of answers without a Date.
const noDate = 200 * 365 * day

// setClocks moves the clocks, but not between a delete's guards and the delete.
func (w *world) setClocks(clock, date time.Duration) {
	if !w.ended && slices.ContainsFunc(w.operators, func(o *operator) bool { return o.busy > 0 }) {
		w.after(10*time.Second, func() { w.setClocks(clock, date) })
		return
	}
	w.clockOff, w.dateOff = clock, date
	// By a wrong clock, snapshots are in flight for longer or not so long.
	if w.judge.InFlight = 0; clock == 0 {
		moved := time.Now()
		w.moved = moved
		w.after(2*time.Hour, func() {
			if w.moved.Equal(moved) {
				w.judge.InFlight = w.inFlight
			}
		})
	}
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
