// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// The writes are those of an operator that does not crash.
var _ = DescribeTable("An operator ends alike whichever of its writes it dies at, alone or beside another one", diesAtEachWrite,
	// Contract: MAP-7.
	Entry("takes two snapshots, and deletes the older one", 3, 3, func(l *lives) {
		l.createClaim("data")
		s := l.createSchedule("nightly", func(s *spec) { s.Retention.MaxCount = ptr.To[int32](1) })
		taken := map[types.UID]bool{}
		step := func(g Gomega, wanted, left int) {
			all := l.snapshots()
			for i := range all {
				if taken[all[i].UID] = true; all[i].Status == nil {
					makeReady(&all[i])
				}
			}
			g.Expect(taken).To(HaveLen(wanted))
			g.Expect(all).To(HaveLen(left))
		}
		l.eventually(func(g Gomega) { step(g, 1, 1) })
		first := l.snapshots()[0]
		requestSlot(s)
		l.eventually(func(g Gomega) { step(g, 2, 1) })
		Expect(l.snapshots()[0].UID).NotTo(Equal(first.UID))
	}),
	// Contract: OWN-1.
	Entry("adopts two snapshots, and deletes the older one", 3, 3, func(l *lives) {
		s := l.createSchedule("nightly", suspended, func(s *spec) { s.Retention.MaxCount = ptr.To[int32](1) })
		data, released := l.createClaim("data"), func(v *snapshot) { v.OwnerReferences = nil }
		l.createSnapshot(s, data, 2*time.Hour, released)
		newest := l.createSnapshot(s, data, time.Hour, released)
		l.eventually(func(g Gomega) {
			all := l.snapshots()
			g.Expect(all).To(ConsistOf(HaveField("UID", newest.UID)))
			g.Expect(metav1.IsControlledBy(&all[0], s)).To(BeTrue())
		})
	}),
	// The third write is the finalizer, which the schedule needs only if it is reconciled before the snapshot is released.
	//
	// Contract: OWN-6.
	Entry("releases a snapshot before its schedule goes", 3, 2, func(l *lives) {
		l.createClaim("data")
		s := l.createSchedule("nightly")
		l.eventually(func(g Gomega) { g.Expect(l.snapshots()).To(HaveLen(1)) })
		mergePatch(s, `{"spec":{"deletionPolicy":"Orphan"}}`)
		l.eventually(func(g Gomega) { g.Expect(get(s).Status.ObservedGeneration).To(Equal(s.Generation)) })
		Expect(l.snapshots()).To(HaveEach(HaveField("OwnerReferences", BeEmpty())))
		Expect(api.Delete(ctx, s)).To(Succeed())
		l.eventually(func(g Gomega) { g.Expect(isDeleted(s)()).To(BeTrue()) })
		Expect(l.snapshots()).To(ConsistOf(HaveField("OwnerReferences", BeEmpty())))
	}),
)

// requestSlot requests a snapshot at another second than that of all slots so far.
func requestSlot(s *schedule) {
	GinkgoHelper()
	requested := time.Now().Add(time.Second)
	Eventually(time.Now).Should(BeTemporally(">", requested))
	setAnnotation(s, v1alpha1.AnnotationRequestedAt, requested.UTC().Format(time.RFC3339))
}

var _ = Describe("The child of a ClusterSnapshotSchedule", func() {
	// The writes are its create, the spec that is put back, the suspension, and the delete. An operator sees all ClusterSnapshotSchedules,
	// so that one dies after the other.
	//
	// Contract: FLEET-1, FLEET-2, FLEET-4.
	It("ends alike whichever of its writes an operator dies at, alone or beside another one", func() {
		for _, l := range deathsAt(4, 4) {
			deleteAllSchedules()
			l.environment = &environment{}
			l.live(func(l *lives) {
				f := newFleet()
				env := f.newNamespace()
				child := f.child(env)
				l.eventually(func(g Gomega) { g.Expect(f.counts()).To(Equal("1 1 1 1 0")) })
				mergePatch(child, `{"spec":{"snapshotTTL":"1s"}}`)
				l.eventually(func(g Gomega) { g.Expect(get(child).Spec).To(Equal(f.Spec.Template.Spec)) })
				removeLabel(env.object(), "backup")
				l.eventually(func(g Gomega) { g.Expect(f.counts()).To(Equal("0 0 0 0 0")) })
				Expect(isDeleted(child)()).To(BeTrue(), l.what)
			})
		}
	})
})

// diesAtEachWrite has operators live who die at each of their writes, each in an environment of its own.
func diesAtEachWrite(writes, certain int, live func(*lives)) {
	GinkgoHelper()
	var runs sync.WaitGroup
	for _, l := range deathsAt(writes, certain) {
		l.environment = newEnvironment()
		runs.Go(func() {
			defer GinkgoRecover()
			l.live(live)
		})
	}
	runs.Wait()
}

// deathsAt returns an operator for each of its writes, who dies before or after the commit. Another one is started afterwards, or was active
// all the time. Of the writes, so many are certain.
func deathsAt(writes, certain int) (all []*lives) {
	for at := 1; at <= writes; at++ {
		for _, committed := range []bool{false, true} {
			for _, beside := range []bool{false, true} {
				all = append(all, &lives{
					beside: beside, certain: at <= certain, crash: &crash{at: at, committed: committed, down: make(chan struct{})},
					what: fmt.Sprintf("write %d, committed: %t, beside another one: %t", at, committed, beside),
				})
			}
		}
	}
	return all
}

// lives are those of an operator that crashes, and of the one after it or beside it.
type lives struct {
	*environment
	crash        *crash
	certain      bool
	beside, dead bool
	ahead        time.Duration
	operators    []*operator
	what         string
}

func (l *lives) live(story func(*lives)) {
	GinkgoHelper()
	l.start(func(o *operator) { o.network.crash = l.crash })
	if l.beside {
		l.start()
	}
	story(l)
	if l.certain && !l.beside { // the other one may have made most of the writes
		Expect(l.crash.down).To(BeClosed(), l.what)
	}
	for _, o := range l.operators {
		o.stop()
	}
}

func (l *lives) start(opts ...option) {
	GinkgoHelper()
	l.operators = append(l.operators, l.startOperator(append(opts, clocksAhead(l.ahead))...))
}

// advance advances the clocks.
func (l *lives) advance(d time.Duration) {
	l.ahead += d
	for _, o := range l.operators {
		o.advanceClocks(d)
	}
}

// eventually waits until a check succeeds. An operator that is down meanwhile ends, and is followed by another one.
func (l *lives) eventually(check func(Gomega)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		select {
		case <-l.crash.down:
			if !l.dead {
				l.dead = true
				l.operators[0].stop()
				if !l.beside {
					l.start()
				}
			}
		default:
		}
		check(g)
	}, "60s", "200ms").Should(Succeed(), l.what) // many wait at a time
}
