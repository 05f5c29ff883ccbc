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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mapcontroller.dev/snapshotschedule/internal/backup"
)

// unprotectedIn returns the function that counts the PVCs that no schedule protects. Before
// the cache has every VolumeSnapshotClass, nothing is known.
func unprotectedIn(mgr manager.Manager, o Options, f *inFlight) func(context.Context) map[string]int {
	var listed atomic.Bool
	o.Stores.OnList(func(example runtime.Object, err error) {
		if _, isClass := example.(*snapshotv1.VolumeSnapshotClass); isClass && err == nil {
			listed.Store(true)
		}
	})
	u := &unprotectedCounter{clock: o.Clock, stores: o.Stores, classesKnown: f.classesKnown, spec: func(s types.NamespacedName) any {
		return f.engine.Spec(s)
	}}
	return func(ctx context.Context) map[string]int {
		if u.classesKnown && (!listed.Load() || !classesSynced(ctx, mgr.GetCache())) {
			return nil
		}
		return u.count(unprotectedPatience)
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
	clock        clock.PassiveClock
	stores       *Stores
	classesKnown bool
	// spec returns the program of a schedule; nil if its spec is invalid.
	spec func(schedule types.NamespacedName) any

	mu     sync.Mutex
	counts map[string]int
	// counted is when counts was known, and took how long that lasted.
	counted time.Time
	took    time.Duration
	// running is closed at the end of the count that runs; nil if none does.
	running chan struct{}
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
	all := map[string][]*program{}
	for _, s := range u.stores.List(anySchedule, "") {
		if p, valid := u.spec(client.ObjectKeyFromObject(s)).(*program); valid && !p.spec.suspend && !backup.Terminating(s) {
			all[s.GetNamespace()] = append(all[s.GetNamespace()], p)
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
