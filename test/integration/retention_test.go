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

var _ = Describe("Retention", func() {
	// Contract: RET-1, RET-6.
	It("keeps the newest ready snapshot of a PVC that exists, however old", func() {
		env := newEnvironment()
		s := env.createSchedule("backup", suspended, ttl("1h"), selecting("app", "shop")) // suspended: the clocks are advanced
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
		Eventually(env.snapshotNames).Should(ConsistOf(held.Name, source.Name, newest.Name))

		By("removing the hold")
		mergePatch(held, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationHold+`":null}}}`)
		Eventually(env.snapshotNames).Should(ConsistOf(source.Name, newest.Name))

		By("ending the restore")
		setPhase(restored, corev1.ClaimBound)
		requeue(c)
		Eventually(env.snapshotNames).Should(ConsistOf(newest.Name))
	})

	// Contract: VER-1, VER-2, VER-4, VER-5, GUARD-4.
	It("keeps an old verified snapshot until a newer one is verified", func() {
		env := newEnvironment()
		s := env.createSchedule("backup", suspended, ttl("1h"), func(s *spec) { s.Retention.MinVerified = 1 })
		c := env.createClaim("data")
		drilled := time.Now().UTC().Truncate(time.Second) // in the past, by the operator's clock
		verified := env.createSnapshot(s, c, 5*time.Hour, func(v *snapshot) {
			v.Annotations[v1alpha1.AnnotationVerifiedAt] = drilled.Format(time.RFC3339)
		})
		env.createSnapshot(s, c, 4*time.Hour)
		newest := env.createSnapshot(s, c, 3*time.Hour)
		env.startOperator(clocksAhead(4 * time.Hour))
		Eventually(env.snapshotNames).Should(ConsistOf(verified.Name, newest.Name))
		Eventually(func() *metav1.Time { return status(s).OldestVerifiedTime }).Should(HaveField("Time", BeTemporally("==", drilled)))

		By("failing the drill of the newest")
		setAnnotation(newest, v1alpha1.AnnotationVerifyFailed, drilled.Add(time.Minute).Format(time.RFC3339)+" checksum differs")
		Eventually(func() []v1alpha1.Problem { return status(s).Problems }).Should(ConsistOf(SatisfyAll(
			HaveField("Reason", v1alpha1.ReasonVerificationFailed), HaveField("Message", ContainSubstring(newest.Name+": checksum differs")))))
		Expect(env.snapshotNames()).To(ConsistOf(verified.Name, newest.Name))

		By("verifying it")
		setAnnotation(newest, v1alpha1.AnnotationVerifiedAt, drilled.Add(2*time.Minute).Format(time.RFC3339))
		Eventually(env.snapshotNames).Should(ConsistOf(newest.Name))
		Eventually(func() []v1alpha1.Problem { return status(s).Problems }).Should(BeEmpty())
	})
})
