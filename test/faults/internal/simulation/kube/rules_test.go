// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/httpapi"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// The rules are scripts, which end in the same way on this server and on a real one, both reached over HTTP.
func TestRules(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: make test-integration sets it")
	}
	g := NewWithT(t)
	crds, err := repo.SnapshotCRDFiles()
	g.Expect(err).NotTo(HaveOccurred())
	root, err := repo.Root()
	g.Expect(err).NotTo(HaveOccurred())
	environment := &envtest.Environment{
		CRDDirectoryPaths: append(crds, filepath.Join(root, "config", "crd", "bases")), ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(environment.Stop()).To(Succeed()) })
	config.QPS = -1
	actual, err := client.New(config, client.Options{Scheme: cluster.Scheme})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(actual.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}})).To(Succeed())
	mapper := meta.NewDefaultRESTMapper(nil)
	for k := range Classes {
		mapper.Add(k.GroupVersionKind(), meta.RESTScopeNamespace)
	}
	simulated, err := client.New(&rest.Config{
		Host: "http://simulated.invalid", Transport: roundTripper{newServer()}, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
	}, client.Options{Scheme: cluster.Scheme, Mapper: mapper})
	g.Expect(err).NotTo(HaveOccurred())
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			want, got := outcomes{api: actual}, outcomes{api: simulated}
			for n, step := range rule.script {
				NewWithT(t).Expect(got.of(t.Context(), rule.o, step)).To(Equal(want.of(t.Context(), rule.o, step)), "step %d", n+1)
			}
		})
	}
}

// roundTripper sends requests to a server in memory.
type roundTripper struct{ *Server }

// RoundTrip implements http.RoundTripper.
func (s roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := ParseRequest(r)
	if err != nil {
		return nil, err
	}
	answer, err := s.Serve(q)
	return httpapi.Answer(r, answer, err), nil
}

func newServer() *Server {
	n := 0
	return &Server{
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) },
		NewUID: func() types.UID {
			n++
			return types.UID(fmt.Sprintf("uid-%d", n))
		},
	}
}

// step is a request for an object, of which the server now has a version.
type step func(ctx context.Context, api client.Client, o, now client.Object) error

// create creates an object, of which JSON says more.
func create(text string) step {
	return func(ctx context.Context, api client.Client, o, _ client.Object) error {
		return errors.Join(json.Unmarshal([]byte(text), o), api.Create(ctx, o))
	}
}

// patch applies a merge patch, in which UID and VERSION stand for those that the object has.
func patch(text string) step {
	return func(ctx context.Context, api client.Client, o, now client.Object) error {
		return api.Patch(ctx, o, merging(text, now))
	}
}

// apply applies a JSON patch, in which the same stands for the same.
func apply(text string) step {
	return func(ctx context.Context, api client.Client, o, now client.Object) error {
		data, err := merging(text, now).Data(o)
		return errors.Join(err, api.Patch(ctx, o, client.RawPatch(types.JSONPatchType, data)))
	}
}

func patchStatus(text string) step {
	return func(ctx context.Context, api client.Client, o, now client.Object) error {
		return api.Status().Patch(ctx, o, merging(text, now))
	}
}

func merging(text string, now client.Object) client.Patch {
	text = strings.NewReplacer("UID", string(now.GetUID()), "VERSION", now.GetResourceVersion()).Replace(text)
	return client.RawPatch(types.MergePatchType, []byte(text))
}

func remove(policy metav1.DeletionPropagation) step {
	return func(ctx context.Context, api client.Client, o, _ client.Object) error {
		return api.Delete(ctx, o, &client.DeleteOptions{PropagationPolicy: &policy})
	}
}

// removeIf deletes an object if it has this UID and resourceVersion: those that it has, and something after it.
func removeIf(uid types.UID, version string) step {
	return func(ctx context.Context, api client.Client, o, now client.Object) error {
		return api.Delete(ctx, o, client.Preconditions{UID: new(now.GetUID() + uid), ResourceVersion: new(now.GetResourceVersion() + version)})
	}
}

// outcomes describe what becomes of an object in a way that does not depend on the server.
type outcomes struct {
	api  client.Client
	seen []string
}

// outcome is what a server answers to a request, and the object after it, nil if there is none.
type outcome struct {
	Refused bool
	Reason  metav1.StatusReason
	Object  client.Object
}

func (all *outcomes) of(ctx context.Context, o client.Object, do step) outcome {
	now := KindOf(o).newObject()
	_ = all.api.Get(ctx, client.ObjectKeyFromObject(o), now)
	err := do(ctx, all.api, clone(o), now)
	answer := outcome{Refused: err != nil, Reason: apierrors.ReasonForError(err)}
	now = KindOf(o).newObject()
	if all.api.Get(ctx, client.ObjectKeyFromObject(o), now) != nil {
		return answer
	}
	now.SetUID(types.UID(all.number(string(now.GetUID()))))
	now.SetResourceVersion(all.number(now.GetResourceVersion()))
	now.SetManagedFields(nil)
	now.SetCreationTimestamp(metav1.NewTime(now.GetCreationTimestamp().Truncate(100 * 365 * 24 * time.Hour)))
	if now.GetDeletionTimestamp() != nil {
		now.SetDeletionTimestamp(&metav1.Time{})
	}
	if c, ok := now.(*corev1.PersistentVolumeClaim); ok { // whose defaults do not matter
		c.Spec = corev1.PersistentVolumeClaimSpec{}
		c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f != finalizer })
	}
	answer.Object = now
	return answer
}

// number returns when a value was first seen.
func (all *outcomes) number(value string) string {
	if !slices.Contains(all.seen, value) {
		all.seen = append(all.seen, value)
	}
	return strconv.Itoa(slices.Index(all.seen, value))
}

const finalizer = "example.com/wait"

func schedule(name string) *v1alpha1.SnapshotSchedule {
	return builders.Schedule(Namespace, name, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
}

func claim(name string) *corev1.PersistentVolumeClaim {
	c := builders.Claim(Namespace, name, nil)
	c.Finalizers = []string{finalizer}
	return c
}

func snapshot(name string, finalizers ...string) *snapshotv1.VolumeSnapshot {
	return &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Finalizers: finalizers},
		Spec:       snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: new("data")}},
	}
}

func owner(name, uid string, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Owner", Name: name, UID: types.UID(uid), Controller: &controller}
}

const background, foreground, orphan = metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan

// rules are what the servers do with an object, one request after the other.
var rules = map[string]struct {
	o      client.Object
	script []step
}{
	"a name is taken once":                {snapshot("taken"), []step{create(`{}`), create(`{}`), remove(background), create(`{}`)}},
	"a new object has no resourceVersion": {snapshot("versioned"), []step{create(`{"metadata":{"resourceVersion":"1"}}`)}},
	"the server says who an object is": {snapshot("named"), []step{
		create(`{"metadata":{"uid":"mine","creationTimestamp":"1970-01-01T00:00:01Z","generation":7}}`),
		patch(`{"metadata":{"uid":"mine","labels":{"a":"b"}}}`),
	}},
	"an object has one controller": {snapshot("controlled"), []step{create(`{"metadata":{"ownerReferences":[
		{"apiVersion":"v1","kind":"Owner","name":"a","uid":"1","controller":true},
		{"apiVersion":"v1","kind":"Owner","name":"b","uid":"2","controller":true}]}}`)}},
	"labels are valid": {snapshot("labeled"), []step{create(`{}`), patch(`{"metadata":{"labels":{"a":"no spaces, please"}}}`)}},
	"a new schedule has defaults, and no status of its creator's": {
		schedule("status"), []step{create(`{"status":{"observedGeneration":3}}`)},
	},
	"a new snapshot has no status of its creator's": {snapshot("status"), []step{create(`{"status":{"readyToUse":true}}`)}},
	"a new PVC has no status of its creator's":      {claim("status"), []step{create(`{"status":{"phase":"Bound"}}`)}},
	"only a change of the spec makes a generation": {schedule("generations"), []step{
		create(`{}`), patch(`{"metadata":{"labels":{"a":"b"}}}`), patchStatus(`{"status":{"observedGeneration":1}}`),
		patch(`{"spec":{"suspend":true}}`),
	}},
	"what changes nothing is no change": {snapshot("same"), []step{create(`{}`), patch(`{"metadata":{"labels":null}}`)}},
	"status and the rest are written apart": {snapshot("apart"), []step{
		create(`{}`), patchStatus(`{"metadata":{"labels":{"a":"b"}},"status":{"readyToUse":true}}`),
		patch(`{"metadata":{"labels":{"a":"b"}},"status":null}`),
	}},
	"a patch is held to the resourceVersion and the UID that it names": {snapshot("held"), []step{
		create(`{}`), patch(`{"metadata":{"resourceVersion":"VERSION","uid":"UID","labels":{"a":"b"}}}`),
		patch(`{"metadata":{"resourceVersion":"VERSION0","labels":{"a":"c"}}}`), patch(`{"metadata":{"uid":"another","labels":{"a":"d"}}}`),
	}},
	"a merge patch sets, removes and replaces": {snapshot("merged"), []step{
		create(`{"metadata":{"labels":{"keep":"1","drop":"1"},"ownerReferences":[{"apiVersion":"v1","kind":"Owner","name":"a","uid":"1"}]}}`),
		patch(`{"metadata":{"labels":{"drop":null,"add":"1"},"ownerReferences":null}}`),
	}},
	"a JSON patch is held to what it tests": {schedule("tested"), []step{
		create(`{}`),
		apply(`[{"op":"test","path":"/metadata/uid","value":"UID"},{"op":"test","path":"/metadata/generation","value":1},
			{"op":"test","path":"/metadata/ownerReferences","value":null},{"op":"test","path":"/metadata/finalizers","value":null},
			{"op":"add","path":"/metadata/finalizers","value":["example.com/wait"]}]`),
		apply(`[{"op":"test","path":"/metadata/generation","value":2},{"op":"add","path":"/metadata/finalizers","value":[]}]`),
		remove(background),
		apply(`[{"op":"test","path":"/metadata/generation","value":1},{"op":"add","path":"/metadata/finalizers","value":[]}]`),
		apply(`[{"op":"test","path":"/metadata/generation","value":2},{"op":"add","path":"/metadata/finalizers","value":[]}]`),
	}},
	"a delete is held to the UID and the resourceVersion that it names": {snapshot("exact"), []step{
		create(`{}`), removeIf("0", ""), removeIf("", "0"), removeIf("", ""), remove(background),
	}},
	"the deletion of a snapshot waits for finalizers": {snapshot("waits", finalizer), []step{
		create(`{}`), remove(background), remove(background), patch(`{"metadata":{"labels":{"a":"b"}}}`), patch(`{"metadata":{"finalizers":null}}`),
	}},
	"the deletion of a PVC waits for finalizers": {claim("waits"), []step{
		create(`{}`), remove(background), remove(background), patch(`{"metadata":{"labels":{"a":"b"}}}`), patch(`{"metadata":{"finalizers":null}}`),
	}},
	"what is being deleted gets no more finalizers, and is not brought back": {snapshot("late", finalizer), []step{
		create(`{}`), remove(background), patch(`{"metadata":{"finalizers":["example.com/wait","example.com/more"]}}`),
		patch(`{"metadata":{"deletionTimestamp":null}}`),
	}},
	"orphaning waits for the collector":             {schedule("orphaned"), []step{create(`{}`), remove(orphan)}},
	"a foreground deletion waits for the collector": {schedule("foreground"), []step{create(`{}`), remove(foreground)}},
	"a background deletion waits for nobody":        {schedule("background"), []step{create(`{}`), remove(background)}},
}

// Informers and the log of changes hold returned objects.
func TestReturnedObjectsAreNotChanged(t *testing.T) {
	g, s := NewWithT(t), newServer()
	var changes []Change
	s.OnCommit = func(c Change) { changes = append(changes, c) }
	first, err := s.Create(snapshot("kept"))
	g.Expect(err).NotTo(HaveOccurred())
	second, err := s.Update(Snapshots, "kept", Main, func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Delete(Snapshots, "kept", metav1.DeleteOptions{})).To(Succeed())
	g.Expect(first.GetLabels()).To(BeEmpty())
	at := s.Now()
	g.Expect(changes).To(Equal([]Change{
		{Snapshots, 1, at, nil, first}, {Snapshots, 2, at, first, second}, {Snapshots, 3, at, second, nil},
	}))
}

// A schedule "plan" has a snapshot "mine"; it is deleted, and the collector does its work for one of them.
func TestCollector(t *testing.T) {
	ref := func(s *Server) metav1.OwnerReference {
		return *metav1.NewControllerRef(s.Find(Schedules, "plan"), v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))
	}
	for name, test := range map[string]struct {
		policy     metav1.DeletionPropagation
		finalizers []string
		other      bool // the snapshot has another owner
		kind       Kind
		check      func(g *WithT, s *Server, mine client.Object)
	}{
		"deletes dependents": {"Background", nil, false, Snapshots, func(g *WithT, _ *Server, mine client.Object) {
			g.Expect(mine).To(BeNil())
		}},
		"keeps a dependent with another owner": {"Background", nil, true, Snapshots, func(g *WithT, _ *Server, mine client.Object) {
			g.Expect(mine.GetOwnerReferences()).To(ConsistOf(owner("stays", "1", false)))
		}},
		"orphans dependents": {"Orphan", nil, false, Schedules, func(g *WithT, s *Server, mine client.Object) {
			g.Expect(s.Find(Schedules, "plan")).To(BeNil())
			g.Expect(mine.GetOwnerReferences()).To(BeEmpty())
		}},
		"deletes dependents first": {"Foreground", []string{finalizer}, false, Schedules, func(g *WithT, s *Server, mine client.Object) {
			g.Expect(s.Find(Schedules, "plan")).NotTo(BeNil())
			g.Expect(mine.GetDeletionTimestamp()).NotTo(BeNil())
			_, err := s.Update(Snapshots, "mine", Main, func(o client.Object) { o.SetFinalizers(nil) })
			g.Expect(err).NotTo(HaveOccurred())
			s.Collect(s.Find(Schedules, "plan"))
			g.Expect(s.Find(Schedules, "plan")).To(BeNil())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), newServer()
			create := func(o client.Object) {
				_, err := s.Create(o)
				g.Expect(err).NotTo(HaveOccurred())
			}
			create(schedule("plan"))
			mine := snapshot("mine", test.finalizers...)
			if mine.OwnerReferences = []metav1.OwnerReference{ref(s)}; test.other {
				mine.OwnerReferences = append(mine.OwnerReferences, owner("stays", "1", false))
			}
			create(mine)
			s.Collect(s.Find(Snapshots, "mine"))
			g.Expect(s.Find(Snapshots, "mine").GetOwnerReferences()).To(Equal(mine.OwnerReferences), "its owner is there")
			g.Expect(s.Delete(Schedules, "plan", metav1.DeleteOptions{PropagationPolicy: &test.policy})).To(Succeed())
			if test.kind == Snapshots {
				create(schedule("plan")) // another one with the same name
			}
			s.Collect(s.Find(test.kind, map[Kind]string{Schedules: "plan", Snapshots: "mine"}[test.kind]))
			test.check(g, s, s.Find(Snapshots, "mine"))
		})
	}
}
