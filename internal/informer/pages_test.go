// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// pagedSource answers lists of PVCs in the requested pages, and records the
// requests.
type pagedSource struct {
	total int
	// expires is the page (from 1) that etcd has compacted away; 0 is none.
	expires int
	// asked are the requests, in order.
	asked   []metav1.ListOptions
	watched chan metav1.ListOptions
}

func (s *pagedSource) ListWithContext(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.asked = append(s.asked, o)
	if s.expires == len(s.asked) {
		return nil, apierrors.NewResourceExpired("the continue token is too old")
	}
	from, err := strconv.Atoi("0" + o.Continue)
	if err != nil {
		return nil, err
	}
	until := s.total
	list := &corev1.PersistentVolumeClaimList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	if o.Limit > 0 && from+int(o.Limit) < until {
		until = from + int(o.Limit)
		list.Continue = strconv.Itoa(until)
	}
	for i := from; i < until; i++ {
		list.Items = append(list.Items, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("data-%05d", i), Finalizers: []string{"heavy"},
		}})
	}
	return list, nil
}

func (s *pagedSource) WatchWithContext(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.watched <- o
	return watch.NewFake(), nil
}

func (s *pagedSource) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

func (s *pagedSource) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

// replaceWithout removes the finalizers in a copy, as a transform may that packs
// its objects.
func replaceWithout(o any) (any, error) {
	claim := o.(*corev1.PersistentVolumeClaim).DeepCopy()
	claim.Finalizers = nil
	return claim, nil
}

func TestInformersAreFilledPageByPage(t *testing.T) {
	for _, tc := range []struct {
		name    string
		total   int
		expires int
		// limits are those of the requests.
		limits []int64
	}{
		{name: "nothing", total: 0, limits: []int64{500}},
		{name: "one page", total: 500, limits: []int64{500}},
		{name: "three pages", total: 1001, limits: []int64{500, 500, 500}},
		{name: "starts again if the pages were compacted", total: 1001, expires: 2, limits: []int64{500, 500, 500, 500, 500}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			source := &pagedSource{total: tc.total, expires: tc.expires, watched: make(chan metav1.ListOptions, 1)}
			stores := NewStores()
			lists, failed := 0, 0
			stores.OnList(func(_ runtime.Object, err error) {
				if lists++; err != nil {
					failed++
				}
			})
			informer := stores.NewInformer(source, &corev1.PersistentVolumeClaim{}, 0,
				toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
			if err := informer.SetTransform(replaceWithout); err != nil {
				t.Fatal(err)
			}
			var done wait.Group
			defer done.Wait()
			defer cancel()
			done.StartWithContext(ctx, informer.RunWithContext)
			if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
				t.Fatal("not synced")
			}
			if lists-failed != 1 || (failed > 0) != (tc.expires > 0) {
				t.Errorf("%d lists were reported, %d of them failed", lists, failed)
			}
			found := stores.List(&corev1.PersistentVolumeClaim{}, "default")
			if len(found) != tc.total {
				t.Fatalf("%d objects", len(found))
			}
			for _, claim := range found {
				if claim.GetFinalizers() != nil {
					t.Fatalf("%s was not transformed", claim.GetName())
				}
			}
			if watch := <-source.watched; watch.ResourceVersion != "7" || watch.SendInitialEvents != nil {
				t.Errorf("watched with %+v", watch)
			}
			if len(source.asked) != len(tc.limits) {
				t.Fatalf("%d requests: %+v", len(source.asked), source.asked)
			}
			for i, asked := range source.asked {
				if asked.Limit != tc.limits[i] || asked.ResourceVersion != "" || asked.ResourceVersionMatch != "" {
					t.Errorf("request %d: %+v", i+1, asked)
				}
			}
		})
	}
}

func TestOnlyOnePageIsHeldUnstripped(t *testing.T) {
	source := &pagedSource{total: 1200}
	events := []string{}
	p := &pages{ListerWatcherWithContext: recording{source, &events}, listed: func(error) {}, transform: func(o any) (any, error) {
		events = append(events, "strip")
		return o, nil
	}}
	if _, err := p.List(metav1.ListOptions{ResourceVersion: "0"}); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, e := range events {
		switch e {
		case "strip":
			held--
		default:
			if held != 0 {
				t.Fatalf("the next page was requested with %d objects not stripped", held)
			}
			held, _ = strconv.Atoi(e)
		}
	}
	if held != 0 || len(events) != 1203 {
		t.Errorf("%d events, %d left", len(events), held)
	}
}

// recording records how many objects each page has.
type recording struct {
	*pagedSource
	events *[]string
}

func (r recording) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := r.pagedSource.ListWithContext(ctx, o)
	if err == nil {
		*r.events = append(*r.events, strconv.Itoa(len(list.(*corev1.PersistentVolumeClaimList).Items)))
	}
	return list, err
}
