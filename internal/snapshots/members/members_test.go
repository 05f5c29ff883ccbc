// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
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
	verbs []string
	// before is called before each request. Its error is the response.
	before func(verb string, o client.Object) error
}

func newServer(t *testing.T, objects ...client.Object) *server {
	s := &server{}
	ask := func(verb string, o client.Object) error {
		if s.verbs = append(s.verbs, verb); s.before != nil {
			return s.before(verb, o)
		}
		return nil
	}
	s.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, name client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := ask("get", o); err != nil {
				return err
			}
			return c.Get(ctx, name, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, all client.ObjectList, opts ...client.ListOption) error {
			if err := ask("list", nil); err != nil {
				return err
			}
			return c.List(ctx, all, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := ask("patch", o); err != nil {
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
	woken   int
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
		KeyOf:   func(client.Object) (mapcontroller.Request, bool) { return nightly, m.ours },
		Enqueue: func(mapcontroller.Request, time.Duration) { m.woken++ },
		Outputs: func(mapcontroller.Request) []client.Object { return outputs },
		Parent:  func(types.NamespacedName) client.Object { return m.parent },
	}
	return m
}

var nightly = mapcontroller.Request{Parent: client.ObjectKey{Namespace: "shop", Name: "nightly"}, MapKey: "g-" + strings.Repeat("a", 26)}

func (m *manager) pass(t *testing.T) time.Duration {
	t.Helper()
	result, err := m.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "nightly"}})
	if err != nil {
		t.Fatal(err)
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
			if wait := m.pass(t); wait != 30*time.Second || m.woken != 1 {
				t.Errorf("sought again after %s, woke the key %d times", wait, m.woken)
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
			if wait := m.pass(t); len(api.verbs) > 0 || wait > 0 && m.ours {
				t.Errorf("requests %v, again after %s", api.verbs, wait)
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
	setup := func(t *testing.T) (*server, *manager, *manager) {
		api := newServer(t, claim("a", "a-uid"), claim("b", "b-uid"), member("ma", "a"), member("mb", "b"))
		return api, newManager(api, group(time.Minute)), newManager(api, group(time.Minute))
	}
	t.Run("after a crash", func(t *testing.T) {
		api, first, second := setup(t)
		ctx, crash := context.WithCancel(t.Context())
		api.before = func(verb string, _ client.Object) error {
			if verb == "patch" && api.count("patch") > 1 {
				crash()
				return ctx.Err()
			}
			return nil
		}
		_, _ = first.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "nightly"}})
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
		api, first, second := setup(t)
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
		if got, failed := api.labels(t), first.Failed(nightly); got != "ma=nightly mb=nightly" || len(failed) > 0 {
			t.Errorf("labeled %q, failed %v", got, failed)
		}
	})
	t.Run("with an outdated cache", func(t *testing.T) {
		api, first, second := setup(t)
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
		if err := m.label(t.Context(), group(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if api.count("list") != 1 {
		t.Errorf("%d lists", api.count("list"))
	}
	m.clock.SetTime(noon.Add(sharedFor))
	if err := m.label(t.Context(), group(time.Hour)); err != nil || api.count("list") != 2 {
		t.Errorf("%d lists after %s, %v", api.count("list"), sharedFor, err)
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
	if m.pass(t); len(m.Failed(nightly)) > 0 || api.labels(t) != "ma=nightly" {
		t.Errorf("labeled %q, failed %v", api.labels(t), m.Failed(nightly))
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
