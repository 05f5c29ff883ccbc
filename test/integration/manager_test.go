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
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
	"mapcontroller.dev/snapshotschedule/internal/transport"
)

// The metrics of all operators of this process: one counts on where another ended.
var ofSchedules, ofClusterSchedules = metrics.New(), clusterschedules.NewMetrics()

func init() { ctrlmetrics.Registry.MustRegister(ofSchedules, ofClusterSchedules) }

// newManager returns a manager with the operator's controllers, wired as in cmd; for a single namespace without ClusterSnapshotSchedule.
// It is the only function of this suite that uses internal/snapshots and internal/clusterschedules.
func newManager(o *operator, namespace string) manager.Manager {
	GinkgoHelper()
	restConfig := rest.CopyConfig(config)
	restConfig.Impersonate.UserName = operatorUser
	restConfig.Wrap(func(base http.RoundTripper) http.RoundTripper {
		o.network.base = base
		return o.network
	})
	snapshots.Configure(restConfig, o.clock)
	options := snapshots.Options{
		Workers:          8,
		StatusInterval:   o.statusInterval,
		DeletesPerSecond: 50,
		MaxClockSkew:     time.Minute,
		KindsInterval:    200 * time.Millisecond,
		Clock:            o.clock,
		Stores:           snapshots.NewStores(),
	}
	cacheOptions := snapshots.CacheOptions(options.Stores)
	clusterschedules.AddToCache(&cacheOptions)
	if namespace != "" {
		cacheOptions.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	m, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:         scheme,
		Cache:          cacheOptions,
		NewCache:       mutationdetector.NewCache,
		MapperProvider: snapshots.RESTMapper,
		NewClient:      transport.NewClient,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     ctrlconfig.Controller{SkipNameValidation: new(true)},

		LeaderElection:                      o.lock != nil,
		LeaderElectionResourceLockInterface: o.lock,
	})
	Expect(err).NotTo(HaveOccurred())
	unwritten := &snapshots.Unwritten{}
	Expect(snapshots.SetupWithManager(o.ctx, m, options, o.maxInFlight, unwritten, ofSchedules)).To(Succeed())
	if namespace == "" {
		Expect(clusterschedules.SetupWithManager(m, options, snapshots.Validate, &snapshots.Ownership, unwritten, ofClusterSchedules)).To(Succeed())
	}
	return m
}

// operator is a running manager.
type operator struct {
	ctx     context.Context
	network *network
	clock   *localClock
	// lock is the lock for leader election, if there is one.
	lock           resourcelock.Interface
	statusInterval time.Duration
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

func statusInterval(d time.Duration) option {
	return func(o *operator) { o.statusInterval = d }
}

func maxInFlight(n int) option {
	return func(o *operator) { o.maxInFlight = n }
}

// startOperator runs the operator for the namespace of this environment until the end of the spec.
func (env *environment) startOperator(opts ...option) *operator {
	GinkgoHelper()
	running, cancel := context.WithCancel(ctx)
	o := &operator{ctx: running, network: &network{}, clock: &localClock{}, statusInterval: 100 * time.Millisecond}
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

// expectRest waits until operators have sent no request that matches for a second, and expects none for two more.
func expectRest(match func(request) bool, operators ...*operator) {
	GinkgoHelper()
	sent := func() (n int) {
		for _, o := range operators {
			n += len(o.network.find(match))
		}
		return n
	}
	last, since := sent(), time.Now()
	Eventually(func() time.Duration {
		if n := sent(); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since)
	}).Should(BeNumerically(">", time.Second))
	Consistently(sent, "2s", "100ms").Should(Equal(last))
}
