// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

const snapshotsEach = 40

// mostAllocations is what a look at a key with that many snapshots may take.
const mostAllocations = 40

// machine turns the engine over a population, where nothing is due: it has no
// client that it could write with.
func (p *population) machine(tb testing.TB) *mapcontroller.Machine {
	tb.Helper()
	scheme := k8sruntime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	m, err := Assemble(mapcontroller.Parts{Scheme: scheme}, events.NewFakeRecorder(10), Options{
		Workers: 1, StatusInterval: time.Second, MaxClockSkew: time.Minute,
		Clock:  clocktesting.NewFakePassiveClock(noon),
		Stores: p.stores,
	})
	must(tb, err)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[mapcontroller.Request]())
	for _, s := range p.schedules.List() {
		m.Parents.Create(context.Background(), event.TypedCreateEvent[client.Object]{Object: s.(client.Object)}, queue)
	}
	queue.ShutDown()
	return m
}

func keyOf(i int) mapcontroller.Request {
	return mapcontroller.Request{
		Parent: client.ObjectKeyFromObject(every("1h").SnapshotSchedule),
		MapKey: string(nthClaim(i).UID),
	}
}

func look(tb testing.TB, m *mapcontroller.Machine, key mapcontroller.Request) {
	tb.Helper()
	result, err := m.Keys.Reconcile(context.Background(), key)
	if err != nil || result.RequeueAfter == 0 {
		tb.Fatalf("%v, %v: the key should be looked at again, in time", result, err)
	}
}

// aTown is a population whose keys have all been looked at.
type aTown struct {
	claims  int
	machine *mapcontroller.Machine
	keys    []mapcontroller.Request
}

// town is the last one: to build a million takes a minute, and benchmarks are
// repeated.
var town aTown

func newTown(b *testing.B, claims int) aTown {
	t := aTown{claims: claims, machine: populated(b, claims, snapshotsEach).machine(b), keys: make([]mapcontroller.Request, claims)}
	for i := range claims {
		t.keys[i] = keyOf(i)
		look(b, t.machine, t.keys[i])
	}
	return t
}

func BenchmarkReconcileKey(b *testing.B) {
	for _, total := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("snapshots=%d", total), func(b *testing.B) {
			if town.claims != total/snapshotsEach {
				town = newTown(b, total/snapshotsEach)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				// Far apart, as keys that fall due are.
				i = (i + 7919) % town.claims
				look(b, town.machine, town.keys[i])
			}
		})
	}
}

// BenchmarkRouteClaim is the event of a PVC in a namespace with so many
// schedules, none of which selects it.
func BenchmarkRouteClaim(b *testing.B) {
	for _, schedules := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("schedules=%d", schedules), func(b *testing.B) {
			p := newPopulation()
			for i := range schedules {
				s := every("1h")
				s.Name, s.UID = fmt.Sprintf("backup-%d", i), types.UID(fmt.Sprintf("schedule-uid-%d", i))
				s.Spec.Selector.MatchLabels = map[string]string{"app": fmt.Sprintf("app-%d", i)}
				must(b, p.schedules.Add(s.SnapshotSchedule))
			}
			m := p.machine(b)
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[mapcontroller.Request]())
			defer queue.ShutDown()
			c := nthClaim(1)
			c.Labels = map[string]string{"app": "none"}
			e := event.TypedCreateEvent[client.Object]{Object: c.PersistentVolumeClaim}
			b.ReportAllocs()
			for b.Loop() {
				m.Inputs[0].Create(context.Background(), e, queue)
			}
			if queue.Len() > 0 {
				b.Error("a key was woken")
			}
		})
	}
}

// A look at one key costs the same however many others there are.
func TestWorkOfAKeyDoesNotGrowWithTheNamespace(t *testing.T) {
	fewAllocs, fewBytes := costOfALook(t, 10)
	manyAllocs, manyBytes := costOfALook(t, 200)
	t.Logf("%v allocations of %d bytes with 10 PVCs, %v of %d with 200", fewAllocs, fewBytes, manyAllocs, manyBytes)
	if manyAllocs > fewAllocs || manyBytes > fewBytes+fewBytes/10 {
		t.Errorf("a look allocates %v times, %d bytes with 200 PVCs; %v times, %d bytes with 10",
			manyAllocs, manyBytes, fewAllocs, fewBytes)
	}
	if fewAllocs > mostAllocations {
		t.Errorf("a look at a key with %d snapshots allocates %v times, want at most %v", snapshotsEach, fewAllocs, mostAllocations)
	}
}

func costOfALook(t *testing.T, claims int) (allocs float64, bytes uint64) {
	const runs = 1000
	m := populated(t, claims, snapshotsEach).machine(t)
	key := keyOf(claims / 2)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	allocs = testing.AllocsPerRun(runs, func() { look(t, m, key) })
	runtime.ReadMemStats(&after)
	return allocs, (after.TotalAlloc - before.TotalAlloc) / (runs + 1)
}
