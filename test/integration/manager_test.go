// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mapcontroller.dev/snapshotschedule/internal/clusterschedules"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/enginetest/mutationdetector"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
	"mapcontroller.dev/snapshotschedule/test/internal/inprocess"
)

// The metrics of all operators of this process: one counts on where another ended.
var ofSchedules, ofClusterSchedules = metrics.New(), clusterschedules.NewMetrics()

func init() { ctrlmetrics.Registry.MustRegister(ofSchedules, ofClusterSchedules) }

// newManager returns a manager with the operator's controllers; for a single namespace without ClusterSnapshotSchedule.
func newManager(o *operator, namespace string) manager.Manager {
	GinkgoHelper()
	restConfig := rest.CopyConfig(config)
	restConfig.Impersonate.UserName = operatorUser
	restConfig.Wrap(func(base http.RoundTripper) http.RoundTripper {
		o.network.base = base
		return o.network
	})
	options := ctrl.Options{
		NewCache: mutationdetector.NewCache, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:     ctrlconfig.Controller{SkipNameValidation: new(true)},
		LeaderElection: o.lock != nil, LeaderElectionResourceLockInterface: o.lock,
	}
	if namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	m, err := inprocess.New(o.ctx, restConfig, inprocess.Options{
		Workers: 8, MaxInFlight: o.maxInFlight, DeletesPerSecond: 50, StatusInterval: 100 * time.Millisecond, MaxClockSkew: time.Minute,
		KindsInterval: 200 * time.Millisecond, Clock: o.clock, Metrics: ofSchedules, ClusterMetrics: ofClusterSchedules,
	}, options)
	Expect(err).NotTo(HaveOccurred())
	return m
}

// operator is a running manager.
type operator struct {
	ctx     context.Context
	network *network
	clock   *localClock
	// lock is the lock for leader election, if there is one.
	lock resourcelock.Interface
	// maxInFlight limits the snapshots of a driver that are uncut; zero: no limit.
	maxInFlight int
	// mayBeForbidden is set if a spec has quotas or roles forbid requests of the operator.
	mayBeForbidden bool
	stop           func()
}

// localClock is the clock of the operator's machine.
type localClock struct{ ahead atomic.Int64 }

func (c *localClock) Now() time.Time                  { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *localClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// advanceClocks advances both the API server's clock and the local one, as the operator sees them. Timers that are running are
// not affected: an event must requeue a key.
func (o *operator) advanceClocks(d time.Duration) {
	o.network.ahead.Add(int64(d))
	o.clock.ahead.Add(int64(d))
}

type option func(*operator)

// clocksAhead starts the operator with both clocks advanced.
func clocksAhead(d time.Duration) option {
	return func(o *operator) { o.advanceClocks(d) }
}

// localClockAhead starts the operator with a local clock that is wrong.
func localClockAhead(d time.Duration) option {
	return func(o *operator) { o.clock.ahead.Store(int64(d)) }
}

// failing starts the operator with a network that answers requests with a status code.
func failing(code int, match func(request) bool) option {
	return func(o *operator) { o.network.fail(code, match) }
}

func forbidden(o *operator) { o.mayBeForbidden = true }

func maxInFlight(n int) option {
	return func(o *operator) { o.maxInFlight = n }
}

// startOperator runs the operator for the namespace of this environment until the end of the spec.
func (env *environment) startOperator(opts ...option) *operator {
	GinkgoHelper()
	running, cancel := context.WithCancel(ctx)
	o := &operator{ctx: running, network: &network{}, clock: &localClock{}}
	for _, opt := range opts {
		opt(o)
	}
	m := newManager(o, env.namespace)
	ended := make(chan error, 1)
	go func() { ended <- m.Start(running) }()
	o.stop = sync.OnceFunc(func() {
		GinkgoHelper()
		cancel()
		o.network.heal() // a manager whose cache never syncs does not stop
		Expect(<-ended).To(Succeed(), "the manager should end without an error")
		Expect(o.network.find(func(r request) bool {
			return r.answer == http.StatusForbidden && !o.mayBeForbidden
		})).To(BeEmpty(), "the shipped role should allow every request of the operator")
	})
	DeferCleanup(o.stop)
	return o
}
