// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
)

// Contract: OWN-1.
func TestMayAdopt(t *testing.T) {
	for name, test := range map[string]struct {
		parent   *appsv1.Deployment
		byLabels bool
		fail     error
		want     error
	}{
		"the parent exists":    {parent: fixture.Parent()},
		"it is deleted":        {want: guard.ErrAdoptionRefused},
		"it was created again": {parent: fixture.Parent(func(p *appsv1.Deployment) { p.UID = "new-uid" }), want: guard.ErrAdoptionRefused},
		"it is being deleted":  {parent: fixture.Parent(fixture.Deleting), want: guard.ErrAdoptionRefused},
		"it owns by labels":    {parent: fixture.Parent(), byLabels: true, want: guard.ErrChanged},
		"it cannot be read":    {parent: fixture.Parent(), fail: errUnavailable, want: errUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			var stored []client.Object
			if test.parent != nil {
				stored = append(stored, test.parent)
			}
			e := fixture.New(t, nil, stored)
			e.API.Fail(test.fail, "get")
			e.Kinds.Ownership.OwnsByLabels = func(client.Object) bool { return test.byLabels }
			if err := e.Guard.MayAdopt(t.Context(), fixture.Request.Parent, "p-uid"); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// pages answers a list with one object a page.
type pages struct {
	client.Reader
	total int
	asked []string
}

func (p *pages) List(_ context.Context, l client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	p.asked = append(p.asked, fmt.Sprint(o.Continue, " ", o.Limit, " ", o.Namespace))
	page := l.(*metav1.PartialObjectMetadataList)
	page.Items = append(page.Items[:0], metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(len(p.asked))}})
	page.Continue = fmt.Sprint("after", len(p.asked))
	if len(p.asked) == p.total {
		page.Continue = ""
	}
	return nil
}

func TestEachMetadataReadsAllPages(t *testing.T) {
	reader := &pages{total: 3}
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	var seen []client.Object
	err := guard.EachMetadata(t.Context(), reader, kind, func(o client.Object) {
		seen = append(seen, o)
	}, client.InNamespace("ns"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fixture.Names(seen); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("got %v", got)
	}
	if seen[0].GetObjectKind().GroupVersionKind() != kind {
		t.Errorf("kind: %v", seen[0].GetObjectKind().GroupVersionKind())
	}
	if want := []string{" 500 ns", "after1 500 ns", "after2 500 ns"}; !slices.Equal(reader.asked, want) {
		t.Errorf("asked %q, want %q", reader.asked, want)
	}
}

// The second that the Date header cuts off counts as passed: a record must not begin
// before the change that it is about.
//
// Contract: EDIT-2.
func TestServerTimeIsThatOfTheAPIServer(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*fixture.API)
		want    time.Time
		wantErr error
	}{
		"the clocks agree":         {func(*fixture.API) {}, fixture.Now.Add(time.Second), nil},
		"the local one is behind":  {func(a *fixture.API) { a.Skew = time.Minute }, fixture.Now.Add(time.Minute + time.Second), nil},
		"too far behind":           {func(a *fixture.API) { a.Skew = time.Hour }, time.Time{}, nil},
		"too far ahead":            {func(a *fixture.API) { a.Skew = -time.Hour }, time.Time{}, nil},
		"without a Date header":    {func(a *fixture.API) { a.NoDate = true }, time.Time{}, nil},
		"the parent is deleted":    {func(a *fixture.API) { _ = a.Stored.Delete(t.Context(), fixture.Parent()) }, fixture.Now.Add(time.Second), nil},
		"the parent is unreadable": {func(a *fixture.API) { a.Fail(errUnavailable, "get") }, time.Time{}, errUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			e := fixture.New(t, nil, []client.Object{fixture.Parent()})
			test.prepare(e.API)
			got, err := e.Guard.ServerTime(t.Context(), fixture.Parent())
			if !errors.Is(err, test.wantErr) || err == nil && !got.Equal(test.want) {
				t.Errorf("got %s, error %v, want %s, error %v", got, err, test.want, test.wantErr)
			}
		})
	}
}
