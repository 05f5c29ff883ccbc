// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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

// The rules are tested against this server and a real one, both over HTTP, so that this one is not more lenient.
func TestRules(t *testing.T) {
	testRules(t, &rest.Config{Host: "http://simulated.invalid", Transport: roundTripper{newServer()}})
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

// A real API server without controllers follows the same rules.
func TestRulesOnARealServer(t *testing.T) {
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
	api, err := client.New(config, client.Options{Scheme: cluster.Scheme})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}})).To(Succeed())
	testRules(t, config)
}

func testRules(t *testing.T, config *rest.Config) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for k := range Classes {
		mapper.Add(k.GroupVersionKind(), meta.RESTScopeNamespace)
	}
	config.ContentType = runtime.ContentTypeJSON
	api, err := client.New(config, client.Options{Scheme: cluster.Scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range ruleTests {
		t.Run(name, func(t *testing.T) { test(rules{NewWithT(t), api, t.Context()}) })
	}
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

// rules has what one rule is tested with.
type rules struct {
	*WithT
	client.Client
	ctx context.Context
}

func (r rules) create(o client.Object) client.Object {
	r.Expect(r.Create(r.ctx, o)).WithOffset(1).To(Succeed())
	return o
}

func (r rules) refuse(err error, reason metav1.StatusReason) {
	r.Expect(apierrors.ReasonForError(err)).WithOffset(1).To(Equal(reason), "%v", err)
}

// patch applies a merge patch, after which o is what the server returned. Its sub is "status" or empty.
func (r rules) patch(o client.Object, sub, text string) error {
	patch := client.RawPatch(types.MergePatchType, []byte(text))
	if sub != "" {
		return r.SubResource(sub).Patch(r.ctx, o, patch)
	}
	return r.Patch(r.ctx, o, patch)
}

func (r rules) patched(o client.Object, sub, text string) {
	r.Expect(r.patch(o, sub, text)).WithOffset(1).To(Succeed())
}

// read returns the object as the server has it now.
func (r rules) read(o client.Object) error { return r.Get(r.ctx, client.ObjectKeyFromObject(o), o) }

// ruleTests have objects of their own.
var ruleTests = map[string]func(rules){
	"a name is taken once": func(r rules) {
		first := r.create(snapshot("taken"))
		r.refuse(r.Create(r.ctx, snapshot("taken")), metav1.StatusReasonAlreadyExists)
		r.Expect(r.Delete(r.ctx, first)).To(Succeed())
		r.Expect(r.create(snapshot("taken")).GetUID()).NotTo(Equal(first.GetUID()))
	},
	"a new object has no resourceVersion": func(r rules) {
		o := snapshot("versioned")
		o.ResourceVersion = "1"
		r.Expect(r.Create(r.ctx, o)).NotTo(Succeed())
	},
	"the server says who an object is": func(r rules) {
		o := snapshot("named")
		o.UID, o.CreationTimestamp, o.Generation = "mine", metav1.Unix(1, 0), 7
		r.create(o)
		r.Expect(o.UID).NotTo(BeElementOf("mine", ""))
		r.Expect(o.CreationTimestamp.Unix()).To(BeNumerically(">", 1))
		r.Expect(o.Generation).To(Equal(int64(1)))
	},
	"metadata is valid": func(r rules) {
		o := snapshot("valid")
		o.OwnerReferences = []metav1.OwnerReference{owner("a", "1", true), owner("b", "2", true)}
		r.refuse(r.Create(r.ctx, o), metav1.StatusReasonInvalid)
		o.OwnerReferences = o.OwnerReferences[:1]
		r.create(o)
		r.refuse(r.patch(o, "", `{"metadata":{"labels":{"a":"no spaces, please"}}}`), metav1.StatusReasonInvalid)
	},
	"the status of a new object is not its creator's": func(r rules) {
		s, v, c := schedule("with-status"), snapshot("with-status"), claim("with-status")
		s.Status.ObservedGeneration = 3
		v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: new(true)}
		c.Status.Phase = corev1.ClaimBound
		r.Expect(r.create(s)).To(HaveField("Status.ObservedGeneration", int64(-1)))
		r.Expect(r.create(v)).To(HaveField("Status", BeNil()))
		r.Expect(r.create(c)).To(HaveField("Status.Phase", corev1.ClaimPending))
	},
	"a schedule has defaults": func(r rules) {
		want := schedule("").Spec
		want.ReadyDeadline, want.Retention.MinReady = "1h", new(int32(1))
		r.Expect(r.create(schedule("defaults"))).To(HaveField("Spec", want))
	},
	"only a change of the spec makes a generation": func(r rules) {
		s := schedule("generations")
		r.create(s)
		r.patched(s, "", `{"metadata":{"labels":{"a":"b"}}}`)
		r.patched(s, "status", `{"status":{"observedGeneration":1}}`)
		r.Expect(s.Generation).To(Equal(int64(1)))
		r.patched(s, "", `{"spec":{"suspend":true}}`)
		r.Expect(s.Generation).To(Equal(int64(2)))
	},
	"what changes nothing is no change": func(r rules) {
		o := r.create(snapshot("same"))
		before := o.GetResourceVersion()
		r.patched(o, "", `{"metadata":{"labels":null}}`)
		r.Expect(o.GetResourceVersion()).To(Equal(before))
	},
	"status and the rest are written apart": func(r rules) {
		o := snapshot("apart")
		r.create(o)
		r.patched(o, "status", `{"metadata":{"labels":{"a":"b"}},"status":{"readyToUse":true}}`)
		r.Expect(o.Labels).To(BeEmpty())
		r.patched(o, "", `{"metadata":{"labels":{"a":"b"}},"status":null}`)
		r.Expect(o.Status).To(HaveField("ReadyToUse", HaveValue(BeTrue())))
	},
	"a patch is held to the resourceVersion and the UID that it names": func(r rules) {
		o := r.create(snapshot("held"))
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"labels":{"a":"%%s"}}}`, o.GetResourceVersion())
		r.patched(o, "", fmt.Sprintf(patch, "b"))
		r.refuse(r.patch(o, "", fmt.Sprintf(patch, "c")), metav1.StatusReasonConflict)
		r.refuse(r.patch(o, "", `{"metadata":{"uid":"another","labels":{"a":"d"}}}`), metav1.StatusReasonInvalid)
	},
	"a merge patch sets, removes and replaces": func(r rules) {
		o := snapshot("merged")
		o.Labels = map[string]string{"keep": "1", "drop": "1"}
		o.OwnerReferences = []metav1.OwnerReference{owner("a", "1", true), owner("b", "2", false)}
		r.create(o)
		r.patched(o, "", `{"metadata":{"labels":{"drop":null,"add":"1"},"ownerReferences":null}}`)
		r.Expect(o.Labels).To(Equal(map[string]string{"keep": "1", "add": "1"}))
		r.Expect(o.OwnerReferences).To(BeEmpty())
	},
	"a delete is held to the UID and the resourceVersion that it names": func(r rules) {
		o := r.create(snapshot("exact"))
		remove := func(uid types.UID, version string) error {
			return r.Delete(r.ctx, o, client.Preconditions{UID: &uid, ResourceVersion: &version})
		}
		r.refuse(remove("another", o.GetResourceVersion()), metav1.StatusReasonConflict)
		r.refuse(remove(o.GetUID(), o.GetResourceVersion()+"0"), metav1.StatusReasonConflict)
		r.Expect(remove(o.GetUID(), o.GetResourceVersion())).To(Succeed())
		r.refuse(r.read(o), metav1.StatusReasonNotFound)
		r.refuse(r.Delete(r.ctx, o), metav1.StatusReasonNotFound)
	},
	"a deletion waits for finalizers": func(r rules) {
		for _, o := range []client.Object{snapshot("waits", finalizer), claim("waits")} {
			r.create(o)
			r.Expect(r.Delete(r.ctx, o)).To(Succeed())
			r.Expect(r.read(o)).To(Succeed())
			r.Expect(o.GetDeletionTimestamp()).NotTo(BeNil())
			version := o.GetResourceVersion()
			r.Expect(r.Delete(r.ctx, o)).To(Succeed())
			r.Expect(r.read(o)).To(Succeed())
			r.Expect(o.GetResourceVersion()).To(Equal(version), "a second delete changes nothing")
			r.patched(o, "", `{"metadata":{"labels":{"a":"b"}}}`)
			r.patched(o, "", `{"metadata":{"finalizers":null}}`)
			r.refuse(r.read(o), metav1.StatusReasonNotFound)
		}
	},
	"what is being deleted gets no more finalizers, and is not brought back": func(r rules) {
		o := snapshot("late", finalizer)
		r.create(o)
		r.Expect(r.Delete(r.ctx, o)).To(Succeed())
		r.Expect(r.read(o)).To(Succeed())
		r.Expect(o.Generation).To(Equal(int64(2)))
		r.Expect(r.patch(o, "", `{"metadata":{"finalizers":["example.com/wait","example.com/more"]}}`)).NotTo(Succeed())
		r.patched(o, "", `{"metadata":{"deletionTimestamp":null}}`)
		r.Expect(o.DeletionTimestamp).NotTo(BeNil())
	},
	"orphaning and foreground deletion wait for the collector": func(r rules) {
		for policy, want := range map[metav1.DeletionPropagation]string{
			metav1.DeletePropagationOrphan:     metav1.FinalizerOrphanDependents,
			metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents,
		} {
			o := r.create(schedule("policy-" + strings.ToLower(string(policy))))
			r.Expect(r.Delete(r.ctx, o, client.PropagationPolicy(policy))).To(Succeed())
			r.Expect(r.read(o)).To(Succeed())
			r.Expect(o.GetDeletionTimestamp()).NotTo(BeNil())
			r.Expect(o.GetFinalizers()).To(ConsistOf(want))
		}
	},
	"background deletion waits for nobody": func(r rules) {
		o := r.create(schedule("background"))
		r.Expect(r.Delete(r.ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		r.refuse(r.read(o), metav1.StatusReasonNotFound)
	},
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
