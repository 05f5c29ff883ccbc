// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

func started(t *testing.T) (client.WithWatch, *Watch) {
	t.Helper()
	c := fake.NewFakeClient()
	w, err := newWatch(t.Context(), c, &corev1.PersistentVolumeClaimList{}, []string{"n"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return c, w
}

func TestWaitCountsEventsOfItsType(t *testing.T) {
	c, w := started(t)
	// The fake client has no history: the watch has to be open before the first event.
	for i := 0; len(w.Times(watch.Added)) == 0; i++ {
		if err := c.Create(t.Context(), builders.Claim("n", "a"+strings.Repeat("x", i), nil)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	added := len(w.Times(watch.Added))
	if err := c.DeleteAllOf(t.Context(), &corev1.PersistentVolumeClaim{}, client.InNamespace("n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(t.Context(), watch.Deleted, 1); err != nil {
		t.Error(err)
	}
	if n := len(w.Times(watch.Added)); n != added {
		t.Errorf("%d instead of %d were added", n, added)
	}
}

func TestWaitReportsHowFarItGot(t *testing.T) {
	_, w := started(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := w.Wait(ctx, watch.Added, 1); err == nil || !strings.Contains(err.Error(), "0 of 1") {
		t.Errorf("got %v", err)
	}
	w.Stop()
	if err := w.Wait(t.Context(), watch.Added, 1); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("got %v", err)
	}
}

func TestRate(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	if got := rate([]time.Time{at(0), at(10), at(40)}); got != 50 {
		t.Errorf("got %v, want 50: two intervals in 40 ms", got)
	}
	if got := rate([]time.Time{at(0)}); got != 0 {
		t.Errorf("for one event: got %v", got)
	}
}
