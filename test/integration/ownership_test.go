// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// ownedByAnother has a snapshot be controlled by something else, whatever its labels say.
func ownedByAnother(v *snapshot) {
	v.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Backup", Name: "theirs", UID: "theirs", Controller: ptr.To(true)}}
}

func orphaned(v *snapshot) { v.OwnerReferences = nil }

func named(name string) func(*snapshot) { return func(v *snapshot) { v.Name = name } }

// owner is the UID of what controls a snapshot now; empty: nothing.
func owner(v *snapshot) func() string {
	return func() string {
		if ref := metav1.GetControllerOf(get(v.DeepCopy())); ref != nil {
			return string(ref.UID)
		}
		return ""
	}
}

// What the garbage collector does is shown by the end-to-end tests: there is none here.
var _ = Describe("Ownership", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	outputs := func(s *schedule) func() v1alpha1.OutputCount {
		return func() v1alpha1.OutputCount { return status(s).Outputs.VolumeSnapshots }
	}

	// Contract: GUARD-2, OWN-3.
	It("neither touches nor counts a snapshot that someone else controls, whatever its labels", func() {
		s := w.schedule("backup", suspended, ttl("1h"), func(s *spec) { s.Retention.MaxCount = ptr.To[int32](1) })
		c := w.claim("data")
		theirs := w.past(s, c, 5*time.Hour, ownedByAnother, named("theirs"))
		newer := w.past(s, c, time.Minute, ownedByAnother, named("theirs-newer"))
		w.past(s, c, 3*time.Hour)
		a := w.past(s, c, 2*time.Hour)
		o := w.start(at(4 * time.Hour))
		Eventually(w.names).Should(ConsistOf(theirs.Name, newer.Name, a.Name))
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
		Expect(get(theirs).ResourceVersion).To(Equal(theirs.ResourceVersion))
		Expect(o.network.of("PATCH", "volumesnapshots")).To(BeZero())
	})

	// Contract: OWN-3.
	It("does not take a foreign snapshot for one that serves a slot", func() {
		s := w.schedule("backup")
		c := w.claim("data")
		w.past(s, c, 0, ownedByAnother, named("theirs"))
		w.start()
		w.count("data", 2)
	})

	// Contract: OWN-1.
	It("adopts orphans that carry its labels, and keeps all else about them", func() {
		s := w.schedule("backup", suspended)
		c := w.claim("data")
		orphan := w.past(s, c, time.Hour, orphaned, func(v *snapshot) {
			v.Finalizers = []string{"test/keep"}
			v.Annotations["note"] = "mine"
			v.Labels["tier"] = "gold"
			v.Spec.VolumeSnapshotClassName = ptr.To("fast")
			v.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other"}}
		})
		w.start()
		Eventually(owner(orphan)).Should(Equal(string(s.UID)))
		fresh := get(orphan.DeepCopy())
		Expect(fresh.Labels).To(Equal(orphan.Labels))
		Expect(fresh.Annotations).To(Equal(orphan.Annotations))
		Expect(fresh.Finalizers).To(Equal(orphan.Finalizers))
		Expect(fresh.Spec).To(Equal(orphan.Spec))
		Expect(fresh.OwnerReferences).To(HaveLen(2))
		Expect(fresh.OwnerReferences[1].BlockOwnerDeletion).To(HaveValue(BeTrue()))
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
		Expect(api.Patch(ctx, fresh, patch(`{"metadata":{"finalizers":null}}`))).To(Succeed())
	})

	// Contract: OWN-1.
	It("adopts no orphan of another schedule, without a map key, or that is being deleted", func() {
		s := w.schedule("backup", suspended)
		c := w.claim("data")
		other := w.past(s, c, time.Hour, orphaned, named("other"), func(v *snapshot) { v.Labels[v1alpha1.LabelSchedule] = "another" })
		bare := w.past(s, c, time.Hour, orphaned, named("bare"), func(v *snapshot) { delete(v.Labels, v1alpha1.LabelMapKey) })
		going := w.past(s, c, time.Hour, orphaned, named("going"), func(v *snapshot) { v.Finalizers = []string{"test/hold"} })
		Expect(api.Delete(ctx, going)).To(Succeed())
		orphan := w.past(s, c, time.Hour, orphaned)
		w.start()
		Eventually(owner(orphan)).Should(Equal(string(s.UID)))
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
		for _, v := range []*snapshot{other, bare, going} {
			Expect(owner(v)()).To(BeEmpty(), v.Name)
		}
		Expect(api.Patch(ctx, going, patch(`{"metadata":{"finalizers":null}}`))).To(Succeed())
	})

	// Contract: OWN-2.
	It("takes the series back after --cascade=orphan and a new schedule of the name", func() {
		first := w.schedule("backup")
		w.start()
		w.claim("data")
		v := w.first("data")
		makeReady(v)
		Expect(owner(v)()).To(Equal(string(first.UID)))
		Expect(api.Delete(ctx, first, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		// The garbage collector's part.
		Expect(api.Patch(ctx, v, patch(`{"metadata":{"ownerReferences":null}}`))).To(Succeed())
		Expect(client.IgnoreNotFound(api.Patch(ctx, first, patch(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Eventually(gone(first)).Should(BeTrue())

		second := w.schedule("backup", suspended)
		Eventually(owner(v)).Should(Equal(string(second.UID)))
		Eventually(outputs(second)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
	})

	// Contract: OWN-1, EVT-2.
	It("refuses to adopt for a schedule that is, live, being deleted, and says so", func() {
		s := w.schedule("backup", suspended)
		Expect(api.Patch(ctx, s, patch(`{"metadata":{"finalizers":["test/hold"]}}`))).To(Succeed())
		o := w.start()
		c := w.claim("data")
		Eventually(ready(s)).Should(Equal("True Suspended"))
		o.network.freeze("snapshotschedules")
		Expect(api.Delete(ctx, s)).To(Succeed())
		orphan := w.past(s, c, time.Hour, orphaned)
		Eventually(w.events).Should(ContainElement(And(HavePrefix("Warning AdoptionRefused SnapshotSchedule/backup: PersistentVolumeClaim data"),
			ContainSubstring(orphan.Name))))
		Expect(owner(orphan)()).To(BeEmpty())
		Expect(o.network.of("PATCH", "volumesnapshots")).To(BeZero())
		Expect(api.Patch(ctx, s, patch(`{"metadata":{"finalizers":null}}`))).To(Succeed())
	})

	// Contract: OWN-4.
	It("releases a snapshot whose schedule label a user changes, and never deletes it", func() {
		s := w.schedule("backup", suspended, ttl("1h"))
		c := w.claim("data")
		mine := w.past(s, c, 3*time.Hour)
		w.past(s, c, 2*time.Hour)
		a := w.past(s, c, time.Hour)
		o := w.start()
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 3, Ready: 3}))
		label(mine, v1alpha1.LabelSchedule, "mine")
		Eventually(owner(mine)).Should(BeEmpty())
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 2, Ready: 2}))
		o.later(4 * time.Hour)
		label(c, "wake", "up")
		Eventually(w.names).Should(ConsistOf(mine.Name, a.Name))
	})

	// Contract: OWN-4.
	It("releases a snapshot whose map-key label a user removes, and never deletes it", func() {
		s := w.schedule("backup", suspended, ttl("1h"))
		c := w.claim("data")
		mine := w.past(s, c, 3*time.Hour)
		w.past(s, c, 2*time.Hour)
		a := w.past(s, c, time.Hour)
		o := w.start()
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 3, Ready: 3}))
		unlabel(mine, v1alpha1.LabelMapKey)
		Eventually(owner(mine)).Should(BeEmpty())
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 2, Ready: 2}))
		o.later(4 * time.Hour)
		label(c, "wake", "up")
		Eventually(w.names).Should(ConsistOf(mine.Name, a.Name))
	})

	// Contract: OWN-4.
	It("releases at its start what lost its map key while no one looked", func() {
		s := w.schedule("backup", suspended)
		c := w.claim("data")
		mine := w.past(s, c, time.Hour)
		unlabel(mine, v1alpha1.LabelMapKey)
		theirs := w.past(s, c, time.Hour, ownedByAnother, named("theirs"))
		unlabel(theirs, v1alpha1.LabelMapKey)
		w.start()
		Eventually(owner(mine)).Should(BeEmpty())
		Expect(owner(theirs)()).To(Equal("theirs"))
	})

	// Contract: MAP-9.
	It("takes the slot of a released snapshot for served", func() {
		s := w.schedule("backup")
		o := w.start()
		w.claim("data")
		v := w.first("data")
		makeReady(v)
		unlabel(v, v1alpha1.LabelMapKey)
		Eventually(owner(v)).Should(BeEmpty())
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{}))
		o.stop()

		again := w.start()
		Eventually(func() int {
			return len(again.network.seen(func(r request) bool { return r.method == "POST" && r.answer == 409 }))
		}).Should(BeNumerically(">", 0))
		w.marker()
		Expect(w.of("data")).To(HaveLen(1))
		Eventually(ready(s)).Should(Equal("True Scheduled"))
		Expect(status(s).Problems).To(BeEmpty())
		Expect(w.events()).To(BeEmpty())
	})

	// Contract: OWN-6.
	It("sets its finalizer only while deletionPolicy is Orphan", func() {
		s := w.schedule("backup")
		w.start()
		Eventually(ready(s)).Should(Equal("True NoMatchingClaims"))
		Expect(get(s).Finalizers).To(BeEmpty())
		Expect(api.Patch(ctx, s, patch(`{"spec":{"deletionPolicy":"Orphan"}}`))).To(Succeed())
		Eventually(func() []string { return get(s).Finalizers }).Should(ConsistOf("snapshots.mapcontroller.dev/release"))
		Expect(api.Patch(ctx, s, patch(`{"spec":{"deletionPolicy":"Delete"}}`))).To(Succeed())
		Eventually(func() []string { return get(s).Finalizers }).Should(BeEmpty())
	})

	// Contract: OWN-6.
	It("releases every owned snapshot before a schedule goes whose deletionPolicy is Orphan", func() {
		s := w.schedule("backup", suspended, func(s *spec) { s.DeletionPolicy = v1alpha1.DeletionOrphan })
		c := w.claim("data")
		d := w.claim("gone")
		all := []*snapshot{w.past(s, c, 2*time.Hour), w.past(s, c, time.Hour), w.past(s, d, time.Hour)}
		unlabelled := w.past(s, c, 3*time.Hour, named("unlabelled"))
		theirs := w.past(s, c, time.Hour, ownedByAnother, named("theirs"))
		w.remove(d)
		w.start()
		Eventually(func() []string { return get(s.DeepCopy()).Finalizers }).Should(ContainElement("snapshots.mapcontroller.dev/release"))
		unlabel(unlabelled, v1alpha1.LabelMapKey)
		Expect(api.Delete(ctx, s)).To(Succeed())
		Eventually(gone(s)).Should(BeTrue())
		for _, v := range append(all, unlabelled) {
			Expect(owner(v)()).To(BeEmpty(), v.Name)
		}
		Expect(owner(theirs)()).To(Equal("theirs"))
	})

	// Contract: GUARD-8.
	It("takes nothing for a schedule that is being deleted", func() {
		s := w.schedule("backup")
		Expect(api.Patch(ctx, s, patch(`{"metadata":{"finalizers":["test/hold"]}}`))).To(Succeed())
		Expect(api.Delete(ctx, s)).To(Succeed())
		w.schedule("other", selecting("app", "other"))
		w.claim("data")
		w.start()
		w.marker("app", "other")
		Expect(w.of("data")).To(BeEmpty())
		Expect(api.Patch(ctx, s, patch(`{"metadata":{"finalizers":null}}`))).To(Succeed())
	})
})
