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

// script writes a history down as it is told.
type script struct {
	history.History
	now     time.Time
	process int
	// ahead is how far the operator's clock is ahead.
	ahead time.Duration
	// dates are how far off the Date is that the operator is shown.
	dates time.Duration
	there map[string]client.Object
}

// begin is a history in which there are schedule every, PVC data, and what is
// given.
func begin(more ...client.Object) *script {
	s := &script{now: noon, there: map[string]client.Object{}}
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
	default:
		return "volumesnapshots/" + o.GetName()
	}
}

// commit makes an object what it is to be; nil takes it away.
func (s *script) commit(key string, after client.Object, request int) {
	before := s.there[key]
	revision := int64(len(s.Changes) + 1)
	if after != nil {
		after.SetResourceVersion(strconv.FormatInt(revision, 10))
		s.there[key] = after
	} else {
		delete(s.there, key)
	}
	c := history.Change{Revision: revision, At: s.now, Before: before, After: after, Request: request}
	if before == nil {
		c.Before = nil
	}
	s.Changes = append(s.Changes, c)
	s.Ended = s.now
}

// others create objects.
func (s *script) others(objects ...client.Object) {
	for _, o := range objects {
		s.commit(key(o), o, -1)
	}
}

// edit is someone else's change of an object. A schedule gets a generation.
func edit[T client.Object](s *script, key string, change func(T)) {
	s.commit(key, changed(s, key, change), -1)
}

func changed[T client.Object](s *script, key string, change func(T)) T {
	o := s.there[key].DeepCopyObject().(T)
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

func (s *script) gone(key string) { s.commit(key, nil, -1) }

func (s *script) request(verb, resource, name string) *history.Request {
	group := map[string]string{
		"snapshotschedules": v1alpha1.GroupName, "snapshotschedules/status": v1alpha1.GroupName, "volumesnapshots": snapshotv1.GroupName,
	}[resource]
	s.Requests = append(s.Requests, history.Request{
		At: s.now, Process: s.process, Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: name,
		Reached: true, Code: http.StatusOK, Seen: http.StatusOK, Clock: s.now.Add(s.ahead), Date: s.now.Add(s.dates).Truncate(time.Second),
	})
	s.Ended = s.now
	return &s.Requests[len(s.Requests)-1]
}

// get is a live read of the operator's, which is shown what there is.
func (s *script) get(key string) *history.Request {
	resource, name, _ := strings.Cut(key, "/")
	r := s.request("get", resource, name)
	show(r, s.there[key])
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

// guards reads live what a delete in the series rests on: the schedule, the PVC
// and the survivors that are named.
func (s *script) guards(survivors ...string) {
	s.get("snapshotschedules/every")
	s.get("persistentvolumeclaims/data")
	for _, name := range survivors {
		s.get("volumesnapshots/" + name)
	}
}

// deletes is the operator's, with preconditions, and takes effect.
func (s *script) deletes(names ...string) {
	for _, name := range names {
		o := s.there["volumesnapshots/"+name]
		r := s.request("delete", "volumesnapshots", name)
		r.UID, r.ResourceVersion = string(o.GetUID()), o.GetResourceVersion()
		s.commit("volumesnapshots/"+name, nil, len(s.Requests)-1)
	}
}

// creates is the operator's.
func (s *script) creates(o *snapshotv1.VolumeSnapshot) {
	s.request("create", "volumesnapshots", o.Name)
	s.commit(key(o), o, len(s.Requests)-1)
}

// patches is the operator's.
func patches[T client.Object](s *script, key string, change func(T)) {
	resource, name, _ := strings.Cut(key, "/")
	s.request("patch", resource, name)
	s.commit(key, changed(s, key, change), len(s.Requests)-1)
}

func (s *script) window(kind history.Kind, from, until time.Time, object string) {
	s.Windows = append(s.Windows, history.Window{Kind: kind, From: from, Until: until, Process: -1, Object: object})
}

// story is a history and what an oracle has to say of it: a part of a violation,
// or nothing.
type story struct {
	name string
	tell func() *script
	want string
}

func judge(t *testing.T, oracle func(*history.History) []Violation, stories []story) {
	t.Helper()
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			found := oracle(&story.tell().History)
			switch {
			case story.want == "" && len(found) > 0:
				t.Errorf("found %q", found[0].Message)
			case story.want != "" && len(found) == 0:
				t.Errorf("found nothing, want %q", story.want)
			case story.want != "" && !strings.Contains(found[0].Message, story.want):
				t.Errorf("found %q, want %q", found[0].Message, story.want)
			case len(found) > 1:
				t.Errorf("found more than one: %q and %q", found[0].Message, found[1].Message)
			}
		})
	}
}
