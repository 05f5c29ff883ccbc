// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
)

// probed is a liveness check around controller-runtime's own controller and queue, with two workers, in a bubble of fake time.
type probed struct {
	*liveness
	keys queue.Late[Request]
	// pass is one pass over a key.
	pass func(Request) error
	// end is closed at the end of the test. A pass that waits for it hangs.
	end chan struct{}
}

func newProbed(t *testing.T) *probed {
	t.Helper()
	p := &probed{pass: func(Request) error { return nil }, end: make(chan struct{})}
	p.liveness = &liveness{clock: clock.RealClock{}, waiting: p.keys.Waiting, reconciler: reconcile.TypedFunc[Request](
		func(_ context.Context, req Request) (reconcile.Result, error) { return reconcile.Result{}, p.pass(req) })}
	return p
}

// start makes this manager the leader.
func (p *probed) start(t *testing.T) {
	t.Helper()
	c, err := ctrl.NewTypedUnmanaged("test", ctrl.TypedOptions[Request]{
		SkipNameValidation: new(true), MaxConcurrentReconciles: 2, UsePriorityQueue: new(true), RecoverPanic: new(true),
		Reconciler: p.liveness, LogConstructor: func(*Request) logr.Logger { return logr.Discard() },
	})
	if err == nil {
		err = c.Watch(source.TypedFunc[Request](p.keys.Start))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		close(p.end)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
}

func (p *probed) add(keys ...string) {
	for _, key := range keys {
		p.keys.Add(Request{Parent: types.NamespacedName{Namespace: "shop", Name: "backup"}, MapKey: key})
	}
	time.Sleep(time.Second)
}

// probe calls the check every 20 seconds, as kubelet does, and returns when it failed first.
func (p *probed) probe(d time.Duration) (after time.Duration, failed error) {
	for after = 0; after < d; after += 20 * time.Second {
		if err := p.Check(nil); err != nil {
			return after, err
		}
		time.Sleep(20 * time.Second)
	}
	return 0, nil
}

func TestLivenessFailsWhileNoPassFinishes(t *testing.T) {
	for name, tc := range map[string]struct {
		keys []string
		want string
	}{
		"and every worker hangs":                         {[]string{"a", "b", "c"}, "2 keys are being reconciled, 1 are waiting"},
		"and the only key hangs, while a worker is idle": {[]string{"a"}, "1 keys are being reconciled, 0 are waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProbed(t)
				p.pass = func(Request) error { <-p.end; return nil }
				p.start(t)
				if _, err := p.probe(time.Hour); err != nil {
					t.Errorf("while idle: %v", err)
				}
				p.add(tc.keys...)
				after, err := p.probe(time.Hour)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("got %v, want %s", err, tc.want)
				}
				if after < wedgedAfter || after > wedgedAfter+time.Minute {
					t.Errorf("failed after %s, want %s", after, wedgedAfter)
				}
			})
		})
	}
}

func TestLivenessFailsWhileTheQueueHandsNothingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbed(t)
		p.waiting = func() int { return 3 }
		if _, err := p.probe(time.Hour); err == nil || !strings.Contains(err.Error(), "0 keys are being reconciled, 3 are waiting") {
			t.Errorf("got %v", err)
		}
	})
}

func TestLivenessHolds(t *testing.T) {
	for name, tc := range map[string]func(t *testing.T, p *probed){
		"in a manager on standby": func(*testing.T, *probed) {},
		"in an idle leader":       func(t *testing.T, p *probed) { p.start(t) },
		"while every pass fails, and more keys wait than there are workers": func(t *testing.T, p *probed) {
			p.pass = func(Request) error { time.Sleep(time.Minute); return errors.New("the API server is down") }
			p.start(t)
			p.add("a", "b", "c", "d", "e")
		},
		"while every pass panics": func(t *testing.T, p *probed) {
			p.pass = func(Request) error { panic("a bug") }
			p.start(t)
			p.add("a")
		},
		"while one key hangs and others are reconciled": func(t *testing.T, p *probed) {
			p.pass = func(req Request) error {
				if req.MapKey == "a" {
					<-p.end
				}
				return nil
			}
			p.start(t)
			p.add("a")
			for i := range 12 {
				time.AfterFunc(time.Duration(i)*5*time.Minute, func() { p.keys.Add(Request{MapKey: fmt.Sprint(i)}) })
			}
		},
		"while a pass takes nine minutes": func(t *testing.T, p *probed) {
			p.pass = func(Request) error { time.Sleep(9 * time.Minute); return nil }
			p.start(t)
			p.add("a", "b", "c", "d", "e")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProbed(t)
				tc(t, p)
				if after, err := p.probe(time.Hour); err != nil {
					t.Errorf("after %s: %v", after, err)
				}
			})
		})
	}
}

// Probes that are rare must not take two moments with work for one long one.
func TestLivenessHoldsIfItIsSeldomChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbed(t)
		p.pass = func(Request) error { time.Sleep(2 * time.Second); return nil }
		p.start(t)
		for _, idle := range []bool{true, false, false, true, false} {
			if !idle {
				p.add("a")
			}
			if err := p.Check(nil); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour)
		}
	})
}
