// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/doctor/prove/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// serverClock is the clock of an API server, which its answers have.
type serverClock func() time.Time

func (now serverClock) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Date": {now().UTC().Format(http.TimeFormat)}}, Body: http.NoBody,
	}, nil
}

// factoryOf returns a factory for an API server with objects, and what is said.
func factoryOf(t *testing.T, now serverClock, funcs interceptor.Funcs, objects ...client.Object) (*term.Factory, *bytes.Buffer) {
	t.Helper()
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	said := &bytes.Buffer{}
	f := &term.Factory{
		IOStreams: genericiooptions.IOStreams{Out: said, ErrOut: said}, Clock: clock.RealClock{}, Config: genericclioptions.NewConfigFlags(true),
		Client: fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(objects...).WithInterceptorFuncs(funcs).Build(),
	}
	f.Config.APIServer = ptr.To("http://server.example.com")
	f.Config.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.Transport = now
		return c
	}
	return f, said
}

func exists(t *testing.T, f *term.Factory, o client.Object) bool {
	t.Helper()
	err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return !apierrors.IsNotFound(err)
}

// Of two proofs that begin at once, one gives way. Where each namespace has its own users, a proof waits for its own ones.
//
// Contract: DOC-5.
func TestHowAProofBegins(t *testing.T) {
	const users = "1000680000/10000"
	for name, tc := range map[string]struct {
		// others are how much older the namespaces of other proofs are, and marked is how old their marks are.
		others []time.Duration
		marked time.Duration
		// ownUsers is set if namespaces have their own users, and given after how long this one has; zero: never.
		ownUsers bool
		given    time.Duration
		wantErr  string
		stays    bool
	}{
		"alone":                               {stays: true},
		"beside an older one":                 {others: []time.Duration{time.Minute}, wantErr: "another proof runs in namespace snapsched-proof-00000"},
		"beside an older one that was killed": {others: []time.Duration{time.Hour}, marked: core.Dead, stays: true},
		"beside a younger one":                {others: []time.Duration{-time.Second}, stays: true},
		"beside one of the same second":       {others: []time.Duration{0}, wantErr: "another proof runs in namespace snapsched-proof-00000"},
		"before its namespace has users":      {ownUsers: true, given: 3 * time.Second, stays: true},
		"in a namespace that gets no users":   {ownUsers: true, wantErr: "has no annotation " + uidRange + " yet", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var objects []client.Object
				for _, older := range tc.others {
					o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
						Name: core.Namespace("00000"), CreationTimestamp: metav1.NewTime(time.Now().Add(-older)),
					}}
					core.Mark(o, "00000", time.Now().Add(-tc.marked))
					objects = append(objects, o)
				}
				f, _ := factoryOf(t, time.Now, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
						o.SetCreationTimestamp(metav1.Now())
						if err := c.Create(ctx, o, opts...); err != nil || tc.given == 0 {
							return err
						}
						now := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.GetName()}}
						patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, uidRange, users)
						time.AfterFunc(tc.given, func() { _ = c.Patch(ctx, now, client.RawPatch(types.MergePatchType, patch)) })
						return nil
					},
				}, objects...)
				r := &run{f: f, started: time.Now(), proof: core.Proof{AsUser: !tc.ownUsers}}
				if err := r.readClock(t.Context()); err != nil {
					t.Fatal(err)
				}
				err := r.begin(t.Context())
				if (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
					t.Error(err)
				}
				if stays := exists(t, f, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: core.Namespace(r.proof.ID)}}); stays != tc.stays {
					t.Errorf("its namespace stays: %t", stays)
				}
				if err == nil && tc.ownUsers && r.namespace.Annotations[uidRange] != users {
					t.Error("it goes on in a namespace without users")
				}
			})
		})
	}
}

// A machine's clock may be wrong, and stands still while it sleeps. Then another proof may have removed what this one made.
//
// Contract: DOC-5.
func TestAMachineThatSlept(t *testing.T) {
	for name, tc := range map[string]struct {
		runs, sleeps time.Duration
		renews       bool
		wantErr      string
	}{
		"it has just renewed its mark":            {runs: time.Minute - time.Second},
		"it did not sleep":                        {runs: time.Minute, renews: true},
		"for minutes":                             {runs: time.Minute, sleeps: 7 * time.Minute, renews: true},
		"until its mark counts for a minute more": {runs: time.Minute, sleeps: 8 * time.Minute, wantErr: "this machine stood still for 9m"},
		"for a night":                             {runs: time.Minute, sleeps: 8 * time.Hour, wantErr: "this machine stood still for 8h1m"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ahead := 24 * time.Hour
				server := func() time.Time { return time.Now().Add(ahead) }
				began := server()
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: core.Namespace("abcde")}}
				mine := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: snapshotv1.VolumeSnapshotContentSpec{
					DeletionPolicy: snapshotv1.VolumeSnapshotContentRetain, VolumeSnapshotRef: corev1.ObjectReference{Namespace: namespace.Name},
					Source: snapshotv1.VolumeSnapshotContentSource{SnapshotHandle: ptr.To("h")},
				}}
				labeled := mine.DeepCopy()
				labeled.Name, labeled.Spec.VolumeSnapshotRef.Namespace = "labeled", "shop"
				for _, o := range []client.Object{namespace, mine, labeled} {
					core.Mark(o, "abcde", began)
				}
				f, _ := factoryOf(t, server, interceptor.Funcs{}, namespace, mine, labeled)
				r := &run{f: f, namespace: namespace, proof: core.Proof{ID: "abcde"}}
				if err := r.readClock(t.Context()); err != nil {
					t.Fatal(err)
				}
				r.renewed = r.now()
				time.Sleep(tc.runs)
				ahead += tc.sleeps
				err := r.renew(t.Context())
				if (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
					t.Error(err)
				}
				for o, renews := range map[client.Object]bool{namespace: tc.renews, mine: tc.renews, labeled: false} {
					want := began
					if renews {
						want = server()
					}
					if !exists(t, f, o) || o.GetAnnotations()[v1alpha1.AnnotationProofRenewed] != term.Timestamp(want) {
						t.Errorf("%s has %v", o.GetName(), o.GetAnnotations())
					}
				}
			})
		})
	}
}

// A group snapshot that is deleted before it is bound, or soon after, leaves its data in the storage.
//
// Contract: DOC-5.
func TestGroupSnapshotsAreDeletedOnceTheyHaveSettled(t *testing.T) {
	for name, tc := range map[string]struct {
		// age is that of the group snapshot at first, and left the time that is left.
		age, left time.Duration
		unbound   bool
		// want is its age when it is deleted; zero: it is not.
		want time.Duration
	}{
		"a young one":                        {age: 10 * time.Second, left: goes, want: settles},
		"a young one, when the time is up":   {left: -time.Minute, want: settles},
		"an old one":                         {age: time.Hour, left: goes, want: time.Hour},
		"one that is not bound":              {age: time.Hour, left: goes, unbound: true},
		"one that is not bound, and no time": {left: -time.Minute, unbound: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				created := time.Now().Add(-tc.age)
				v := &groupv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{
					Namespace: core.Namespace("abcde"), Name: "cut-1", CreationTimestamp: metav1.NewTime(created), Finalizers: []string{backup.BoundFinalizer},
				}}
				if !tc.unbound {
					v.Status = &groupv1.VolumeGroupSnapshotStatus{BoundVolumeGroupSnapshotContentName: ptr.To("content")}
				}
				var deleted time.Duration
				f, _ := factoryOf(t, time.Now, interceptor.Funcs{
					Delete: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
						deleted = time.Since(created)
						o.SetFinalizers(nil)
						if err := c.Update(ctx, o); err != nil {
							return err
						}
						return c.Delete(ctx, o)
					},
				}, v)
				if err := (&removal{f: f, goes: tc.left}).removeGroups(t.Context(), v.Namespace); err != nil {
					t.Fatal(err)
				}
				if stays := exists(t, f, v); stays != tc.unbound {
					t.Errorf("it stays: %t", stays)
				}
				if tc.unbound != (deleted == 0) || !tc.unbound && (deleted < tc.want || deleted > tc.want+2*time.Second) {
					t.Errorf("it was deleted when it was %s old, not %s", deleted, tc.want)
				}
			})
		})
	}
}

// The finalizer by which the provisioner protects the source of a PVC is taken off where it never will, and no other one: the snapshot
// controller's own is there until the data is deleted.
//
// Contract: DOC-5.
func TestWhichSnapshotsAreReleased(t *testing.T) {
	const asSource, bound = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection",
		"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
	namespace := core.Namespace("abcde")
	for name, tc := range map[string]struct {
		finalizers []string
		claim      bool
		stays      bool
	}{
		"the provisioner's, and no PVC waits": {finalizers: []string{asSource}},
		"a PVC waits":                         {finalizers: []string{asSource}, claim: true, stays: true},
		"the snapshot controller's, too":      {finalizers: []string{asSource, bound}, stays: true},
		"the snapshot controller's":           {finalizers: []string{bound}, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: "first", Finalizers: tc.finalizers, DeletionTimestamp: ptr.To(metav1.Now()),
			}}
			objects := []client.Object{v}
			if tc.claim {
				objects = append(objects, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "restored"}})
			}
			f, _ := factoryOf(t, time.Now, interceptor.Funcs{}, objects...)
			if n, err := release(t.Context(), f, namespace); err != nil || n != len(objects) {
				t.Error(n, err)
			}
			if exists(t, f, v) != tc.stays {
				t.Errorf("it stays: %t", !tc.stays)
			}
		})
	}
}

// Contract: DOC-5.
func TestClassesThatKeepWhatIsDeleted(t *testing.T) {
	const retain = corev1.PersistentVolumeReclaimRetain
	for name, tc := range map[string]struct {
		storage   *corev1.PersistentVolumeReclaimPolicy
		snapshots snapshotv1.DeletionPolicy
		// proves is set if group snapshots are proven, too, and groups if their class keeps them.
		groups, proves bool
		want           string
	}{
		"none":                              {proves: true},
		"of storage":                        {storage: ptr.To(retain), want: "StorageClass fast has reclaimPolicy"},
		"of snapshots":                      {snapshots: snapshotv1.VolumeSnapshotContentRetain, want: "VolumeSnapshotClass mock has deletionPolicy"},
		"of groups":                         {groups: true, proves: true, want: "VolumeGroupSnapshotClass groups has deletionPolicy"},
		"of groups, which it does not take": {groups: true},
	} {
		c := chosen{
			storage: &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, ReclaimPolicy: tc.storage},
			class:   &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "mock"}, DeletionPolicy: tc.snapshots},
		}
		group := &groupv1.VolumeGroupSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "groups"}, DeletionPolicy: "Delete"}
		if tc.groups {
			group.DeletionPolicy = "Retain"
		}
		if got := (&Proof{groups: tc.proves}).keeps(c, group); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
