// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// script builds a history step by step.
type script struct {
	history.History
	now     time.Time
	process int
	// ahead is by how much the operator's clock is ahead.
	ahead time.Duration
	// dates is by how much the Date header is off.
	dates    time.Duration
	existing map[string]client.Object
	// cache is that of the operator's requests from now on; nil: it is not known.
	cache *history.Cache
}

// begin starts a history in which schedule every, PVC data and more objects exist.
func begin(more ...client.Object) *script {
	s := &script{now: noon, existing: map[string]client.Object{}}
	s.Began = noon
	s.others(newSchedule("every"), newClaim("data"))
	s.others(more...)
	s.wait(time.Minute)
	return s
}

func (s *script) wait(d time.Duration) { s.now = s.now.Add(d) }

func key(o client.Object) string {
	switch o.(type) {
	case *v1alpha1.SnapshotSchedule:
		return "snapshotschedules/" + o.GetName()
	case *corev1.PersistentVolumeClaim:
		return "persistentvolumeclaims/" + o.GetName()
	case *v1alpha1.ClusterSnapshotSchedule:
		return "clustersnapshotschedules/" + o.GetName()
	case *corev1.Namespace:
		return "namespaces/" + o.GetName()
	default:
		return "volumesnapshots/" + o.GetName()
	}
}

// commit stores an object; nil removes it.
func (s *script) commit(key string, after client.Object, request int) {
	before := s.existing[key]
	revision := int64(len(s.Changes) + 1)
	if after != nil {
		after.SetResourceVersion(strconv.FormatInt(revision, 10))
		s.existing[key] = after
	} else {
		delete(s.existing, key)
	}
	c := history.Change{Revision: revision, At: s.now, Before: before, After: after, Request: request}
	if before == nil {
		c.Before = nil
	}
	s.Changes = append(s.Changes, c)
	s.Ended = s.now
}

// others creates objects, by someone else.
func (s *script) others(objects ...client.Object) {
	for _, o := range objects {
		s.commit(key(o), o, -1)
	}
}

// edit changes an object, by someone else. A schedule gets a new generation.
func edit[T client.Object](s *script, key string, change func(T)) {
	s.commit(key, changed(s, key, change), -1)
}

func changed[T client.Object](s *script, key string, change func(T)) T {
	o := s.existing[key].DeepCopyObject().(T)
	change(o)
	if schedule, ok := any(o).(*v1alpha1.SnapshotSchedule); ok {
		schedule.Generation++
	}
	return o
}

func (s *script) editSchedule(change func(*v1alpha1.SnapshotSchedule)) {
	edit(s, "snapshotschedules/every", change)
}

func (s *script) editClaim(change func(*corev1.PersistentVolumeClaim)) {
	edit(s, "persistentvolumeclaims/data", change)
}

func (s *script) editSnapshot(name string, change func(*snapshotv1.VolumeSnapshot)) {
	edit(s, "volumesnapshots/"+name, change)
}

// gone removes an object, by someone else.
func (s *script) gone(key string) { s.commit(key, nil, -1) }

func (s *script) request(verb, resource, name string) *history.Request {
	group := map[string]string{
		"snapshotschedules": v1alpha1.GroupName, "snapshotschedules/status": v1alpha1.GroupName, "volumesnapshots": snapshotv1.GroupName,
	}[resource]
	s.Requests = append(s.Requests, history.Request{
		At: s.now, Process: s.process, Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: name,
		Reached: true, Code: http.StatusOK, Seen: http.StatusOK, Clock: s.now.Add(s.ahead), Date: s.now.Add(s.dates).Truncate(time.Second),
		Cache: s.cache,
	})
	s.Ended = s.now
	return &s.Requests[len(s.Requests)-1]
}

// get is a live read by the operator, with the current answer.
func (s *script) get(key string) *history.Request {
	resource, name, _ := strings.Cut(key, "/")
	r := s.request("get", resource, name)
	show(r, s.existing[key])
	return r
}

func show(r *history.Request, o client.Object) {
	if o == nil {
		r.Seen, r.Answer = http.StatusNotFound, nil
		return
	}
	o = o.DeepCopyObject().(client.Object)
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		o.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule"}
	case *corev1.PersistentVolumeClaim:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	case *snapshotv1.VolumeSnapshot:
		o.TypeMeta = metav1.TypeMeta{APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: "VolumeSnapshot"}
	}
	r.Answer, _ = json.Marshal(o)
}

// guards reads live what a delete in the series depends on: the schedule, the PVC and some survivors.
func (s *script) guards(survivors ...string) {
	s.get("snapshotschedules/every")
	s.get("persistentvolumeclaims/data")
	for _, name := range survivors {
		s.get("volumesnapshots/" + name)
	}
}

// deletes is a delete by the operator, with preconditions.
func (s *script) deletes(name string) {
	o := s.existing["volumesnapshots/"+name]
	r := s.request("delete", "volumesnapshots", name)
	r.UID, r.ResourceVersion = string(o.GetUID()), o.GetResourceVersion()
	s.commit("volumesnapshots/"+name, nil, len(s.Requests)-1)
}

// guardedDelete is a delete by the operator after its guards' reads.
func (s *script) guardedDelete(name string, survivors ...string) {
	s.guards(survivors...)
	s.deletes(name)
}

// creates is a create by the operator.
func (s *script) creates(o *snapshotv1.VolumeSnapshot) {
	s.request("create", "volumesnapshots", o.Name)
	s.commit(key(o), o, len(s.Requests)-1)
}

// patches is a patch by the operator.
func patches[T client.Object](s *script, key string, change func(T)) {
	resource, name, _ := strings.Cut(key, "/")
	s.request("patch", resource, name)
	s.commit(key, changed(s, key, change), len(s.Requests)-1)
}

func (s *script) window(kind history.Kind, from, until time.Time, object string) {
	s.Windows = append(s.Windows, history.Window{Kind: kind, From: from, Until: until, Process: -1, Object: object})
}

// testCase is a history and a part of the violation that an oracle finds in it; empty if it finds none.
type testCase struct {
	name  string
	build func() *script
	want  string
}

// given are objects that exist at the beginning.
type given []client.Object

// when adds steps.
func (g given) when(steps func(s *script)) func() *script {
	return func() *script {
		s := begin(g...)
		steps(s)
		return s
	}
}

func judge(t *testing.T, oracle func(*history.History) []Violation, cases []testCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found := oracle(&c.build().History)
			switch {
			case c.want == "" && len(found) > 0:
				t.Errorf("found %q", found[0].Message)
			case c.want != "" && len(found) == 0:
				t.Errorf("found nothing, want %q", c.want)
			case c.want != "" && !strings.Contains(found[0].Message, c.want):
				t.Errorf("found %q, want %q", found[0].Message, c.want)
			case len(found) > 1:
				t.Errorf("found more than one: %q and %q", found[0].Message, found[1].Message)
			}
		})
	}
}
