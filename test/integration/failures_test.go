// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const quotaOfSnapshots = corev1.ResourceName("count/volumesnapshots.snapshot.storage.k8s.io")

var _ = Describe("Failures", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// createQuota limits the number of snapshots. It sets the used number as the quota controller would do.
	createQuota := func(hard, used string) *corev1.ResourceQuota {
		GinkgoHelper()
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "snapshots"}}
		limit := corev1.ResourceList{quotaOfSnapshots: resource.MustParse(hard)}
		q.Spec.Hard = limit
		Expect(api.Create(ctx, q)).To(Succeed())
		q.Status = corev1.ResourceQuotaStatus{Hard: limit, Used: corev1.ResourceList{quotaOfSnapshots: resource.MustParse(used)}}
		Expect(api.Status().Update(ctx, q)).To(Succeed())
		return q
	}

	raise := func(q *corev1.ResourceQuota) {
		GinkgoHelper()
		fresh := get(q)
		fresh.Spec.Hard[quotaOfSnapshots] = resource.MustParse("9")
		Expect(api.Update(ctx, fresh)).To(Succeed())
		fresh.Status.Hard[quotaOfSnapshots] = resource.MustParse("9")
		Expect(api.Status().Update(ctx, fresh)).To(Succeed())
	}

	// Contract: ONE-7.
	It("with a full quota, reports failing creates and continues retention, and takes the due snapshot when there is room", func() {
		s := env.createSchedule("backup", ttl("1h"))
		c := env.createClaim("data")
		env.createSnapshot(s, c, 3*time.Hour)
		a := env.createSnapshot(s, c, 2*time.Hour)
		q := createQuota("2", "2")
		env.startOperator(clocksAhead(4*time.Hour), forbidden)
		Eventually(env.snapshotNames).Should(ConsistOf(a.Name), "retention should continue")
		Eventually(readyCondition(s)).Should(Equal("False SnapshotsFailing"))
		Expect(problems(s)()).To(ConsistOf(problem("data", "CreateFailed", "exceeded quota: snapshots")))
		Expect(readyMessage(s)).To(HavePrefix("1 of 1 PersistentVolumeClaim failing: data: CreateFailed: "))
		Eventually(env.events).Should(ConsistOf(And(
			HavePrefix("Warning CreateFailed SnapshotSchedule/backup: PersistentVolumeClaim data: "), ContainSubstring("exceeded quota"))))

		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Total }).Should(BeEquivalentTo(1))
		version := func() string { return get(s.DeepCopy()).ResourceVersion }
		Consistently(version, "1500ms").Should(Equal(settled(version)), "further attempts should not change status")

		raise(q)
		env.waitForSnapshots("data", 2)
		Eventually(problems(s)).ShouldNot(ContainElement(HaveField("Reason", "CreateFailed")))
	})

	// Contract: EVT-5, ONE-7, STAT-5.
	It("takes the snapshots of all other PVCs when the creates for one are denied, which 'kubectl describe pvc' shows", func() {
		denyCreates(env, "denied-")
		s := env.createSchedule("backup")
		env.startOperator()
		denied := env.createClaim("denied")
		for i := range 5 {
			env.createClaim(fmt.Sprint("data-", i))
		}
		for i := range 5 {
			makeReady(env.waitForSnapshot(fmt.Sprint("data-", i)))
		}
		Eventually(problems(s)).Should(ConsistOf(problem("denied", "CreateFailed", "denied by the test")))
		Eventually(func() string { return readyMessage(s) }).Should(HavePrefix("1 of 6 PersistentVolumeClaims failing: denied: CreateFailed: "))
		Expect(env.snapshotsOf("denied")).To(BeEmpty())
		Eventually(env.events).Should(ConsistOf(ContainSubstring("PersistentVolumeClaim denied: ")))
		Eventually(describedEvents(denied)).Should(ConsistOf(And(
			HavePrefix("Warning CreateFailed SnapshotSchedule/backup: SnapshotSchedule backup: "), ContainSubstring("denied by the test"))))
	})

	// Contract: STAT-5.
	It("keeps what creates failed for when the slot is too old, over a restart, until the next snapshot", func() {
		q := createQuota("0", "0")
		s := env.createSchedule("backup", func(s *spec) { s.StartingDeadline = "5m" })
		env.createClaim("data")
		o := env.startOperator(forbidden)
		Eventually(problems(s)).Should(HaveLen(1))
		failed := problem("data", "CreateFailed", "exceeded quota")
		Expect(problems(s)()).To(ConsistOf(failed))
		Eventually(env.events).Should(HaveLen(1))
		o.stop()

		raise(q)
		o = env.startOperator(clocksAhead(10 * time.Minute))
		env.createPendingClaim("other")
		Eventually(func() int32 { return status(s).Inputs.PersistentVolumeClaims.Total }).Should(BeEquivalentTo(2))
		Consistently(problems(s), "500ms", "50ms").Should(ConsistOf(failed))
		Expect(o.network.count("POST", "volumesnapshots")).To(BeZero(), "the slot is too old")
		Expect(env.events()).To(HaveLen(1), "nothing new failed")

		o.stop()
		env.startOperator(clocksAhead(61 * time.Minute))
		makeReady(env.waitForSnapshot("data"))
		Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
		Expect(problems(s)()).To(BeEmpty())
	})

	// The name of one of its own snapshots is taken as well, if somebody changed what it is computed from.
	// Contract: MAP-10, EVT-2.
	It("reports a collision when the slot of its own snapshot was changed, until it is set again", func() {
		s := env.createSchedule("backup", func(s *spec) { s.SnapshotInterval = "1w" })
		env.createClaim("data")
		o := env.startOperator()
		taken := env.waitForSnapshot("data")
		makeReady(taken)
		slot := slotOf(*taken)
		Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
		refused := metricsOf(s)["refused_writes_total create"]

		setAnnotation(taken, v1alpha1.AnnotationScheduledAt, "2020-01-01T00:00:00Z")
		Eventually(readyCondition(s)).Should(Equal("False SnapshotsFailing"))
		Expect(problems(s)()).To(ConsistOf(problem("data", "NameCollision", taken.Name)))
		Expect(problems(s)()[0].Message).To(And(ContainSubstring("set it to "+slot+" again, or delete the VolumeSnapshot: "),
			HaveSuffix(" --overwrite '"+v1alpha1.AnnotationScheduledAt+"="+slot+"'")))
		Eventually(env.events).Should(ConsistOf(And(HavePrefix("Warning NameCollision SnapshotSchedule/backup: PersistentVolumeClaim data: "),
			ContainSubstring(taken.Name))))
		Eventually(func() float64 { return metricsOf(s)["refused_writes_total create"] }).Should(BeNumerically(">", refused+1), "it is retried")
		Expect(o.network.count("POST", "volumesnapshots")).To(Equal(1), "no create can succeed")

		setAnnotation(taken, v1alpha1.AnnotationScheduledAt, slot)
		Eventually(problems(s)).Should(BeEmpty())
		Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
		Expect(env.snapshotNames()).To(ConsistOf(taken.Name))

		By("deleting it instead")
		setAnnotation(taken, v1alpha1.AnnotationScheduledAt, "2020-01-01T00:00:00Z")
		Eventually(problems(s)).Should(HaveLen(1))
		addFinalizer(taken)
		Expect(api.Delete(ctx, taken)).To(Succeed())
		Eventually(func() string { return problems(s)()[0].Message }).Should(ContainSubstring("is being deleted"))
		removeFinalizers(taken)
		Eventually(problems(s)).Should(BeEmpty())
		Eventually(env.snapshots).Should(ConsistOf(And(HaveField("Name", taken.Name), HaveField("UID", Not(Equal(taken.UID))))))
	})

	// The snapshot controller goes by the name of the source: what an earlier PVC left keeps the one that was created in its place.
	//
	// Contract: ONE-8.
	It("keeps no PVC by what an earlier one of its name has left unready", func() {
		env := newEnvironment()
		s := env.createSchedule("backup", suspended, func(s *spec) { s.ReadyDeadline = "30m" }) // suspended: the clocks are advanced
		earlier := env.createClaim("data")
		uploading := env.createSnapshot(s, earlier, time.Hour)
		setStatus(uploading, snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(false)})
		other := env.createSnapshot(s, env.createClaim("other"), time.Hour)
		setStatus(other, snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(false), Error: &snapshotv1.VolumeSnapshotError{}})
		deleteClaim(earlier)
		Eventually(isDeleted(earlier)).Should(BeTrue())
		again := env.createClaim("data")
		addFinalizer(again)
		DeferCleanup(removeFinalizers, again)
		Expect(api.Delete(ctx, again)).To(Succeed())

		o := env.startOperator(clocksAhead(3 * time.Minute))
		Eventually(problems(s)).Should(ContainElement(problem("data", v1alpha1.ReasonSnapshotKeepsClaim, uploading.Name)))
		Eventually(readyCondition(s)).Should(Equal("False SnapshotsFailing"))
		Expect(env.snapshotNames()).To(ConsistOf(uploading.Name, other.Name), "it may still become ready")

		By("an error of the driver that lasts longer than readyDeadline")
		o.advanceClocks(time.Hour)
		setStatus(uploading, snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(false), Error: &snapshotv1.VolumeSnapshotError{}})
		Eventually(env.snapshotNames).Should(ConsistOf(other.Name), "that of a PVC which is not being deleted stays")
		Eventually(problems(s)).ShouldNot(ContainElement(HaveField("Reason", v1alpha1.ReasonSnapshotKeepsClaim)))
	})
})

// denyCreates has the API server deny the creation of snapshots with this name prefix.
func denyCreates(env *environment, prefix string) {
	GinkgoHelper()
	probe := &snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, GenerateName: prefix + "probe-"}}
	probe.Spec.Source.PersistentVolumeClaimName = ptr.To("probe")
	env.deny(fmt.Sprintf("!object.metadata.name.startsWith(%q)", prefix), probe, admissionv1.Rule{
		APIGroups: []string{"snapshot.storage.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"volumesnapshots"},
	}, admissionv1.Create)
}

// deny has the API server deny writes in the namespace unless an expression holds. It denies the creation of the probe.
func (env *environment) deny(unless string, probe client.Object, rule admissionv1.Rule, operations ...admissionv1.OperationType) {
	GinkgoHelper()
	name := env.namespace + "-" + rule.Resources[0]
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{Operations: operations, Rule: rule},
	}}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: unless, Message: "denied by the test"}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec.PolicyName = name
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny}
	binding.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: env.namespace}}}
	for _, o := range []client.Object{policy, binding} {
		Expect(api.Create(ctx, o)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, o)).To(Succeed()) })
	}
	// The API server needs a moment until it enforces a policy.
	Eventually(func() error {
		return client.NewDryRunClient(api).Create(ctx, probe.DeepCopyObject().(client.Object))
	}).Should(MatchError(ContainSubstring("denied by the test")))
}
