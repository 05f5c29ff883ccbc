// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// unprotectedIn returns the function that counts the PVCs that no schedule protects. Before
// the cache has every VolumeSnapshotClass, nothing is known.
func unprotectedIn(mgr manager.Manager, o Options, classesKnown bool) func(context.Context) map[string]int {
	var listed atomic.Bool
	o.Stores.OnList(func(example runtime.Object, err error) {
		if _, isClass := example.(*snapshotv1.VolumeSnapshotClass); isClass && err == nil {
			listed.Store(true)
		}
	})
	counter := newUnprotectedCounter(o, classesKnown)
	return func(ctx context.Context) map[string]int {
		if classesKnown && (!listed.Load() || !classesSynced(ctx, mgr.GetCache())) {
			return nil
		}
		return counter.count(unprotectedPatience)
	}
}

// classesSynced asks for an informer that the engine has made: another one would
// end the manager where the kind is not installed.
func classesSynced(ctx context.Context, c cache.Cache) bool {
	informer, err := c.GetInformer(ctx, &snapshotv1.VolumeSnapshotClass{}, cache.BlockUntilSynced(false))
	return err == nil && informer.HasSynced()
}

const (
	// unprotectedEvery is how long a count holds: how often metrics are scraped must not
	// decide what they cost.
	unprotectedEvery = 30 * time.Second
	// Counting takes at most a part of one processor, and a scrape waits for it only so
	// long: who fills a namespace with PVCs and schedules must not keep others from their
	// metrics.
	unprotectedShare    = 10
	unprotectedPatience = 2 * time.Second
)

// unprotectedCounter counts unprotected PVCs at most once in unprotectedEvery.
type unprotectedCounter struct {
	clock  clock.PassiveClock
	stores *Stores
	// compile is newProgram.
	compile      func(s *v1alpha1.SnapshotSchedule, from origin, classesKnown bool) (*program, error)
	classesKnown bool
	// governors are those of a schedule. Nil: there are none.
	governors func(s *v1alpha1.SnapshotSchedule) []client.Object

	// programs are those of the schedules that protect, as the informer holds them: a
	// schedule that has changed, or what governs it, is another object. They are compiled once.
	programs map[*v1alpha1.SnapshotSchedule]protecting

	mu     sync.Mutex
	counts map[string]int
	// counted is when counts was known, and took how long that lasted.
	counted time.Time
	took    time.Duration
	// running is closed at the end of the count that runs; nil if none does.
	running chan struct{}
}

func newUnprotectedCounter(o Options, classesKnown bool) *unprotectedCounter {
	u := &unprotectedCounter{clock: o.Clock, stores: o.Stores, compile: newProgram, classesKnown: classesKnown}
	if len(o.Namespaces) == 0 {
		u.governors = func(s *v1alpha1.SnapshotSchedule) []client.Object { return originObjects(o.Stores, s) }
	}
	return u
}

// protecting is a compiled schedule, and what it was compiled with.
type protecting struct {
	program   *program
	governors []client.Object
}

// count returns the last count, which must not be changed; nil if there is none. It waits
// for one that runs, but not long.
func (u *unprotectedCounter) count(patience time.Duration) map[string]int {
	running := u.start()
	if running != nil {
		select {
		case <-running:
		case <-time.After(patience):
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.counts
}

// start starts a count if the last one is too old, and returns the end of what runs.
func (u *unprotectedCounter) start() chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	age := u.clock.Since(u.counted)
	old := age < 0 || age >= max(unprotectedEvery, unprotectedShare*u.took) // age < 0: the clock was set back
	if u.running == nil && (u.counts == nil || old) {
		u.running = make(chan struct{})
		go u.run(u.running)
	}
	return u.running
}

func (u *unprotectedCounter) run(done chan struct{}) {
	defer close(done)
	began := u.clock.Now()
	counts := countUnprotected(u.stores.List(&corev1.PersistentVolumeClaim{}, ""), u.protecting(),
		Classes{Known: u.classesKnown, All: u.stores.List(&snapshotv1.VolumeSnapshotClass{}, "")})
	u.mu.Lock()
	defer u.mu.Unlock()
	u.counts, u.counted, u.running = counts, u.clock.Now(), nil
	u.took = u.counted.Sub(began)
}

// protecting returns the programs of each namespace that protect PVCs.
func (u *unprotectedCounter) protecting() map[string][]*program {
	before, all := u.programs, map[string][]*program{}
	u.programs = map[*v1alpha1.SnapshotSchedule]protecting{}
	for _, o := range u.stores.List(&v1alpha1.SnapshotSchedule{}, "") {
		s := o.(*v1alpha1.SnapshotSchedule)
		if s.DeletionTimestamp != nil {
			continue
		}
		var governors []client.Object
		if u.governors != nil {
			governors = u.governors(s)
		}
		p, known := before[s]
		if !known || !slices.Equal(p.governors, governors) {
			p.governors = governors
			p.program, _ = u.compile(s, originOf(s, governors), u.classesKnown) // nil if the spec is invalid
		}
		u.programs[s] = p
		if p.program != nil && !p.program.spec.suspend {
			all[s.Namespace] = append(all[s.Namespace], p.program)
		}
	}
	return all
}

// countUnprotected returns, for each namespace with a PVC that can be snapshotted,
// how many no schedule protects.
func countUnprotected(claims []client.Object, protecting map[string][]*program, classes Classes) map[string]int {
	counts := map[string]int{}
	for _, o := range claims {
		claim := o.(*corev1.PersistentVolumeClaim)
		// A rollback that nobody finishes leaves its PVCs out; whoever left them out on purpose has said so.
		if Excluded(claim) && !ExcludedOnlyByRollback(claim) || classes.SkipReason(claim) != "" {
			continue
		}
		n := counts[claim.Namespace]
		if !slices.ContainsFunc(protecting[claim.Namespace], func(p *program) bool {
			return p.selects(claim) && !metav1.IsControlledBy(claim, p.schedule)
		}) {
			n++
		}
		counts[claim.Namespace] = n
	}
	return counts
}
