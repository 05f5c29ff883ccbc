// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// queued is a Controller behind controller-runtime's own controller and priority
// queue. Its time is that of the test's bubble.
type queued struct {
	*harness
	start time.Time
	queue keyQueue

	mu sync.Mutex
	// passes are the times of passes, by map key.
	passes map[string][]time.Duration
	// during is called in each pass.
	during func(Request)
}

func newQueued(t *testing.T, cached []client.Object, change func(*MapController, *Options)) *queued {
	t.Helper()
	q := &queued{start: time.Now(), passes: map[string][]time.Duration{}}
	q.harness = newHarness(t, cached, cached, func(c *MapController, o *Options) {
		o.Clock, o.Workers = clock.RealClock{}, 1
		if change != nil {
			change(c, o)
		}
	})
	q.clock.SetTime(q.start) // the API server's
	c, err := ctrl.NewTypedUnmanaged("test", ctrl.TypedOptions[Request]{
		SkipNameValidation: new(true), MaxConcurrentReconciles: q.options.Workers, RateLimiter: q.attempts, Reconciler: q.reconciler(),
		UsePriorityQueue: new(true), LogConstructor: func(*Request) logr.Logger { return logr.Discard() },
	})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Watch(source.TypedFunc[Request](func(_ context.Context, w workqueue.TypedRateLimitingInterface[Request]) error {
		q.queue = w
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	done.Go(func() {
		if err := c.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
	synctest.Wait()
	if _, ok := q.queue.(priorityqueue.PriorityQueue[Request]); !ok {
		t.Fatalf("the queue is a %T", q.queue)
	}
	return q
}

func (q *queued) reconciler() reconcile.TypedReconciler[Request] {
	return reconcile.TypedFunc[Request](func(ctx context.Context, req Request) (reconcile.Result, error) {
		q.mu.Lock()
		q.passes[req.MapKey] = append(q.passes[req.MapKey], time.Since(q.start))
		q.mu.Unlock()
		q.clock.SetTime(time.Now())
		if q.during != nil {
			q.during(req)
		}
		return q.Reconcile(ctx, req)
	})
}

// until lets time pass until so long after the start.
func (q *queued) until(after time.Duration) {
	time.Sleep(time.Until(q.start.Add(after)))
	synctest.Wait()
}

// passesOf returns the times of the passes over a key.
func (q *queued) passesOf(req Request) []time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.passes[req.MapKey])
}

func (q *queued) wantPasses(t *testing.T, want ...time.Duration) {
	t.Helper()
	got := q.passesOf(testKey)
	equal := slices.EqualFunc(got, want, func(a, b time.Duration) bool { return (a - b).Abs() <= 5*time.Millisecond })
	if !equal {
		t.Errorf("passes at %v, want %v", got, want)
	}
}

// createFails makes every create fail.
func (q *queued) createFails() {
	q.api.Fail(apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "in", nil), "create")
}

// dueAt makes the decision fall due again at some time after the start.
func (q *queued) dueAt(after time.Duration) {
	q.program.Map = func(plan.Observation) plan.Decision {
		d := Decision{Ensure: []Desired{{Object: &corev1.Pod{ObjectMeta: fixture.Output("in").ObjectMeta}}}}
		if due := q.start.Add(after); time.Now().Before(due) {
			d.Next = due
		}
		return d
	}
}

// The objects of a key with an input, without and with its output.
var (
	uncreated = []client.Object{fixture.Parent(), fixture.Input()}
	created   = []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in")}
)

const second, minute = time.Second, time.Minute

func TestQueueRequeuesErrorsWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(t, uncreated, nil)
		q.createFails()
		q.queue.Add(testKey)
		q.until(20 * second)
		q.wantPasses(t, 0, 1*second, 3*second, 7*second, 15*second)
	})
}

func TestQueueRequeuesErrorsAtAnEarlierDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(t, uncreated, nil)
		q.createFails()
		q.dueAt(4 * second)
		q.queue.Add(testKey)
		q.until(10 * second)
		q.wantPasses(t, 0, 1*second, 3*second, 4*second, 7*second)
	})
}

func TestQueueRequeuesErrorsAtAnEarlierTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cached := append(slices.Clone(uncreated), fixture.Output("a"), fixture.Output("b"), fixture.Output("c"))
		q := newQueued(t, cached, func(_ *MapController, o *Options) { o.DeletesPerSecond = 2 })
		q.createFails()
		// The cache shows each delete at once: otherwise the key is held back.
		gone := []string{"in"}
		q.api.After = func(verb string, o runtime.Object) {
			if verb == "delete" {
				pod := o.(*corev1.Pod)
				gone = append(gone, pod.Name)
				go send(q.outputEvents(q.spec.Outputs[0]), discard{q.queue}, new(pod), nil)
			}
		}
		decide := q.program.Map
		q.program.Map = func(seen plan.Observation) plan.Decision {
			d := decide(seen)
			d.Delete = fixture.DeleteAllBut(seen.Outputs, gone...)
			return d
		}
		q.queue.Add(testKey)
		q.until(second - 10*time.Millisecond)
		q.wantPasses(t, 0, second/2)
		if got := q.api.Pods(t); len(got) != 0 {
			t.Errorf("left %v", got)
		}
	})
}

// discard drops what is added.
type discard struct{ keyQueue }

func (discard) Add(Request) {}

func TestQueueEventsDoNotLengthenTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(t, uncreated, nil)
		q.createFails()
		q.queue.Add(testKey)
		for i := range 70 {
			q.until(time.Duration(i) * second / 10)
			q.queue.Add(testKey)
		}
		q.until(7*second - 10*time.Millisecond)
		if got := q.attempts.NumRequeues(testKey); got != 3 {
			t.Errorf("%d failures are counted, want those at 0, 1 and 3 s", got)
		}
		before := len(q.passesOf(testKey))
		q.until(14 * second)
		if got := q.passesOf(testKey)[before:]; len(got) != 1 || got[0].Round(second) != 7*second {
			t.Errorf("passes at %v, want one at 7 s", got)
		}
	})
}

// Every key is reconciled within 15 minutes, whatever its decision says.
func TestQueueReconcilesEveryKeyPeriodically(t *testing.T) {
	for name, due := range map[string]time.Duration{"nothing is due": 0, "something is due in a day": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueued(t, created, nil)
				q.dueAt(due)
				send(q.parentEvents(), q.queue, nil, new(fixture.Parent()))
				q.until(46 * minute)
				q.wantPasses(t, 0, 15*minute, 30*minute, 45*minute)
			})
		})
	}
}

// An event consumes the delayed requeue of the pass before. Its own pass must
// requeue the key again, and only once.
func TestQueueEventsConsumeTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(t, created, nil)
		q.dueAt(10 * minute)
		q.queue.Add(testKey)
		q.until(minute)
		q.queue.Add(testKey)
		q.until(20 * minute)
		q.wantPasses(t, 0, minute, 10*minute)
	})
}

// A key that was enqueued by a fan-out must not starve under the next one.
func TestQueueRequeuesOvertakeAFanOut(t *testing.T) {
	for name, failing := range map[string]bool{"a due time": false, "an error": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cached := created
				if failing {
					cached = uncreated
				}
				q := newQueued(t, cached, nil)
				if failing {
					q.createFails()
				}
				q.dueAt(second)
				pq := q.queue.(priorityqueue.PriorityQueue[Request])
				low := priorityqueue.AddOpts{Priority: &fanOutPriority}
				pq.AddWithOpts(low, testKey)
				q.until(second / 2)

				// While the key falls due, many others of the next fan-out are waiting.
				q.during = func(req Request) {
					if req != testKey {
						time.Sleep(second / 10)
					}
				}
				for i := range 100 {
					pq.AddWithOpts(low, Request{Parent: testKey.Parent, MapKey: fmt.Sprint(i)})
				}
				q.until(5 * second)
				if at := q.passesOf(testKey); len(at) < 2 || at[1] > second+second/5 {
					t.Errorf("passes at %v", at)
				}
			})
		})
	}
}

// While the creates of one namespace hang, the keys of another are reconciled at once.
func TestQueueServesOtherNamespacesWhileOneHangs(t *testing.T) {
	inNamespace := func(o client.Object, namespace string) client.Object {
		o.SetNamespace(namespace)
		return o
	}
	cached := []client.Object{inNamespace(fixture.Parent(), "other"), inNamespace(fixture.Input(), "other"), fixture.Parent()}
	for i := range 100 {
		cached = append(cached, fixture.Input(func(s *corev1.Secret) { s.Name = fmt.Sprint(i); s.UID = types.UID(s.Name) }))
	}
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(t, cached, func(_ *MapController, o *Options) { o.Workers = 8 })
		var mu sync.Mutex
		tried, hanging, most := map[string]bool{}, 0, 0
		hang := func(name string, by int) {
			mu.Lock()
			defer mu.Unlock()
			tried[name] = true
			hanging += by
			most = max(most, hanging)
		}
		q.executor.Client = interceptor.NewClient(q.api, interceptor.Funcs{
			Create: func(ctx context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
				if o.GetNamespace() != "ns" {
					return nil
				}
				hang(o.GetName(), 1)
				defer hang(o.GetName(), -1)
				<-ctx.Done()
				return ctx.Err()
			},
		})
		if err := q.keySource(t.Context(), q.queue); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			q.queue.Add(Request{Parent: testKey.Parent, MapKey: fmt.Sprint(i)})
		}
		q.until(second)
		other := Request{Parent: types.NamespacedName{Namespace: "other", Name: "p"}, MapKey: testKey.MapKey}
		q.queue.Add(other)
		q.until(2 * second)
		mu.Lock()
		if got := q.passesOf(other); len(got) != 1 || got[0] > second+100*time.Millisecond || most != 4 {
			t.Errorf("the other namespace was reconciled at %v, while %d of 8 workers hang", got, most)
		}
		mu.Unlock()
		// Each of the others has its turn: 4 in 40 s.
		q.until(20 * minute)
		mu.Lock()
		defer mu.Unlock()
		if len(tried) != 100 {
			t.Errorf("%d of 100 were tried", len(tried))
		}
	})
}

// A key whose create has to wait is reconciled when it is enqueued, also from within a
// pass, and not before.
func TestQueueOfCreatesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := "busy"
		var enqueue func(Request, time.Duration)
		q := newQueued(t, []client.Object{fixture.Parent(), fixture.Input()}, func(c *MapController, _ *Options) {
			c.Connect = func(a Access) { enqueue = a.Enqueue }
			c.Gate = func(req Request, _ []Desired, _ []client.Object) string {
				if why != "" {
					enqueue(req, time.Minute)
				}
				return why
			}
		})
		if err := q.keys.Start(t.Context(), q.queue); err != nil {
			t.Fatal(err)
		}
		q.queue.Add(testKey)
		q.until(90 * time.Second)
		q.wantPasses(t, 0, time.Minute)
		why = ""
		enqueue(testKey, 0)
		q.until(100 * time.Second)
		q.wantPasses(t, 0, time.Minute, 90*time.Second)
		if got := q.api.Pods(t); !slices.Equal(got, []string{"in"}) {
			t.Errorf("left %v", got)
		}
	})
}
