// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

func (f *fleetObject) statusWrites(o *operator) int {
	return len(o.network.find(func(r request) bool {
		return strings.HasSuffix(r.path, "/clustersnapshotschedules/"+f.Name+"/status")
	}))
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
		Expect(f.status().Outputs.SnapshotSchedules).To(Equal(v1alpha1.ScheduleCount{Total: 1, Ready: 1}))
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
			c.Spec.Template.Spec.SnapshotTTL = "10d"
			c.Spec.Template.Spec.Retention.Keep.Daily = 7
		})
		env := f.newNamespace()
		o := startFleetOperator()
		child := f.waitForChild(env)
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		want := get(child.DeepCopy()).Spec
		setLabel(child, "team", "shop")
		setAnnotation(child, v1alpha1.AnnotationRequestedAt, "2020-01-01T00:00:00Z")
		edits := []string{
			`{"spec":{"selector":{"matchLabels":{"app":"none"}}}}`,
			`{"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}}`,
			`{"spec":{"storageClassNames":["slow"]}}`,
			`{"spec":{"schedule":null,"snapshotInterval":"1y"}}`,
			`{"spec":{"timeZone":"Europe/Oslo"}}`,
			`{"spec":{"snapshotTTL":"1s"}}`, `{"spec":{"snapshotTTL":null}}`,
			`{"spec":{"suspend":true}}`,
			`{"spec":{"startingDeadline":"1s"}}`,
			`{"spec":{"jitter":"1h"}}`,
			`{"spec":{"readyDeadline":"5y"}}`,
			`{"spec":{"deletionPolicy":"Orphan"}}`, `{"spec":{"deletionPolicy":null}}`,
			`{"spec":{"snapshotTemplate":{"metadata":{"labels":{"a":"b"},"annotations":{"a":"b"}},"spec":{"volumeSnapshotClassName":"slow"}}}}`,
			`{"spec":{"snapshotTemplate":{"spec":{"volumeSnapshotClassNames":["slow","slower"]}}}}`,
			`{"spec":{"retention":{"minReady":0,"maxCount":1}}}`,
			`{"spec":{"retention":{"editDelay":"1y"}}}`,
			`{"spec":{"retention":{"keep":{"last":1,"hourly":1,"daily":1,"weekly":1,"monthly":1,"yearly":1}}}}`,
			`{"spec":{"retention":{"keep":null}}}`,
			`{"spec":{"retention":{"detached":{"snapshotTTL":"1s","minReady":3}}}}`,
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
			}).WithTimeout(5 * time.Second).Should(Succeed())
		}
		Expect(fieldsIn(edits)).To(ConsistOf(specFields()), "every field of the spec should be edited here")
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		writes := func() int { return len(o.childWrites()) }
		Eventually(writes).Should(Equal(1+len(edits)), "one write for each edit")
		Consistently(writes, "1s").Should(Equal(1 + len(edits)))
	})

	// Contract: FLEET-2.
	It("puts back every field of the template's spec that somebody removes from a child's", func() {
		f := newFleet(func(c *clusterSchedule) { c.Spec.Template.Spec = fullSpec() })
		env := f.newNamespace()
		o := startFleetOperator()
		child := f.waitForChild(env)
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		want := get(child.DeepCopy()).Spec
		alternatives := []string{"snapshotInterval", "snapshotTemplate.spec.volumeSnapshotClassName"} // of which the spec has the other one
		Expect(fieldsIn([]string{asPatch(want)})).To(ConsistOf(without(specFields(), alternatives...)), "every field should be set here")
		removable := without(specFields(), append(alternatives, "schedule")...) // a spec without a schedule is refused
		for _, field := range removable {
			before := get(child).Generation
			mergePatch(child, removalOf(field))
			Expect(get(child).Generation).To(BeNumerically(">", before), field+" was removed")
			Eventually(func() spec { return get(child.DeepCopy()).Spec }).WithTimeout(5*time.Second).Should(Equal(want), field)
		}
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		writes := func() int { return len(o.childWrites()) }
		Eventually(writes).Should(Equal(1+len(removable)), "one write for each edit")
		Consistently(writes, "1s").Should(Equal(1 + len(removable)))
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

	DescribeTable("does not adopt an orphan without its name and both labels",
		func(change func(*schedule)) {
			f := newFleet()
			env, other := f.newNamespace(), f.newNamespace()
			orphan := f.child(env)
			orphan.Labels = map[string]string{v1alpha1.LabelMapKey: env.namespace, v1alpha1.LabelClusterSchedule: f.Name}
			orphan.Spec = spec{SnapshotInterval: "1y"}
			change(orphan)
			Expect(api.Create(ctx, orphan)).To(Succeed())
			startFleetOperator()
			f.waitForChild(other)
			if orphan.Name == f.Name {
				Eventually(f.problems).Should(ConsistOf(env.namespace + " " + v1alpha1.ReasonNameCollision))
			} else {
				f.waitForChild(env)
			}
			Expect(get(orphan.DeepCopy())).To(And(HaveField("Spec", orphan.Spec), HaveField("OwnerReferences", BeEmpty())))
		},
		// Contract: FLEET-3.
		Entry("another name", func(s *schedule) { s.Name = "copy" }),
		// Contract: FLEET-3.
		Entry("the map key of another namespace", func(s *schedule) { s.Labels[v1alpha1.LabelMapKey] = "other" }),
		// Contract: FLEET-3.
		Entry("no map key", func(s *schedule) { delete(s.Labels, v1alpha1.LabelMapKey) }),
		// Contract: FLEET-3.
		Entry("another ClusterSnapshotSchedule's name", func(s *schedule) { s.Labels[v1alpha1.LabelClusterSchedule] = "silver" }),
		// Contract: FLEET-3.
		Entry("no ClusterSnapshotSchedule's name", func(s *schedule) { delete(s.Labels, v1alpha1.LabelClusterSchedule) }),
	)

	// Contract: FLEET-3.
	It("releases a child whose map key somebody removes", func() {
		f := newFleet()
		env := f.newNamespace()
		startFleetOperator()
		child := f.waitForChild(env)
		removeLabel(child, v1alpha1.LabelMapKey)
		Eventually(func() []metav1.OwnerReference { return get(child).OwnerReferences }).Should(BeEmpty())
		Eventually(f.problems).Should(ConsistOf(env.namespace + " " + v1alpha1.ReasonNameCollision))
	})

	// Contract: FLEET-1.
	It("creates its child again in a namespace that is deleted and created again, and in one whose child is deleted", func() {
		f := newFleet()
		env := f.newNamespace()
		startFleetOperator()
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

	// Contract: FLEET-6.
	It("sums up the statuses of its children", func() {
		f := newFleet(func(c *clusterSchedule) {
			c.Spec.Template.Spec.Schedule, c.Spec.Template.Spec.SnapshotInterval = "", "1y"
		})
		a, b := f.newNamespace(), f.newNamespace()
		a.createClaim("one")
		startFleetOperator()
		makeReady(a.waitForSnapshot("one"))
		f.waitForChild(b)
		b.createClaim("two")
		b.createPendingClaim("three")
		b.waitForSnapshot("two")
		Eventually(func(g Gomega) {
			s := f.status()
			g.Expect(s.PersistentVolumeClaims).To(HaveValue(HaveField("Total", int32(3))))
			g.Expect(s.VolumeSnapshots).To(HaveValue(Equal(v1alpha1.OutputCount{Total: 2, Ready: 1})))
			g.Expect(s.OldestRecoveryPointTime).NotTo(BeNil())
		}).Should(Succeed())
		oldest := f.status()
		var times []*metav1.Time
		for _, env := range []*environment{a, b} {
			times = append(times, get(f.child(env)).Status.OldestRecoveryPointTime)
		}
		first, namespace := times[0], a.namespace
		if times[1].Before(first) {
			first, namespace = times[1], b.namespace
		}
		if times[0].Equal(times[1]) {
			namespace = min(a.namespace, b.namespace)
		}
		Expect(oldest.OldestRecoveryPointTime.Equal(first)).To(BeTrue())
		Expect(oldest.OldestRecoveryPointNamespace).To(Equal(namespace))
	})

	// Contract: FLEET-1, FLEET-6.
	It("writes once for each of 1,000 namespaces that it selects at once, and a status at most once in an interval", func() {
		f := newFleet()
		const n = 1000
		for range n {
			f.newLater()
		}
		const interval = 5 * time.Second
		o := startFleetOperator(statusInterval(interval))
		Eventually(f.counts).Should(Equal("0 0 0 0 0"))
		before, began := f.statusWrites(o), time.Now()
		f.edit(func(c *clusterSchedule) {
			c.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"later": v1alpha1.LabelValue(f.Name)}
		})
		Eventually(f.counts, "3m", "200ms").Should(Equal(fmt.Sprintf("%d %d %d %d 0", n, n, n, n)))
		took := time.Since(began)
		Expect(o.childWrites()).To(And(HaveLen(n), HaveEach(HavePrefix("POST "))))
		writes := f.statusWrites(o) - before
		AddReportEntry("1,000 namespaces", fmt.Sprintf("%s, %d status writes", took.Round(time.Second), writes))
		Expect(writes).To(BeNumerically("<=", 1+int(took/interval)))
	})
})

// newLater creates a namespace that the fleet selects after its selector was changed.
func (f *fleetObject) newLater() {
	GinkgoHelper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "many-", Labels: map[string]string{"later": f.Name}}}
	Expect(api.Create(ctx, n)).To(Succeed())
}

// fullSpec sets every field that has no alternative, each to something that is not its default.
func fullSpec() spec {
	s := spec{
		StorageClassNames: []v1alpha1.StorageClassName{"fast"}, Schedule: "@yearly", TimeZone: "Europe/Oslo", SnapshotTTL: "3y",
		Suspend: true, StartingDeadline: "1d", Jitter: "1h", ReadyDeadline: "2h", DeletionPolicy: v1alpha1.DeletionOrphan,
	}
	s.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "shop"}
	s.Selector.MatchExpressions = []v1alpha1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}
	s.SnapshotTemplate.Metadata.Labels = map[string]v1alpha1.LabelValue{"a": "b"}
	s.SnapshotTemplate.Metadata.Annotations = map[string]string{"a": "b"}
	s.SnapshotTemplate.Spec.VolumeSnapshotClassNames = []v1alpha1.SnapshotClassName{"fast"}
	const one = 1
	s.Retention = v1alpha1.Retention{MinReady: ptr.To[int32](2), MaxCount: ptr.To[int32](9), EditDelay: "1h",
		Keep:     v1alpha1.Keep{Last: one, Hourly: one, Daily: one, Weekly: one, Monthly: one, Yearly: one},
		Detached: v1alpha1.DetachedRetention{SnapshotTTL: "1y", MinReady: one}}
	return s
}

// specFields returns the paths of all fields of a spec that are no structs, as in JSON. They come from the type, so that no field can be
// forgotten.
func specFields() []string { return leaves("", reflect.TypeFor[spec]()) }

func leaves(path string, t reflect.Type) (all []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return []string{strings.TrimPrefix(path, ".")}
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		all = append(all, leaves(path+"."+name, field.Type)...)
	}
	return all
}

// fieldsIn returns those of specFields that merge patches change.
func fieldsIn(patches []string) (all []string) {
	GinkgoHelper()
	for _, field := range specFields() {
		if slices.ContainsFunc(patches, func(p string) bool {
			var content map[string]any
			Expect(json.Unmarshal([]byte(p), &content)).To(Succeed())
			_, found, err := unstructured.NestedFieldNoCopy(content, append([]string{"spec"}, strings.Split(field, ".")...)...)
			return found && err == nil
		}) {
			all = append(all, field)
		}
	}
	return all
}

// removalOf returns the merge patch that removes a field of the spec.
func removalOf(field string) string {
	path := strings.Split(field, ".")
	return `{"spec":{"` + strings.Join(path, `":{"`) + `":null` + strings.Repeat("}", len(path)+1)
}

// asPatch returns the merge patch that sets all fields of a spec.
func asPatch(s spec) string {
	GinkgoHelper()
	text, err := json.Marshal(map[string]any{"spec": s})
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func without(all []string, some ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(some, s) })
}
