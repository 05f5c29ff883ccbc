// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"mapcontroller.dev/snapshotschedule/internal/informer"
)

var xs = strings.Repeat("x", 5_000_000)

// pageServer is an API server with PVCs whose annotations have the given sizes. It
// writes a page object by object, as the API server does, and records the limits of
// the lists.
type pageServer struct {
	sizes []int
	// breaks is the list (from 1) whose connection breaks in the middle; 0 is none.
	breaks int

	mu     sync.Mutex
	limits []int
}

func (s *pageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	if query.Has("watch") {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	s.mu.Lock()
	s.limits = append(s.limits, limit)
	breaks := len(s.limits) == s.breaks
	s.mu.Unlock()
	from, _ := strconv.Atoi(query.Get("continue"))
	until, next := len(s.sizes), ""
	if limit > 0 && from+limit < until {
		until = from + limit
		next = strconv.Itoa(until)
	}
	fmt.Fprintf(w, `{"kind":"PersistentVolumeClaimList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":%q},"items":[`, next)
	for i := from; i < until; i++ {
		if i > from {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, `{"metadata":{"namespace":"default","name":"data-%05d","annotations":{"a":"%s"}}}`, i, xs[:s.sizes[i]])
		if breaks {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	fmt.Fprint(w, "]}")
}

// source lists from the server as the manager's informers do.
func (s *pageServer) source(t *testing.T) *toolscache.ListWatch {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	config := &rest.Config{Host: server.URL, QPS: -1}
	config.Wrap(BoundPages)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return toolscache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "persistentvolumeclaims", "", fields.Everything())
}

// filled returns how many objects an informer has after its list.
func (s *pageServer) filled(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	stores := informer.NewStores()
	pvcs := stores.NewInformer(s.source(t), &corev1.PersistentVolumeClaim{}, 0,
		toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	err := pvcs.SetTransform(func(o any) (any, error) {
		o.(*corev1.PersistentVolumeClaim).Annotations = nil
		return o, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var done wait.Group
	defer done.Wait()
	defer cancel()
	done.StartWithContext(ctx, pvcs.RunWithContext)
	if !toolscache.WaitForCacheSync(ctx.Done(), pvcs.HasSynced) {
		t.Fatal("not synced")
	}
	return len(stores.List(&corev1.PersistentVolumeClaim{}, "default"))
}

func TestPagesAreBoundedByBytes(t *testing.T) {
	const mega = 1_000_000
	for _, tc := range []struct {
		name  string
		sizes []int
		// limits are those of the requests; the pages of the others were too large.
		limits []int
	}{
		{name: "ordinary objects come 500 at a time", sizes: slices.Repeat([]int{2_000}, 1_000), limits: []int{500, 500}},
		{name: "large objects come in smaller pages", sizes: slices.Repeat([]int{mega}, 10), limits: []int{500, 250, 125, 62, 31, 15, 7, 3, 6, 3, 6}},
		{name: "an object larger than a page comes alone", sizes: []int{5 * mega, 1}, limits: []int{500, 250, 125, 62, 31, 15, 7, 3, 1, 2}},
		{
			name:   "pages grow again after large objects",
			sizes:  slices.Concat(slices.Repeat([]int{mega}, 6), slices.Repeat([]int{1}, 1_500)),
			limits: []int{500, 250, 125, 62, 31, 15, 7, 3, 6, 12, 24, 48, 96, 192, 384, 500, 500},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := &pageServer{sizes: tc.sizes}
			if got := server.filled(t); got != len(tc.sizes) {
				t.Errorf("%d objects, want %d", got, len(tc.sizes))
			}
			if !slices.Equal(server.limits, tc.limits) {
				t.Errorf("lists with limits %v, want %v", server.limits, tc.limits)
			}
		})
	}
}

func TestABrokenPageIsAnErrorAndNotASmallPage(t *testing.T) {
	server := &pageServer{sizes: slices.Repeat([]int{1_000}, 10), breaks: 1}
	if _, err := server.source(t).ListWithContextFunc(t.Context(), metav1.ListOptions{Limit: 500}); err == nil {
		t.Error("no error")
	}
	if !slices.Equal(server.limits, []int{500}) {
		t.Errorf("lists with limits %v, want one", server.limits)
	}
}

// One page of all these objects would take about three times its size.
func TestLargeObjectsDoNotTakeMuchMemory(t *testing.T) {
	const objects, bound = 60, 80 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	server := &pageServer{sizes: slices.Repeat([]int{1_000_000}, objects)}
	if got := server.filled(t); got != objects {
		t.Errorf("%d objects, want %d", got, objects)
	}
	runtime.ReadMemStats(&after)
	// What the runtime took from the system does not shrink: it is the peak.
	peak := int64(after.HeapSys - before.HeapSys)
	t.Logf("the heap grew to %d MB, by %d MB", after.HeapSys>>20, peak>>20)
	if peak > bound {
		t.Errorf("the heap grew by %d MB, want at most %d MB", peak>>20, bound>>20)
	}
}
