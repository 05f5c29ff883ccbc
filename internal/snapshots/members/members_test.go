// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// scheme has the kinds that are read.
func scheme(t *testing.T) *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, snapshotv1.AddToScheme, groupv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// server is an API server.
type server struct {
	client.WithWatch
	mu    sync.Mutex
	verbs []string
	// hangs returns whether a request is not answered.
	hangs func(verb, namespace string) bool
	// before is called before each request. Its error is the response.
	before func(verb string, o client.Object) error
}

func newServer(t *testing.T, objects ...client.Object) *server {
	s := &server{}
	ask := func(ctx context.Context, verb, namespace string, o client.Object) error {
		s.mu.Lock()
		s.verbs = append(s.verbs, verb)
		s.mu.Unlock()
		if s.hangs != nil && s.hangs(verb, namespace) {
			<-ctx.Done()
			return ctx.Err()
		}
		if s.before != nil {
			return s.before(verb, o)
		}
		return nil
	}
	s.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, name client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := ask(ctx, "get", name.Namespace, o); err != nil {
				return err
			}
			return c.Get(ctx, name, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, all client.ObjectList, opts ...client.ListOption) error {
			if err := ask(ctx, "list", (&client.ListOptions{}).ApplyOptions(opts).Namespace, nil); err != nil {
				return err
			}
			return c.List(ctx, all, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := ask(ctx, "patch", o.GetNamespace(), o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	return s
}

func (s *server) count(verb string) (n int) {
	for _, v := range s.verbs {
		if v == verb {
			n++
		}
	}
	return n
}

// labels returns the label of each VolumeSnapshot that has it.
func (s *server) labels(t *testing.T) string {
	t.Helper()
	var all snapshotv1.VolumeSnapshotList
	if err := s.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	s.verbs = s.verbs[:len(s.verbs)-1]
	var labels []string
	for _, v := range all.Items {
		if of, has := v.Labels[v1alpha1.LabelGroupSnapshot]; has {
			labels = append(labels, v.Name+"="+of)
		}
	}
	return strings.Join(labels, " ")
}

// manager is a process: what it has in its caches, and what it woke.
type manager struct {
	*Members
	clock   *clocktesting.FakePassiveClock
	members toolscache.Indexer
	ours    bool
	parent  *v1alpha1.SnapshotSchedule
	woken   atomic.Int32
}

func newManager(api *server, groups ...*groupv1.VolumeGroupSnapshot) *manager {
	stores, inCache := informer.NewStores(), toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	var outputs []client.Object
	for _, g := range groups {
		_ = inCache.Add(g)
		outputs = append(outputs, g)
	}
	stores.Add(&groupv1.VolumeGroupSnapshot{}, inCache)
	m := &manager{clock: clocktesting.NewFakePassiveClock(noon), ours: true, parent: &v1alpha1.SnapshotSchedule{}}
	m.members = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, informer.Indexers(byGroup))
	m.Members = New(mapcontroller.Options{Clock: m.clock, Stores: stores})
	m.labeled.Add(&snapshotv1.VolumeSnapshot{}, m.members)
	m.api, m.live = api, api
	m.Engine = mapcontroller.Access{
		KeyOf:   func(o client.Object) (mapcontroller.Request, bool) { return nightly, o != nil && m.ours },
		Enqueue: func(mapcontroller.Request, time.Duration) { m.woken.Add(1) },
		Outputs: func(mapcontroller.Request) []client.Object { return outputs },
		Parent:  func(types.NamespacedName) client.Object { return m.parent },
	}
	return m
}

var ofNightly = reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "nightly"}}

var nightly = mapcontroller.Request{Parent: client.ObjectKey{Namespace: "shop", Name: "nightly"}, MapKey: "g-" + strings.Repeat("a", 26)}

func (m *manager) pass(t *testing.T) time.Duration {
	t.Helper()
	result, err := m.Reconcile(t.Context(), ofNightly)
	if err != nil {
		t.Fatal(err)
	}
	if result.RequeueAfter > 0 && (result.Priority == nil || *result.Priority != 0) {
		t.Error("it is requeued at the priority that it had, which may be a low one")
	}
	return result.RequeueAfter
}

// group was cut some time ago of PVCs a and b.
func group(age time.Duration, changes ...func(*groupv1.VolumeGroupSnapshot)) *groupv1.VolumeGroupSnapshot {
	at := metav1.NewTime(noon.Add(-age))
	v := &groupv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "nightly", UID: "group", CreationTimestamp: at,
		Labels:      map[string]string{v1alpha1.LabelMapKey: nightly.MapKey},
		Annotations: map[string]string{v1alpha1.AnnotationClaims: `{"a":"a-uid","b":"b-uid"}`},
	}}
	v.Status = &groupv1.VolumeGroupSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: &at}
	for _, change := range changes {
		change(v)
	}
	return v
}

func member(name, claim string, changes ...func(*snapshotv1.VolumeSnapshot)) *snapshotv1.VolumeSnapshot {
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID(name),
		OwnerReferences: []metav1.OwnerReference{{Kind: "VolumeGroupSnapshot", Name: "nightly", UID: "group"}},
	}}
	v.Spec.Source.PersistentVolumeClaimName = &claim
	v.Status = &snapshotv1.VolumeSnapshotStatus{VolumeGroupSnapshotName: ptr.To("nightly")}
	for _, change := range changes {
		change(v)
	}
	return v
}

func labeled(with string) func(*snapshotv1.VolumeSnapshot) {
	return func(v *snapshotv1.VolumeSnapshot) { v.Labels = map[string]string{v1alpha1.LabelGroupSnapshot: with} }
}

func claim(name, uid string) client.Object {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid)}}
}

// Contract: GRP-3.
func TestLabelsMembersOnly(t *testing.T) {
	a, b := claim("a", "a-uid"), claim("b", "b-uid")
	for name, tc := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"both": {[]client.Object{a, b, member("ma", "a"), member("mb", "b")}, "ma=nightly mb=nightly"},
		"one that the record does not know, so that it is seen": {[]client.Object{a, b, member("mc", "c")}, "mc=nightly"},
		"none of a group of the same name":                      {[]client.Object{a, member("ma", "a", func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences[0].UID = "before" })}, ""},
		"none that only forges the owner":                       {[]client.Object{a, member("ma", "a", func(v *snapshotv1.VolumeSnapshot) { v.Status = nil })}, ""},
		"none that only its status names":                       {[]client.Object{a, member("ma", "a", func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences = nil })}, ""},
		"none with a label, forged or not":                      {[]client.Object{a, member("ma", "a", labeled("other"))}, "ma=other"},
		"none whose PVC was created again":                      {[]client.Object{claim("a", "new"), b, member("ma", "a"), member("mb", "b")}, "mb=nightly"},
		"none whose PVC is gone":                                {[]client.Object{b, member("ma", "a"), member("mb", "b")}, "mb=nightly"},
	} {
		t.Run(name, func(t *testing.T) {
			api := newServer(t, tc.objects...)
			m := newManager(api, group(time.Minute))
			if wait := m.pass(t); wait != soonest || m.woken.Load() != 0 {
				t.Errorf("sought again after %s, woke the key %d times", wait, m.woken.Load())
			}
			if got := api.labels(t); got != tc.want {
				t.Errorf("labeled %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSeeksNoMembersOf(t *testing.T) {
	for name, change := range map[string]func(*manager, *groupv1.VolumeGroupSnapshot){
		"one that is not cut":       func(_ *manager, v *groupv1.VolumeGroupSnapshot) { v.Status = nil },
		"one that is being deleted": func(_ *manager, v *groupv1.VolumeGroupSnapshot) { v.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) },
		"one without a record":      func(_ *manager, v *groupv1.VolumeGroupSnapshot) { v.Annotations = nil },
		"one with the key of a PVC": func(_ *manager, v *groupv1.VolumeGroupSnapshot) { v.Labels[v1alpha1.LabelMapKey] = "a-uid" },
		"one that nobody owns":      func(m *manager, _ *groupv1.VolumeGroupSnapshot) { m.ours = false },
		"one of a schedule that is being deleted": func(m *manager, _ *groupv1.VolumeGroupSnapshot) {
			m.parent.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
		},
		"one that has all": func(m *manager, _ *groupv1.VolumeGroupSnapshot) {
			_ = m.members.Add(member("ma", "a", labeled("nightly")))
			_ = m.members.Add(member("mb", "b", labeled("nightly")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			api, v := newServer(t, claim("a", "a-uid"), member("ma", "a")), group(time.Minute)
			m := newManager(api, v)
			change(m, v)
			want := time.Duration(0)
			if !m.ours || m.parent.DeletionTimestamp != nil {
				want = latest // it may be adopted, or its schedule created again
			}
			if wait := m.pass(t); len(api.verbs) > 0 || wait != want || m.woken.Load() > 0 {
				t.Errorf("requests %v, again after %s, want %s; woke the key %d times", api.verbs, wait, want, m.woken.Load())
			}
		})
	}
	if api := newServer(t); newManager(api).pass(t) != 0 || len(api.verbs) > 0 {
		t.Error("requests for a group snapshot that is gone")
	}
}

// A process that dies between the list and its last patch leaves the rest to the next one, and two managers end with the same labels.
//
// Contract: GRP-3.
func TestAnotherManagerLabelsTheRest(t *testing.T) {
	setup := func(t *testing.T, age time.Duration) (*server, *manager, *manager) {
		api := newServer(t, claim("a", "a-uid"), claim("b", "b-uid"), member("ma", "a"), member("mb", "b"))
		return api, newManager(api, group(age)), newManager(api, group(age))
	}
	t.Run("after a crash", func(t *testing.T) {
		api, first, second := setup(t, time.Minute)
		ctx, crash := context.WithCancel(t.Context())
		api.before = func(verb string, _ client.Object) error {
			if verb == "patch" && api.count("patch") > 1 {
				crash()
				return ctx.Err()
			}
			return nil
		}
		_, _ = first.Reconcile(ctx, ofNightly)
		if got := api.labels(t); got != "ma=nightly" || len(first.Failed(nightly)) > 0 {
			t.Fatalf("labeled %q, failed %v", got, first.Failed(nightly))
		}
		api.before = nil
		second.pass(t)
		if got := api.labels(t); got != "ma=nightly mb=nightly" {
			t.Errorf("labeled %q", got)
		}
	})
	t.Run("at the same time", func(t *testing.T) {
		api, first, second := setup(t, 2*searchFor) // when nothing else has them sought
		api.before = func(verb string, _ client.Object) error {
			if verb == "patch" {
				api.before = nil
				second.pass(t) // between the read and the patch of the first
			}
			return nil
		}
		if wait := first.pass(t); wait != time.Second {
			t.Errorf("again after %s, want at once", wait)
		}
		if wait := first.pass(t); wait != time.Second { // an event, which takes the place of the requeue
			t.Errorf("after an event again after %s, want at once", wait)
		}
		if got, failed := api.labels(t), first.Failed(nightly); got != "ma=nightly mb=nightly" || len(failed) > 0 {
			t.Errorf("labeled %q, failed %v", got, failed)
		}
	})
	t.Run("with an outdated cache", func(t *testing.T) {
		api, first, second := setup(t, time.Minute)
		second.pass(t)
		patches := api.count("patch")
		first.pass(t) // its cache does not show the labels yet
		if api.count("patch") != patches || len(first.Failed(nightly)) > 0 {
			t.Errorf("%d patches, want %d; failed %v", api.count("patch"), patches, first.Failed(nightly))
		}
	})
}

// Contract: GRP-3.
func TestMembersAreSoughtEverMoreRarely(t *testing.T) {
	api := newServer(t)
	m := newManager(api, group(0))
	searches := func(from, to, every time.Duration) int {
		before := api.count("list")
		for at := from; at < to; at += every {
			m.clock.SetTime(noon.Add(at))
			m.pass(t) // as events come
		}
		return api.count("list") - before
	}
	if n := searches(0, time.Minute, time.Second/4); n < 6 || n > 20 {
		t.Errorf("%d searches in the first minute", n)
	}
	if n := searches(time.Minute, 24*time.Hour, 10*time.Second); n < 24 || n > 50 {
		t.Errorf("%d searches in the rest of the day", n)
	}
	m.clock.SetTime(noon.Add(25 * time.Hour))
	if wait := m.pass(t); wait != 0 {
		t.Errorf("time alone has them sought after a day, again after %s", wait)
	}
	before := api.count("list")
	m.clock.SetTime(noon)
	if m.pass(t); api.count("list") == before {
		t.Error("not sought after the clock was set back")
	}
}

// Many group snapshots are cut at once.
func TestGroupsOfANamespaceShareAList(t *testing.T) {
	api := newServer(t)
	m := newManager(api, group(time.Hour))
	for range 3 {
		if err := m.label(t.Context(), group(time.Hour), &search{}); err != nil {
			t.Fatal(err)
		}
	}
	if api.count("list") != 1 {
		t.Errorf("%d lists", api.count("list"))
	}
	m.clock.SetTime(noon.Add(soonest))
	if err := m.label(t.Context(), group(time.Hour), &search{}); err != nil || api.count("list") != 2 {
		t.Errorf("%d lists after %s, %v", api.count("list"), soonest, err)
	}
}

// Contract: GRP-3.
func TestLabelsThatAreRefusedAreReportedAndBackOff(t *testing.T) {
	api := newServer(t, claim("a", "a-uid"), member("ma", "a"))
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "volumesnapshots"}, "ma", errors.New("a policy"))
	api.before = func(verb string, _ client.Object) error {
		if verb == "patch" {
			return refused
		}
		return nil
	}
	m := newManager(api, group(48*time.Hour))
	var waits []time.Duration
	for range 12 {
		waits = append(waits, m.pass(t))
		m.pass(t) // an event that comes early
		if m.woken.Load() != 1 {
			t.Fatalf("the key was woken %d times, want once, as the error is the same", m.woken.Load())
		}
		m.clock.SetTime(m.clock.Now().Add(waits[len(waits)-1]))
	}
	if !slices.IsSorted(waits) || waits[0] != time.Second || waits[11] != slowest || api.count("patch") != 12 {
		t.Errorf("%d patches, with waits of %v", api.count("patch"), waits)
	}
	for _, backingOff := range []bool{false, true} {
		failed := m.Failed(nightly)
		if len(failed) != 1 || failed[0].Verb != VerbLabel || !errors.Is(failed[0].Err, refused) || failed[0].BackingOff != backingOff {
			t.Errorf("failed %+v, want one, backing off: %t", failed, backingOff)
		}
	}
	api.before = nil
	if m.pass(t); len(m.Failed(nightly)) > 0 || api.labels(t) != "ma=nightly" || m.woken.Load() != 2 {
		t.Errorf("labeled %q, failed %v, woke the key %d times", api.labels(t), m.Failed(nightly), m.woken.Load())
	}
}

// Contract: GRP-10.
func TestLiveReadsAllPages(t *testing.T) {
	api := newServer(t, member("ma", "a", labeled("nightly")), member("mb", "b", labeled("nightly")), member("mc", "c", labeled("other")))
	pages := 0
	paged := interceptor.NewClient(api, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, all client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, all, opts...)
			if pages++; pages == 1 {
				all.SetContinue("more")
			}
			return err
		},
	})
	found, err := Live(t.Context(), paged, group(time.Hour))
	if err != nil || len(found) != 4 || pages != 2 {
		t.Errorf("%d of 2 pages, %d objects, %v", pages, len(found), err)
	}
}

// A process that starts long after the cut does not wait for half of that time.
//
// Contract: GRP-3.
func TestMembersThatComeAfterTheFirstSearchAreLabeled(t *testing.T) {
	api := newServer(t, claim("a", "a-uid"), claim("b", "b-uid"))
	m := newManager(api, group(20*time.Minute))
	m.pass(t)
	for _, v := range []client.Object{member("ma", "a"), member("mb", "b")} {
		if err := api.Create(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	m.clock.SetTime(noon.Add(2 * time.Second))
	if m.pass(t); api.labels(t) != "ma=nightly mb=nightly" {
		t.Errorf("labeled %q", api.labels(t))
	}
}

// Contract: GRP-3.
func TestAConflictHidesNoOtherError(t *testing.T) {
	api := newServer(t, claim("a", "a-uid"), claim("b", "b-uid"), member("ma", "a"), member("mb", "b"))
	kind := schema.GroupResource{Resource: "volumesnapshots"}
	refused := apierrors.NewForbidden(kind, "mb", errors.New("a policy"))
	api.before = func(verb string, o client.Object) error {
		switch {
		case verb != "patch":
			return nil
		case o.GetName() == "ma":
			return apierrors.NewConflict(kind, "ma", errors.New("it has changed"))
		}
		return refused
	}
	m := newManager(api, group(time.Minute))
	m.pass(t)
	if failed := m.Failed(nightly); len(failed) != 1 || !errors.Is(failed[0].Err, refused) || apierrors.IsConflict(failed[0].Err) {
		t.Errorf("failed %v, want the refusal alone", failed)
	}
}

// Otherwise 100 members take an hour.
//
// Contract: GRP-3.
func TestAnAttemptEndsWhereAdmissionHangs(t *testing.T) {
	timeout := apierrors.NewInternalError(errors.New("failed calling webhook: context deadline exceeded"))
	for name, response := range map[string]error{"and refuses": timeout, "and allows": nil} {
		t.Run(name, func(t *testing.T) {
			api := newServer(t, claim("a", "a-uid"), claim("b", "b-uid"), member("ma", "a"), member("mb", "b"), member("mc", "c"))
			m := newManager(api, group(2*searchFor))
			var patched []string
			api.before = func(verb string, o client.Object) error {
				if verb == "patch" {
					patched = append(patched, o.GetName())
					m.clock.SetTime(m.clock.Now().Add(10 * time.Second))
					return response
				}
				return nil
			}
			for i := range 3 {
				wait := m.pass(t)
				if len(patched) != i+1 || i < 2 && wait == 0 {
					t.Fatalf("patched %v after %d attempts, again after %s", patched, i+1, wait)
				}
				if failed := len(m.Failed(nightly)) > 0; failed != (response != nil) {
					t.Errorf("reported: %t", failed)
				}
				m.clock.SetTime(m.clock.Now().Add(wait))
			}
			if slices.Sort(patched); !slices.Equal(patched, []string{"ma", "mb", "mc"}) {
				t.Errorf("patched %v, want each: what one hangs on, others may not", patched)
			}
		})
	}
}

// Contract: GRP-3.
func TestANamespaceThatHangsDelaysNoOther(t *testing.T) {
	for _, verb := range []string{"list", "get", "patch"} {
		t.Run(verb, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hung := group(time.Minute, func(v *groupv1.VolumeGroupSnapshot) { v.Namespace, v.UID = "hung", "hung" })
				theirs := member("ma", "a", func(v *snapshotv1.VolumeSnapshot) {
					v.Namespace, v.OwnerReferences[0].UID = "hung", "hung"
				})
				theirClaim := claim("a", "a-uid")
				theirClaim.SetNamespace("hung")
				api := newServer(t, theirClaim, theirs, claim("a", "a-uid"), member("mb", "a"))
				api.hangs = func(v, namespace string) bool { return v == verb && namespace == "hung" }
				m := newManager(api, group(time.Minute), hung)
				began, done := time.Now(), make(chan time.Duration)
				go func() {
					_, err := m.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(hung)})
					if err != nil {
						t.Error(err)
					}
					done <- time.Since(began)
				}()
				synctest.Wait()
				if m.pass(t); api.labels(t) != "mb=nightly" || time.Since(began) > 0 {
					t.Errorf("labeled %q after %s", api.labels(t), time.Since(began))
				}
				if took := <-done; took != mapcontroller.RequestTimeout {
					t.Errorf("the request that hangs ends after %s", took)
				}
			})
		})
	}
}

// Most of its group snapshots wait without a worker.
//
// Contract: GRP-3.
func TestANamespaceThatHangsLeavesWorkersToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := member("ma", "a")
		var groups []*groupv1.VolumeGroupSnapshot
		for i := range 2 * workers {
			groups = append(groups, group(time.Minute, func(v *groupv1.VolumeGroupSnapshot) {
				v.Name, v.UID = fmt.Sprint("g", i), types.UID(fmt.Sprint("g", i))
			}))
			v.OwnerReferences = append(v.OwnerReferences, metav1.OwnerReference{Kind: "VolumeGroupSnapshot", UID: groups[i].UID})
		}
		api := newServer(t, v)
		api.hangs = func(verb, _ string) bool { return verb == "get" }
		m := newManager(api, groups...)
		woken := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer woken.ShutDown()
		if err := m.queue.Start(t.Context(), woken); err != nil {
			t.Fatal(err)
		}
		var passes sync.WaitGroup
		var busy atomic.Int32
		for _, g := range groups {
			busy.Add(1)
			passes.Go(func() {
				defer busy.Add(-1)
				_, _ = m.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(g)})
			})
		}
		time.Sleep(5 * time.Second)
		if n := busy.Load(); n != workers/2 {
			t.Errorf("the namespace holds %d of %d workers", n, workers)
		}
		passes.Wait()
		synctest.Wait()
		if woken.Len() == 0 {
			t.Error("none of those that wait was woken")
		}
	})
}

// Decisions about a key wait for nothing else than the labels of its members.
//
// Contract: GRP-3.
func TestMembersWakeTheirKeyAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*manager)
		event  any
		want   int32
	}{
		"a member":                          {func(*manager) {}, member("ma", "a", labeled("nightly")), 1},
		"one that was deleted unseen":       {func(*manager) {}, toolscache.DeletedFinalStateUnknown{Obj: member("ma", "a", labeled("nightly"))}, 1},
		"one of another group":              {func(*manager) {}, member("ma", "a", labeled("other")), 0},
		"one of a group that somebody's is": {func(m *manager) { m.ours = false }, member("ma", "a", labeled("nightly")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager(newServer(t), group(time.Minute))
			woken := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer woken.ShutDown()
			if err := m.queue.Start(t.Context(), woken); err != nil {
				t.Fatal(err)
			}
			tc.change(m)
			if m.event(tc.event); m.woken.Load() != tc.want || woken.Len() != 1 {
				t.Errorf("woke the key %d times, want %d; %d group snapshots", m.woken.Load(), tc.want, woken.Len())
			}
		})
	}
}

// A resync comes every few hours, and an idle manager makes no request.
//
// Contract: GRP-3.
func TestAResyncOfMembersWakesNothing(t *testing.T) {
	m := newManager(newServer(t), group(time.Minute))
	before := member("ma", "a", labeled("nightly"))
	before.ResourceVersion = "7"
	if m.updated(before, before.DeepCopy()); m.woken.Load() != 0 {
		t.Error("a resync woke the key")
	}
	after := before.DeepCopy()
	after.ResourceVersion = "8"
	if m.updated(before, after); m.woken.Load() == 0 {
		t.Error("a change woke no key")
	}
}

// A schedule that is created again owns what it left by its labels, and nothing of it changes.
//
// Contract: GRP-3.
func TestAScheduleHasItsGroupSnapshotsSought(t *testing.T) {
	of := func(name, schedule string) *groupv1.VolumeGroupSnapshot {
		return group(time.Minute, func(v *groupv1.VolumeGroupSnapshot) { v.Name, v.Labels[v1alpha1.LabelSchedule] = name, schedule })
	}
	m := newManager(newServer(t), of("nightly", "nightly"), of("weekly", "weekly"))
	s := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nightly"}}
	if found := m.groupsOf(t.Context(), s); !slices.Equal(found, []reconcile.Request{ofNightly}) {
		t.Errorf("sought: %v", found)
	}
}
