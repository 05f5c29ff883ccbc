// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const quotaOfSnapshots = corev1.ResourceName("count/volumesnapshots.snapshot.storage.k8s.io")

var _ = Describe("What goes wrong", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	problems := func(s *schedule) func() []v1alpha1.Problem {
		return func() []v1alpha1.Problem { return status(s).Problems }
	}
	problem := func(claim, reason, says string) any {
		return And(HaveField("PersistentVolumeClaim", claim), HaveField("Reason", reason), HaveField("Message", ContainSubstring(says)))
	}

	// quota allows so many snapshots, with so many used, as the quota controller would say.
	quota := func(hard, used string) *corev1.ResourceQuota {
		GinkgoHelper()
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "snapshots"}}
		limit := corev1.ResourceList{quotaOfSnapshots: resource.MustParse(hard)}
		q.Spec.Hard = limit
		Expect(api.Create(ctx, q)).To(Succeed())
		q.Status = corev1.ResourceQuotaStatus{Hard: limit, Used: corev1.ResourceList{quotaOfSnapshots: resource.MustParse(used)}}
		Expect(api.Status().Update(ctx, q)).To(Succeed())
		return q
	}

	// Contract: ONE-7.
	It("goes on with a full quota: says so, expires, and takes what is due when there is room", func() {
		s := w.schedule("backup", ttl("1h"))
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		a := w.past(s, c, 2*time.Hour)
		q := quota("2", "2")
		w.start(at(4 * time.Hour))
		Eventually(w.names).Should(ConsistOf(a.Name), "expiry goes on")
		Eventually(ready(s)).Should(Equal("False SnapshotsFailing"))
		Expect(problems(s)()).To(ConsistOf(problem("data", "CreateFailed", "exceeded quota: snapshots")))
		Expect(message(s)).To(HavePrefix("1 of 1 PersistentVolumeClaim failing; first data: CreateFailed: "))
		Eventually(w.events).Should(ConsistOf(And(
			HavePrefix("Warning CreateFailed SnapshotSchedule/backup: PersistentVolumeClaim data: "), ContainSubstring("exceeded quota"))))

		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Total }).Should(BeEquivalentTo(1))
		settled := get(s.DeepCopy()).ResourceVersion
		Consistently(func() string { return get(s.DeepCopy()).ResourceVersion }, "1500ms").
			Should(Equal(settled), "tries do not show in status")

		fresh := get(q)
		fresh.Spec.Hard[quotaOfSnapshots] = resource.MustParse("9")
		Expect(api.Update(ctx, fresh)).To(Succeed())
		fresh.Status.Hard[quotaOfSnapshots] = resource.MustParse("9")
		Expect(api.Status().Update(ctx, fresh)).To(Succeed())
		w.count("data", 2)
		Eventually(problems(s)).ShouldNot(ContainElement(HaveField("Reason", "CreateFailed")))
	})

	// Contract: ONE-7, STAT-5.
	It("serves all others when the creates of one PVC are denied", func() {
		deny(w, "denied-")
		s := w.schedule("backup")
		w.start()
		w.claim("denied")
		for i := range 5 {
			w.claim(fmt.Sprint("data-", i))
		}
		for i := range 5 {
			makeReady(w.first(fmt.Sprint("data-", i)))
		}
		Eventually(problems(s)).Should(ConsistOf(problem("denied", "CreateFailed", "not this one")))
		Expect(message(s)).To(HavePrefix("1 of 6 PersistentVolumeClaims failing; first denied: CreateFailed: "))
		Expect(w.of("denied")).To(BeEmpty())
		Eventually(w.events).Should(ConsistOf(ContainSubstring("PersistentVolumeClaim denied: ")))
	})

	// Contract: EVT-1.
	It("gives each PVC that fails an event of its own", func() {
		deny(w, "")
		w.schedule("backup")
		w.start()
		w.claim("a")
		w.claim("b")
		Eventually(w.events).Should(ConsistOf(
			ContainSubstring("CreateFailed SnapshotSchedule/backup: PersistentVolumeClaim a: "),
			ContainSubstring("CreateFailed SnapshotSchedule/backup: PersistentVolumeClaim b: ")))
	})

	// Contract: STAT-3.
	It("lists ten problems and says how many more there are", func() {
		deny(w, "")
		s := w.schedule("backup")
		for i := range 12 {
			w.claim(fmt.Sprintf("data-%02d", i))
		}
		w.start()
		Eventually(func() int32 { return status(s).MoreProblems }).Should(BeEquivalentTo(2))
		Expect(problems(s)()).To(HaveLen(10))
		Expect(problems(s)()[0].PersistentVolumeClaim).To(Equal("data-00"))
	})

	// Contract: STAT-7.
	It("carries over since when a problem is known", func() {
		deny(w, "")
		s := w.schedule("backup")
		w.claim("data")
		o := w.start()
		Eventually(problems(s)).Should(HaveLen(1))
		since := problems(s)()[0].Since
		o.stop()
		w.start(at(time.Hour))
		w.claim("other")
		Eventually(problems(s)).Should(HaveLen(2))
		Expect(problems(s)()[0].Since.Equal(&since)).To(BeTrue())
		Expect(problems(s)()[1].Since.After(since.Time)).To(BeTrue())
	})

	// Contract: MAP-10, EVT-2.
	It("calls it a collision when another's object has the name, and never a success", func() {
		s := w.schedule("backup")
		c := w.claim("data")
		o := w.start()
		taken := w.first("data")
		o.stop()
		Expect(api.Delete(ctx, taken)).To(Succeed())
		w.past(s, c, 5*time.Hour, named(taken.Name), ownedByAnother)
		o = w.start()
		Eventually(ready(s)).Should(Equal("False SnapshotsFailing"))
		Expect(problems(s)()).To(ConsistOf(problem("data", "NameCollision", taken.Name)))
		Eventually(w.events).Should(ConsistOf(And(HavePrefix("Warning NameCollision SnapshotSchedule/backup: PersistentVolumeClaim data: "),
			ContainSubstring(taken.Name))))
		Expect(o.network.of("DELETE", "volumesnapshots")).To(BeZero())

		Expect(api.Delete(ctx, &snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: taken.Name}})).To(Succeed())
		Eventually(problems(s)).Should(BeEmpty())
		Expect(w.of("data")).To(ConsistOf(HaveField("Name", taken.Name)))
	})

	// Contract: MAP-10.
	It("calls it a collision also when nobody controls what has the name, and it is of another slot", func() {
		s := w.schedule("backup")
		c := w.claim("data")
		o := w.start()
		taken := w.first("data")
		o.stop()
		Expect(api.Delete(ctx, taken)).To(Succeed())
		w.past(s, c, 5*time.Hour, named(taken.Name), orphaned, func(v *snapshot) { v.Labels = nil })
		w.start()
		Eventually(problems(s)).Should(ConsistOf(problem("data", "NameCollision", taken.Name)))
	})

	// Contract: MAP-7, MAP-8.
	It("takes it for a success when the answer to a create got lost", func() {
		s := w.schedule("backup")
		var lost atomic.Bool
		w.start(losing(&lost))
		w.claim("data")
		v := w.first("data")
		Eventually(lost.Load).Should(BeTrue())
		makeReady(v)
		w.marker()
		Eventually(problems(s)).Should(BeEmpty())
		Expect(w.names()).To(ContainElement(v.Name))
		Expect(w.of("data")).To(HaveLen(1))
	})

	// Contract: STAT-6.
	It("says that the VolumeSnapshot API is missing, and goes on by itself when it is there", func() {
		var there atomic.Bool
		s := w.schedule("backup")
		w.claim("data")
		w.start(refusing(func(r *http.Request) int {
			if !there.Load() && strings.HasPrefix(r.URL.Path, "/apis/snapshot.storage.k8s.io") {
				return http.StatusNotFound
			}
			return 0
		}))
		Eventually(ready(s)).Should(Equal("False SnapshotAPIMissing"))
		Expect(message(s)).To(ContainSubstring("VolumeSnapshot"))
		Expect(status(s).NextSnapshotTime).To(BeNil())
		there.Store(true)
		w.first("data")
		Eventually(ready(s)).Should(Equal("True Scheduled"))
	})
})

// deny has the API server deny snapshots whose names begin so.
func deny(w *world, prefix string) {
	GinkgoHelper()
	name := w.namespace
	rule := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule: admissionv1.Rule{
			APIGroups: []string{"snapshot.storage.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"volumesnapshots"}},
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rule}}}
	policy.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf("!object.metadata.name.startsWith(%q)", prefix), Message: "not this one"}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec.PolicyName = name
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny}
	binding.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}}}
	for _, o := range []client.Object{policy, binding} {
		Expect(api.Create(ctx, o)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, o)).To(Succeed()) })
	}
	// It takes the API server a moment to heed a policy.
	probe := &snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: prefix + "probe-"}}
	probe.Spec.Source.PersistentVolumeClaimName = ptr.To("probe")
	Eventually(func() error {
		return client.NewDryRunClient(api).Create(ctx, probe.DeepCopy())
	}).Should(MatchError(ContainSubstring("not this one")))
}
