// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// machine is the clock of the operator's machine: the test's, and so much ahead.
type machine struct{ ahead atomic.Int64 }

func (m *machine) Now() time.Time                  { return time.Now().Add(time.Duration(m.ahead.Load())) }
func (m *machine) Since(t time.Time) time.Duration { return m.Now().Sub(t) }

// operator is a running manager.
type operator struct {
	network *network
	machine *machine
	// lock is for the election of a leader, if there is one.
	lock resourcelock.Interface
	stop func()
}

// later lets both clocks, the API server's and the machine's, show a later time. What waits
// for a time on a timer of its own goes on waiting.
func (o *operator) later(d time.Duration) {
	o.network.ahead.Add(int64(d))
	o.machine.ahead.Add(int64(d))
}

type option func(*operator, *snapshots.Options)

// at starts the operator at a time to come, by all clocks.
func at(d time.Duration) option {
	return func(o *operator, _ *snapshots.Options) { o.later(d) }
}

// machineAhead has the operator's machine be wrong.
func machineAhead(d time.Duration) option {
	return func(o *operator, _ *snapshots.Options) { o.machine.ahead.Store(int64(d)) }
}

// refusing has some requests refused on their way.
func refusing(refuse func(*http.Request) int) option {
	return func(o *operator, _ *snapshots.Options) { o.network.refuse = refuse }
}

func statusEvery(d time.Duration) option {
	return func(_ *operator, options *snapshots.Options) { options.StatusInterval = d }
}

// start runs the operator, wired as in cmd, for the namespace of this world and until the end
// of the spec.
func (w *world) start(opts ...option) *operator {
	GinkgoHelper()
	o := &operator{network: &network{}, machine: &machine{}}
	options := snapshots.Options{
		Workers:          8,
		StatusInterval:   100 * time.Millisecond,
		DeletesPerSecond: 50,
		MaxClockSkew:     time.Minute,
		KindsInterval:    200 * time.Millisecond,
		Clock:            o.machine,
	}
	for _, opt := range opts {
		opt(o, &options)
	}

	wired := rest.CopyConfig(config)
	wired.Impersonate.UserName = operatorUser
	wired.Wrap(func(base http.RoundTripper) http.RoundTripper {
		o.network.base = base
		return o.network
	})
	snapshots.Configure(wired, o.machine)
	options.Stores = snapshots.NewStores()
	caching := snapshots.CacheOptions(options.Stores)
	caching.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
	skip := true
	manager, err := ctrl.NewManager(wired, ctrl.Options{
		Scheme:         scheme,
		Cache:          caching,
		MapperProvider: snapshots.Mapper,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     ctrlconfig.Controller{SkipNameValidation: &skip},

		LeaderElection:                      o.lock != nil,
		LeaderElectionResourceLockInterface: o.lock,
	})
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(ctx)
	Expect(snapshots.SetupWithManager(running, manager, options)).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	stopped := false
	o.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		Expect(<-ended).To(Succeed(), "the manager ends without an error")
		Expect(o.network.seen(func(r request) bool {
			return r.answer == http.StatusForbidden && (r.method != http.MethodPost || r.resource() != "volumesnapshots")
		})).To(BeEmpty(), "the role that is shipped allows all that the operator does")
	}
	DeferCleanup(o.stop)
	return o
}
