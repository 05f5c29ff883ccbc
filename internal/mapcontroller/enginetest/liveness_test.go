// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// probedManager is a manager that remembers its last health check.
type probedManager struct {
	manager.Manager
	check healthz.Checker
}

func (m *probedManager) AddHealthzCheck(name string, check healthz.Checker) error {
	m.check = check
	return m.Manager.AddHealthzCheck(name, check)
}

// shiftedClock is a clock that a spec advances.
type shiftedClock struct {
	clock.PassiveClock
	ahead atomic.Int64
}

func (c *shiftedClock) Now() time.Time {
	return c.PassiveClock.Now().Add(time.Duration(c.ahead.Load()))
}

var _ = Describe("The health check", func() {
	It("fails while every worker hangs, and holds before and afterwards", func(sctx SpecContext) {
		ctx := context.WithoutCancel(sctx)
		ns := newNamespace(ctx)
		op := newOperator(ns)
		end := make(chan struct{})
		var hanging atomic.Int64
		op.program.Map = func(o observation) decision {
			hanging.Add(1)
			<-end
			return desire(widgetFor(o))
		}
		op.start()
		DeferCleanup(op.stop)
		check := func() error { return op.manager.check(nil) }
		Consistently(check).Should(Succeed())

		newConfigMap(ctx, ns, "a")
		newConfigMap(ctx, ns, "b")
		newBucket(ctx, ns, "all")
		Eventually(hanging.Load).Should(BeEquivalentTo(2))
		Expect(check()).To(Succeed())
		op.clock.ahead.Store(int64(11 * time.Minute))
		Expect(check()).To(MatchError(ContainSubstring("2 keys are being reconciled")))

		close(end)
		Eventually(widgets).WithArguments(ctx, ns).Should(ConsistOf("all-a", "all-b"))
		Eventually(check).Should(Succeed())
	})
})
