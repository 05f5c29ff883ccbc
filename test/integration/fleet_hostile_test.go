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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("A tenant who edits the child of a ClusterSnapshotSchedule", func() {
	BeforeEach(deleteAllSchedules)

	const confirm = v1alpha1.AnnotationConfirmGeneration
	// often has snapshots taken that the template does not take. None may be.
	const often = `"schedule":null,"snapshotInterval":"1s"`
	// ahead is the age of the snapshots by the clocks.
	ahead := 4 * time.Hour
	keeping := func(d v1alpha1.Duration) func(*clusterSchedule) {
		return func(c *clusterSchedule) { c.Spec.Template.Spec.SnapshotTTL = d }
	}
	var (
		f     *fleetObject
		env   *environment
		child *schedule
		o     *operator
		kept  int
	)
	// protected starts the operator with a child that has so many PVCs, each with as many snapshots.
	protected := func(n int, changes ...func(*clusterSchedule)) {
		GinkgoHelper()
		f = newFleet(append([]func(*clusterSchedule){keeping("30d")}, changes...)...)
		env = f.newNamespace()
		o = startFleetOperator(clocksAhead(ahead))
		child = f.waitForChild(env)
		Eventually(func() bool { return get(child).Status.ObservedGeneration == child.Generation }).Should(BeTrue())
		for i := range n {
			c := env.createClaim(fmt.Sprint("data-", i))
			for j := range n {
				env.createSnapshot(child, c, time.Duration(1+j)*time.Minute, withName(fmt.Sprintf("old-%d-%d", i, j)))
			}
		}
		kept = n * n
	}
	deletes := func() int { return o.network.deletes() }
	requeueAll := func() {
		GinkgoHelper()
		for i := range kept {
			c := &claim{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: fmt.Sprint("data-", i)}}
			if !isDeleted(c)() {
				requeue(c)
			}
		}
	}
	keepsAll := func() {
		GinkgoHelper()
		requeueAll()
		Consistently(deletes, "1500ms").Should(BeZero())
		Expect(env.snapshots()).To(HaveLen(kept))
	}
	passes := func(d time.Duration) {
		GinkgoHelper()
		o.advanceClocks(d)
		requeueAll()
	}
	putBack := func() bool {
		return get(child).Spec.SnapshotTTL == f.Spec.Template.Spec.SnapshotTTL && metav1.IsControlledBy(child, f.clusterSchedule)
	}
	recorded := func() {
		GinkgoHelper()
		Eventually(func() int64 { return recordedGeneration(child)() }).Should(Equal(get(child.DeepCopy()).Generation))
	}

	// Contract: FLEET-9, FLEET-10.
	DescribeTable("deletes nothing by edits that are put back",
		func(metadata string) {
			protected(3)
			for range 3 {
				generation := get(child).Generation
				patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}%s},"spec":{"snapshotTTL":"1s","retention":{"minReady":0},%s}}`,
					confirm, generation+1, metadata, often)
				o.network.failNext(http.StatusServiceUnavailable, to(http.MethodPatch, "/snapshotschedules/"+f.Name+"$"))
				mergePatch(child, patch)
				Eventually(putBack).Should(BeTrue())
				Expect(get(child).Generation).To(BeNumerically(">=", generation+2))
			}
			Expect(deletes()).To(BeZero())
			keepsAll()
			passes(2 * time.Minute)
			keepsAll()
		},
		Entry("of the spec", ``),
		Entry("of the owner as well", `,"ownerReferences":null`),
		Entry("of owner and finalizers", `,"ownerReferences":[],"finalizers":["tenant.example.com/mine"]`),
	)

	// Contract: FLEET-2.
	It("does not keep the spec from being put back by changing something else again and again", func() {
		f = newFleet(keeping("30d"))
		env = f.newNamespace()
		child = f.child(env)
		var changes atomic.Int64
		patches := to(http.MethodPatch, "/snapshotschedules/"+f.Name+"$")
		startFleetOperator(failing(http.StatusConflict, func(r request) bool {
			if patches(r) && strings.Contains(r.body, `"resourceVersion"`) {
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"again":"%d"}}}`, changes.Add(1))
				_ = api.Patch(ctx, f.child(env), client.RawPatch(types.MergePatchType, []byte(patch)))
			}
			return false // the API server notices
		}))
		child = f.waitForChild(env)
		mergePatch(child, `{"metadata":{"labels":{"team":"shop"}},"spec":{"snapshotTTL":"1s"}}`)
		Eventually(putBack).Should(BeTrue())
		Expect(changes.Load()).To(BeNumerically(">", 0))
		Expect(child.Labels).To(HaveKeyWithValue("team", "shop"))
	})

	// mine is the patch that takes off both labels.
	mine := fmt.Sprintf(`{"metadata":{"labels":{%q:null,%q:null}}}`, v1alpha1.LabelMapKey, v1alpha1.LabelClusterSchedule)
	whole := func() bool {
		GinkgoHelper()
		labels := get(child).Labels
		return metav1.IsControlledBy(child, f.clusterSchedule) && labels[v1alpha1.LabelMapKey] == env.namespace && labels[v1alpha1.LabelClusterSchedule] == f.Name
	}

	// Contract: FLEET-2, FLEET-13.
	DescribeTable("has what they take off put back, again and again",
		func(patches ...string) {
			protected(1)
			recorded()
			uid := child.UID
			for range 3 {
				for _, patch := range patches {
					mergePatch(child, patch)
				}
				Eventually(whole).Should(BeTrue())
			}
			Expect(child.UID).To(Equal(uid))
			Eventually(f.problems).Should(BeEmpty())
			keepsAll()
		},
		Entry("the owner", `{"metadata":{"ownerReferences":null}}`),
		Entry("both labels", mine),
		Entry("all labels", `{"metadata":{"labels":null}}`),
		Entry("owner and labels", `{"metadata":{"ownerReferences":null,"labels":null}}`),
		Entry("the owner, after the labels", mine, `{"metadata":{"ownerReferences":null}}`),
		Entry("the labels, for others", fmt.Sprintf(`{"metadata":{"labels":{%q:"other",%q:"other"}}}`, v1alpha1.LabelMapKey, v1alpha1.LabelClusterSchedule)),
		Entry("owner, labels and spec", `{"metadata":{"ownerReferences":null,"labels":null},"spec":{"snapshotTTL":"1s"}}`),
	)

	// Contract: FLEET-2, FLEET-13.
	It("does not keep owner and labels off by changing something else before every write", func() {
		var changes atomic.Int64
		protected(1)
		recorded()
		patches := to(http.MethodPatch, "/snapshotschedules/"+f.Name+"$")
		o.network.fail(http.StatusConflict, func(r request) bool {
			if patches(r) && strings.Contains(r.body, `"resourceVersion"`) {
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"again":"%d"}}}`, changes.Add(1))
				_ = api.Patch(ctx, f.child(env), client.RawPatch(types.MergePatchType, []byte(patch)))
			}
			return false // the API server notices
		})
		mergePatch(child, `{"metadata":{"ownerReferences":null,"labels":null}}`)
		Eventually(whole).Should(BeTrue())
		Expect(changes.Load()).To(BeNumerically(">", 1))
	})

	// Contract: FLEET-13.
	It("is shown as a collision where they give it to something else, which stays its owner, and takes by the template's spec all the same", func() {
		protected(1)
		recorded()
		tenant := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "theirs"}}
		Expect(api.Create(ctx, tenant)).To(Succeed())
		mergePatch(child, fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"theirs","uid":%q,"controller":true}]},`+
			`"spec":{"snapshotTTL":"1s","retention":{"minReady":0},%s}}`, tenant.UID, often))
		Eventually(f.problems).Should(ConsistOf(env.namespace + " " + v1alpha1.ReasonNameCollision))
		recorded()
		keepsAll()
		Expect(metav1.IsControlledBy(get(child), tenant)).To(BeTrue())
		Eventually(func() []v1alpha1.Problem { return get(child).Status.Problems }).Should(ContainElement(
			HaveField("Reason", v1alpha1.ReasonSpecDiffers)))
		By("until it is nothing else's any more")
		mergePatch(child, `{"metadata":{"ownerReferences":null}}`)
		Eventually(whole).Should(BeTrue())
		Eventually(putBack).Should(BeTrue())
		Eventually(f.problems).Should(BeEmpty())
		keepsAll()
	})

	// Contract: FLEET-10.
	It("deletes nothing with an edit that takes off owner and labels and cannot be put back", func() {
		protected(3)
		recorded()
		o.network.fail(http.StatusUnprocessableEntity, to(http.MethodPatch, "/snapshotschedules/"+f.Name+"$"))
		mergePatch(child, fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"},"ownerReferences":null,"labels":null},`+
			`"spec":{"snapshotTTL":"1s","retention":{"minReady":0},%s}}`, confirm, child.Generation+1, often))
		Eventually(f.problems).Should(ConsistOf(env.namespace + " " + v1alpha1.ReasonAdoptionRefused))
		recorded()
		keepsAll()
		passes(time.Hour)
		keepsAll()
		Eventually(func() []v1alpha1.Problem { return get(child).Status.Problems }).Should(ContainElement(And(
			HaveField("Reason", v1alpha1.ReasonSpecDiffers),
			HaveField("Message", HavePrefix("the spec differs from the template of ClusterSnapshotSchedule "+f.Name+": ")))))
	})

	// Contract: FLEET-2, FLEET-10.
	It("puts back the spec alone after an edit that leaves no room in the child for the rest", func() {
		protected(3, func(c *clusterSchedule) { c.Spec.Template.Metadata.Annotations = map[string]string{"team": "gold"} })
		room := 256 << 10 // of all annotations
		for key, value := range get(child).Annotations {
			if key != "team" {
				room -= len(key) + len(value)
			}
		}
		mergePatch(child, fmt.Sprintf(`{"metadata":{"annotations":{"team":null,"pad":%q}},"spec":{"snapshotTTL":"1s","retention":{"minReady":0}}}`,
			strings.Repeat("x", room-len("pad"))))
		Eventually(f.problems).Should(ConsistOf(env.namespace + " " + v1alpha1.ReasonUpdateFailed))
		Eventually(f.ready).Should(Equal("False SchedulesFailing"))
		Eventually(putBack).Should(BeTrue())
		Expect(child.Annotations).NotTo(HaveKey("team"))
		recorded()
		keepsAll()
		passes(time.Hour)
		keepsAll()
		mergePatch(child, `{"metadata":{"annotations":{"pad":null}}}`)
		Eventually(func() map[string]string { return get(child).Annotations }).Should(HaveKeyWithValue("team", "gold"))
		Eventually(f.problems).Should(BeEmpty())
	})

	// Contract: FLEET-12.
	It("shows that the child's status is outdated, while the child is so large that none can be written", func() {
		f = newFleet(keeping("30d"), everyHour)
		env = f.newNamespace()
		o = startFleetOperator(failing(http.StatusRequestEntityTooLarge, snapshotCreates))
		child = f.waitForChild(env)
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		Expect(f.status().VolumeSnapshots).NotTo(BeNil())
		o.network.fail(http.StatusRequestEntityTooLarge, to("", "/snapshotschedules/"+f.Name+"/status$"))
		env.createClaim("data")
		Eventually(f.problems).Should(ConsistOf(env.namespace + " StatusOutdated"))
		Eventually(f.ready).Should(Equal("False SchedulesFailing"))
		Expect(f.status().VolumeSnapshots).To(BeNil())
		Expect(f.status().Outputs.SnapshotSchedules.Ready).To(BeZero())
		Expect(meta.IsStatusConditionTrue(get(child).Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue(), "the frozen status")

		By("and no longer when there is room again")
		o.network.heal()
		o.network.fail(http.StatusRequestEntityTooLarge, snapshotCreates)
		Eventually(f.problems).Should(ConsistOf(env.namespace + " SnapshotsFailing"))
		Eventually(func() *v1alpha1.OutputCount { return f.status().VolumeSnapshots }).ShouldNot(BeNil())
	})

	// Contract: FLEET-9, FLEET-10.
	It("confirms nothing and requests nothing: that is the ClusterSnapshotSchedule's", func() {
		protected(2)
		recorded()
		setAnnotation(child, v1alpha1.AnnotationRequestedAt, time.Now().Add(ahead).UTC().Format(time.RFC3339))
		setAnnotation(child, confirm, fmt.Sprint(get(child).Generation+1))
		f.edit(func(c *clusterSchedule) {
			c.Spec.Template.Spec.SnapshotTTL = "1h"
			c.Annotations = map[string]string{confirm: fmt.Sprint(c.Generation)} // not of the generation to come
		})
		Eventually(putBack).Should(BeTrue()) // deletes are decided by the template before that
		Eventually(retentionPaused(child)).Should(Equal("True SpecChanged"))
		recorded()
		Expect(get(child).Annotations[confirm]).To(Equal(fmt.Sprint(child.Generation)))
		keepsAll()
		Expect(pausedMessage(child)).To(ContainSubstring("kubectl snapsched confirm --cluster-schedule='" + f.Name + "'"))
		Expect(o.network.count("POST", "volumesnapshots")).To(BeZero(), "a request of the tenant")

		setAnnotation(child, confirm, "0") // so that the confirmation changes it, which wakes the keys
		setAnnotation(f.clusterSchedule, confirm, fmt.Sprint(get(f.clusterSchedule).Generation))
		Eventually(env.snapshots).Should(HaveLen(2), "the floor")
		Eventually(retentionPaused(child)).Should(Equal("False RetentionRunning"))
	})

	// Contract: FLEET-9.
	It("takes a request of the ClusterSnapshotSchedule for every child", func() {
		protected(1)
		at := time.Now().Add(ahead).UTC().Format(time.RFC3339)
		setAnnotation(f.clusterSchedule, v1alpha1.AnnotationRequestedAt, at)
		Eventually(env.snapshots).Should(HaveLen(2))
		Eventually(func() string { return get(child).Annotations[v1alpha1.AnnotationRequestedAt] }).Should(Equal(at))
		By("but not in a namespace that is no longer selected")
		removeLabel(env.object(), "backup")
		Eventually(func() bool { return get(child).Spec.Suspend }).Should(BeTrue())
		setAnnotation(f.clusterSchedule, v1alpha1.AnnotationRequestedAt, time.Now().Add(ahead+time.Second).UTC().Format(time.RFC3339))
		Consistently(env.snapshots, "2s").Should(HaveLen(2))
	})

	// Contract: FLEET-6, FLEET-11.
	It("shows that a child is being deleted, and is no longer ready", func() {
		f = newFleet()
		env = f.newNamespace()
		startFleetOperator()
		child = f.waitForChild(env)
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		addFinalizer(child)
		Expect(api.Delete(ctx, child)).To(Succeed())
		Eventually(f.problems).Should(ConsistOf(env.namespace + " ChildDeleting"))
		Eventually(f.ready).Should(Equal("False SchedulesFailing"))
		Eventually(func() int32 { return f.status().Outputs.SnapshotSchedules.Ready }).Should(BeZero())
		ready := meta.FindStatusCondition(f.status().Conditions, v1alpha1.ConditionReady)
		Expect(ready.Message).To(ContainSubstring(get(child).Finalizers[0]))
		removeFinalizers(child)
		Eventually(f.ready).Should(Equal("True Scheduled"))
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
	})
})
