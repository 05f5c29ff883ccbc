// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// The schedules here are suspended, so that no snapshot is taken when the clocks are advanced.
var _ = Describe("Retention", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// expectOnly waits until exactly these snapshots are left.
	expectOnly := func(names ...string) {
		GinkgoHelper()
		Eventually(env.snapshotNames).Should(ConsistOf(names))
	}

	// Contract: RET-2.
	It("deletes snapshots older than snapshotTTL, down to the floor", func() {
		env.createSchedule("backup", func(s *spec) { s.SnapshotInterval, s.SnapshotTTL = "2s", "3s" })
		o := env.startOperator()
		env.createClaim("data")
		oldest := env.waitForSnapshot("data")
		makeReady(oldest)
		Eventually(func(g Gomega) {
			for _, v := range env.snapshots() {
				if v.Status == nil && v.DeletionTimestamp == nil {
					makeReady(&v)
				}
			}
			g.Expect(isDeleted(oldest)()).To(BeTrue())
		}).Should(Succeed())
		Expect(env.snapshotsOf("data")).NotTo(BeEmpty())
		Eventually(func() []request {
			return o.network.find(func(r request) bool { return r.method == "DELETE" && r.answer == 200 })
		}).ShouldNot(BeEmpty(), "a request is recorded after its response")
	})

	// Contract: RET-1, RET-6.
	It("keeps the newest ready snapshot of a PVC that exists, however old", func() {
		s := env.createSchedule("backup", suspended, ttl("1h"), selecting("app", "shop"))
		c := env.createClaim("data", "app", "shop")
		held := env.createSnapshot(s, c, 6*time.Hour, func(v *snapshot) { v.Annotations[v1alpha1.AnnotationHold] = "" })
		source := env.createSnapshot(s, c, 5*time.Hour)
		env.createSnapshot(s, c, 4*time.Hour)
		newest := env.createSnapshot(s, c, 3*time.Hour)
		unready := env.createSnapshot(s, c, 2*time.Hour)
		setStatus(unready, snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(false), Error: &snapshotv1.VolumeSnapshotError{}})
		restored := &claim{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "restored"}}
		restored.Spec = *c.Spec.DeepCopy()
		restored.Spec.DataSource = &corev1.TypedLocalObjectReference{
			APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: source.Name}
		Expect(api.Create(ctx, restored)).To(Succeed())
		env.startOperator(clocksAhead(4 * time.Hour))
		expectOnly(held.Name, source.Name, newest.Name)

		By("removing the hold")
		mergePatch(held, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationHold+`":null}}}`)
		expectOnly(source.Name, newest.Name)

		By("ending the restore")
		setPhase(restored, corev1.ClaimBound)
		requeue(c)
		expectOnly(newest.Name)
	})

	// Contract: RET-9.
	It("deletes every expired snapshot of a PVC that is gone, and keeps the floor of one that is not selected", func() {
		s := env.createSchedule("backup", suspended, ttl("1h"), selecting("app", "shop"))
		gone, other := env.createClaim("gone"), env.createClaim("other")
		env.createSnapshot(s, gone, 3*time.Hour)
		env.createSnapshot(s, gone, 2*time.Hour)
		env.createSnapshot(s, other, 3*time.Hour)
		newest := env.createSnapshot(s, other, 2*time.Hour)
		deleteClaim(gone)
		env.startOperator(clocksAhead(4 * time.Hour))
		expectOnly(newest.Name)
		deleteClaim(other)
		expectOnly()
		Eventually(detached(s)).Should(BeZero())
	})
})
