// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// isChildWrite returns whether a request wrote a SnapshotSchedule, not its status. A conflict, after a status was written, writes nothing.
func isChildWrite(r request) bool {
	return r.method != "GET" && r.answer < 300 && r.resource() == "snapshotschedules" && !strings.HasSuffix(r.path, "/status") &&
		!strings.Contains(r.body, `"finalizers"`) // the SnapshotSchedule controller's, while the policy changes
}

func (o *operator) childWrites() (all []string) {
	for _, r := range o.network.find(isChildWrite) {
		all = append(all, fmt.Sprintf("%s %s %d %s", r.method, r.path, r.answer, r.body))
	}
	return all
}

var _ = Describe("A ClusterSnapshotSchedule", func() {
	BeforeEach(deleteAllSchedules)

	// Contract: FLEET-8.
	It("is in the cache of a manager before that leads", func() {
		newFleet()
		o := startFleetOperator(onStandby)
		Eventually(func() []request {
			return o.network.find(func(r request) bool { return r.isWatch() && strings.HasSuffix(r.path, "/clustersnapshotschedules") })
		}).ShouldNot(BeEmpty())
	})

	// Contract: FLEET-1.
	It("keeps a SnapshotSchedule with its template in every namespace that it selects, also in new ones", func() {
		f := newFleet(func(c *clusterSchedule) {
			c.Spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
			c.Spec.Template.Metadata.Annotations = map[string]string{"note": "nightly"}
			c.Spec.Template.Spec.SnapshotTTL = "10d"
		})
		a, other := f.newNamespace(), newEnvironment()
		o := startFleetOperator()
		child := f.waitForChild(a)
		Expect(child.Spec).To(Equal(f.Spec.Template.Spec))
		Expect(child.Labels).To(Equal(map[string]string{
			"tier": "gold", v1alpha1.LabelMapKey: a.namespace, v1alpha1.LabelClusterSchedule: f.Name}))
		Expect(child.Annotations).To(Equal(map[string]string{"note": "nightly"}))
		b := f.newNamespace()
		f.waitForChild(b)
		Eventually(f.counts).Should(Equal("2 2 2 2 0"))
		Expect(f.ready()).To(Equal("True Scheduled"))
		Expect(isDeleted(f.child(other))()).To(BeTrue(), "a namespace that is not selected")
		Consistently(o.childWrites, "1s").Should(HaveLen(2))
	})

	// Contract: FLEET-6, FLEET-7.
	It("reports that its selector matches no namespace, and an invalid template, under which nothing is written", func() {
		f := newFleet()
		o := startFleetOperator()
		Eventually(f.ready).Should(Equal("True NoMatchingNamespaces"))
		env := f.newNamespace()
		child := f.waitForChild(env)
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		f.edit(func(c *clusterSchedule) { c.Spec.Template.Spec.Schedule = "0 0 30 2 *" })
		Eventually(f.ready).Should(Equal("False InvalidSpec"))
		Expect(f.status().Inputs).To(BeNil())
		Eventually(func() v1alpha1.ScheduleCount { return f.status().Outputs.SnapshotSchedules }).Should(Equal(v1alpha1.ScheduleCount{Total: 1, Ready: 1}))
		removeLabel(env.object(), "backup")
		mergePatch(child, `{"spec":{"suspend":true}}`)
		Consistently(o.childWrites, "1s").Should(HaveLen(1), "the create")
		f.edit(func(c *clusterSchedule) { c.Spec.Template.Spec.Schedule = "@monthly" })
		Eventually(isDeleted(child)).Should(BeTrue(), "the namespace is no longer selected, and has no snapshots")
	})

	// Contract: FLEET-2, FLEET-9.
	It("puts back every field of a child's spec that somebody changes, adds or removes, and keeps other labels and annotations", func() {
		f := newFleet(func(c *clusterSchedule) {
			c.Spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
			c.Spec.Template.Spec.SnapshotTTL, c.Spec.Template.Spec.ReadyDeadline = "10d", "2h"
			c.Spec.Template.Spec.Retention.Keep.Daily = 7
			c.Spec.Template.Spec.SnapshotTemplate.Metadata.Labels = map[string]v1alpha1.LabelValue{"a": "b"}
		})
		env := f.newNamespace()
		o := startFleetOperator()
		child := f.waitForChild(env)
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		want := get(child.DeepCopy()).Spec
		setLabel(child, "team", "shop")
		setAnnotation(child, v1alpha1.AnnotationRequestedAt, "2020-01-01T00:00:00Z")
		// The whole spec is compared and written, so one edit of each sort will do.
		edits := []string{
			`{"spec":{"schedule":null,"snapshotInterval":"1y"}}`,
			`{"spec":{"snapshotTTL":"1s"}}`, `{"spec":{"snapshotTTL":null}}`,
			`{"spec":{"suspend":true}}`,
			`{"spec":{"readyDeadline":"5y"}}`, `{"spec":{"readyDeadline":null}}`,
			`{"spec":{"storageClassNames":["slow"]}}`,
			`{"spec":{"selector":{"matchLabels":{"app":"none"},"matchExpressions":[{"key":"a","operator":"Exists"}]}}}`,
			`{"spec":{"retention":{"minReady":0,"maxCount":1,"keep":{"daily":1,"weekly":1}}}}`, `{"spec":{"retention":null}}`,
			`{"spec":{"snapshotTemplate":null,"deletionPolicy":null}}`,
			`{"metadata":{"labels":{"tier":"bronze"}}}`, `{"metadata":{"labels":{"tier":null}}}`,
		}
		for _, edit := range edits {
			mergePatch(child, edit)
			Eventually(func(g Gomega) {
				now := get(child.DeepCopy())
				g.Expect(now.Spec).To(Equal(want), edit)
				g.Expect(now.Labels).To(HaveKeyWithValue("tier", "gold"))
				g.Expect(now.Labels).To(HaveKeyWithValue("team", "shop"))
				g.Expect(now.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationRequestedAt, "2020-01-01T00:00:00Z"))
			}).Should(Succeed())
		}
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		writes := func() int { return len(o.childWrites()) }
		Eventually(writes).Should(Equal(1+len(edits)), "one write for each edit")
		Consistently(writes, "1s").Should(Equal(1 + len(edits)))
	})

	// Contract: FLEET-3, FLEET-5.
	It("leaves a SnapshotSchedule of its name alone that somebody else made, and reports the collision", func() {
		f := newFleet()
		env, fine := f.newNamespace(), f.newNamespace()
		theirs := env.createSchedule(f.Name)
		o := startFleetOperator()
		f.waitForChild(fine)
		Eventually(f.ready).Should(Equal("False SchedulesFailing"))
		Eventually(f.problems).Should(ConsistOf(env.namespace + " " + v1alpha1.ReasonNameCollision))
		Expect(get(theirs.DeepCopy())).To(And(HaveField("Spec", theirs.Spec), HaveField("OwnerReferences", BeEmpty())))
		Eventually(f.counts).Should(Equal("2 1 1 1 0"))
		Eventually((&environment{namespace: "default"}).events).Should(ContainElement(And(
			ContainSubstring("NameCollision ClusterSnapshotSchedule/"+f.Name), ContainSubstring(env.namespace))))
		Expect(api.Delete(ctx, theirs)).To(Succeed())
		f.waitForChild(env)
		Eventually(f.ready).Should(Equal("True Scheduled"))
		Expect(o.network.count("PATCH", "snapshotschedules")).To(BeNumerically(">", 0), "statuses")
	})

	// Contract: FLEET-3.
	It("adopts what a backup tool restored: with labels, without owners, and with another spec", func() {
		f := newFleet()
		env := f.newNamespace()
		restored := f.child(env)
		restored.Labels = map[string]string{v1alpha1.LabelMapKey: env.namespace, v1alpha1.LabelClusterSchedule: f.Name, "velero": "x"}
		restored.Spec = spec{SnapshotInterval: "1y", Suspend: true, Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](1)}}
		Expect(api.Create(ctx, restored)).To(Succeed())
		startFleetOperator()
		child := f.waitForChild(env)
		Expect(child.UID).To(Equal(restored.UID))
		Eventually(func() spec { return get(child).Spec }).Should(Equal(f.Spec.Template.Spec))
		Expect(child.Labels).To(HaveKeyWithValue("velero", "x"))
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
	})

	// Contract: FLEET-1.
	It("creates its child again in a namespace that is deleted and created again, and in one whose child is deleted", func() {
		f := newFleet()
		env := f.newNamespace()
		startFleetOperator(forbidden) // by the API server, in the old namespace and, for a moment, in the new one
		first := f.waitForChild(env)
		Expect(api.Delete(ctx, first)).To(Succeed())
		Eventually(func() bool { return isDeleted(first)() || get(f.child(env)).UID != first.UID }).Should(BeTrue())
		second := f.waitForChild(env)
		deleteNamespace(env, second)
		Eventually(f.counts).Should(Equal("0 0 0 0 0"))
		f.recreateNamespace(env)
		Expect(f.waitForChild(env).UID).NotTo(Equal(second.UID))
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
	})

	// Contract: FLEET-4.
	It("lets go of a child in a namespace that is being deleted", func() {
		f := newFleet()
		env := f.newNamespace()
		o := startFleetOperator()
		child := f.waitForChild(env)
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		Expect(api.Delete(ctx, env.object())).To(Succeed())
		Eventually(f.counts).Should(Equal("0 0 0 0 0"))
		mergePatch(child, `{"spec":{"snapshotTTL":"1d"}}`)
		Consistently(o.childWrites, "1s").Should(HaveLen(1), "the create")
	})
})
