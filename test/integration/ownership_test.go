// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// controlledByOther makes something else the controller of a snapshot.
func controlledByOther(v *snapshot) {
	v.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Backup", Name: "theirs", UID: "theirs", Controller: ptr.To(true)}}
}

// ofGroup makes a snapshot a member of a VolumeGroupSnapshot, as the snapshot controller does.
func ofGroup(v *snapshot) {
	v.OwnerReferences = append(v.OwnerReferences, metav1.OwnerReference{
		APIVersion: "groupsnapshot.storage.k8s.io/v1", Kind: "VolumeGroupSnapshot", Name: "g", UID: "g"})
}

func withoutOwner(v *snapshot) { v.OwnerReferences = nil }

func withName(name string) func(*snapshot) { return func(v *snapshot) { v.Name = name } }

// controllerOf returns the UID of the current controller of a snapshot, or an empty string.
func controllerOf(v *snapshot) func() string {
	return func() string {
		if ref := metav1.GetControllerOf(get(v.DeepCopy())); ref != nil {
			return string(ref.UID)
		}
		return ""
	}
}

// No garbage collector runs here: the end-to-end tests cover what it does.
var _ = Describe("Ownership", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	outputs := func(s *schedule) func() v1alpha1.OutputCount {
		return func() v1alpha1.OutputCount { return status(s).Outputs.VolumeSnapshots }
	}

	orphan := func(s *spec) { s.DeletionPolicy = v1alpha1.DeletionOrphan }

	// Contract: GUARD-2, OWN-3, OWN-6.
	DescribeTable("neither changes nor counts a snapshot that something else controls, whatever its labels",
		func(policy func(*spec), own func(*snapshot)) {
			s := env.createSchedule("backup", suspended, ttl("1h"), policy, func(s *spec) { s.Retention.MaxCount = ptr.To[int32](1) })
			c := env.createClaim("data")
			others := []*snapshot{
				env.createSnapshot(s, c, 5*time.Hour, controlledByOther, withName("theirs")),
				env.createSnapshot(s, c, time.Minute, controlledByOther, withName("theirs-newer")),
				env.createSnapshot(s, c, 4*time.Hour, withoutOwner, withName("other"), func(v *snapshot) {
					v.Labels[v1alpha1.LabelSchedule] = "another"
				}),
				env.createSnapshot(s, c, 4*time.Hour, withoutOwner, withName("released"), func(v *snapshot) {
					delete(v.Labels, v1alpha1.LabelMapKey)
				}),
			}
			env.createSnapshot(s, c, 3*time.Hour, own)
			a := env.createSnapshot(s, c, 2*time.Hour, own)
			o := env.startOperator(clocksAhead(4 * time.Hour))
			Eventually(env.snapshotNames).Should(ConsistOf("theirs", "theirs-newer", "other", "released", a.Name))
			Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
			for _, v := range others {
				Expect(get(v.DeepCopy()).ResourceVersion).To(Equal(v.ResourceVersion), v.Name)
			}
			Expect(o.network.count("PATCH", "volumesnapshots")).To(BeZero())
		},
		Entry("under deletionPolicy Delete", func(*spec) {}, func(*snapshot) {}),
		Entry("under deletionPolicy Orphan", orphan, withoutOwner),
	)

	// Contract: OWN-1.
	It("adopts an orphan with its labels, and changes nothing else about it", func() {
		s := env.createSchedule("backup", suspended)
		c := env.createClaim("data")
		orphan := env.createSnapshot(s, c, time.Hour, withoutOwner, func(v *snapshot) {
			v.Finalizers = []string{"test/keep"}
			v.Annotations["note"] = "mine"
			v.Labels["tier"] = "gold"
			v.Spec.VolumeSnapshotClassName = ptr.To("fast")
			v.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other"}}
		})
		env.startOperator()
		Eventually(controllerOf(orphan)).Should(Equal(string(s.UID)))
		fresh := get(orphan.DeepCopy())
		Expect(fresh.Labels).To(Equal(orphan.Labels))
		Expect(fresh.Annotations).To(Equal(orphan.Annotations))
		Expect(fresh.Finalizers).To(Equal(orphan.Finalizers))
		Expect(fresh.Spec).To(Equal(orphan.Spec))
		Expect(fresh.OwnerReferences).To(HaveLen(2))
		Expect(fresh.OwnerReferences[1].BlockOwnerDeletion).To(HaveValue(BeTrue()))
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
		removeFinalizers(fresh)
	})

	// Deleting a member never ends and cannot be revoked: its data belongs to the group.
	// Contract: OWN-8.
	DescribeTable("never adopts, counts or deletes a member of a VolumeGroupSnapshot, and releases one that an older release adopted",
		func(change func(*spec)) {
			s := env.createSchedule("backup", suspended, ttl("1h"), change)
			c := env.createClaim("data")
			member := env.createSnapshot(s, c, 5*time.Hour, withoutOwner, ofGroup)
			adopted := env.createSnapshot(s, c, 4*time.Hour, ofGroup)
			mapped := env.createSnapshot(s, c, 30*time.Minute, withoutOwner, ofGroup) // the newest must not stand in for the survivor
			expired := env.createSnapshot(s, c, 3*time.Hour)
			survivor := env.createSnapshot(s, c, time.Hour)
			env.startOperator(clocksAhead(4 * time.Hour))
			Eventually(isDeleted(expired)).Should(BeTrue())
			Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
			Eventually(controllerOf(adopted)).Should(BeEmpty())
			Expect(get(adopted.DeepCopy()).OwnerReferences).To(ConsistOf(HaveField("Kind", "VolumeGroupSnapshot")))

			// A later one counts, and they do not.
			adoptable := env.createSnapshot(s, c, 10*time.Minute, withoutOwner)
			Eventually(isDeleted(survivor)).Should(BeTrue())
			Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
			for _, v := range []*snapshot{member, mapped} {
				Expect(get(v.DeepCopy()).ResourceVersion).To(Equal(v.ResourceVersion), v.Name)
			}
			Expect(env.snapshotNames()).To(ConsistOf(member.Name, adopted.Name, mapped.Name, adoptable.Name))

			By("making one of its own a member")
			mergePatch(adoptable, `{"metadata":{"ownerReferences":[{"apiVersion":"groupsnapshot.storage.k8s.io/v1","kind":"VolumeGroupSnapshot","name":"g","uid":"g"}]}}`)
			Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{}))
		},
		Entry("under deletionPolicy Delete", func(*spec) {}),
		Entry("under deletionPolicy Orphan", orphan),
	)

	// Contract: OWN-4.
	DescribeTable("releases a snapshot, and does not delete it,",
		func(change func(*snapshot)) {
			s := env.createSchedule("backup", suspended, ttl("1h"))
			c := env.createClaim("data")
			released := env.createSnapshot(s, c, 3*time.Hour)
			env.createSnapshot(s, c, 2*time.Hour)
			a := env.createSnapshot(s, c, time.Hour)
			o := env.startOperator()
			Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 3, Ready: 3}))
			change(released)
			Eventually(controllerOf(released)).Should(BeEmpty())
			Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 2, Ready: 2}))
			o.advanceClocks(4 * time.Hour)
			requeue(c)
			Eventually(env.snapshotNames).Should(ConsistOf(released.Name, a.Name))
		},
		Entry("whose schedule label a user changes", func(v *snapshot) { setLabel(v, v1alpha1.LabelSchedule, "another") }),
		Entry("whose map-key label a user removes", func(v *snapshot) { removeLabel(v, v1alpha1.LabelMapKey) }),
	)

	// Contract: OWN-4.
	It("releases a snapshot whose map-key label was removed while it was not running", func() {
		s := env.createSchedule("backup", suspended)
		c := env.createClaim("data")
		released := env.createSnapshot(s, c, time.Hour)
		removeLabel(released, v1alpha1.LabelMapKey)
		theirs := env.createSnapshot(s, c, time.Hour, controlledByOther, withName("theirs"))
		removeLabel(theirs, v1alpha1.LabelMapKey)
		env.startOperator()
		Eventually(controllerOf(released)).Should(BeEmpty())
		Expect(controllerOf(theirs)()).To(Equal("theirs"))
	})

	finalizers := func(s *schedule) func() []string {
		return func() []string { return get(s.DeepCopy()).Finalizers }
	}
	observes := func(s *schedule, generation int64) {
		GinkgoHelper()
		Eventually(func() int64 { return status(s).ObservedGeneration }).WithTimeout(30 * time.Second).Should(Equal(generation))
	}

	// Contract: OWN-6, MAP-3.
	It("under deletionPolicy Orphan, takes snapshots without an owner, and goes on after the schedule is created again", func() {
		s := env.createSchedule("backup", orphan)
		o := env.startOperator()
		c := env.createClaim("data")
		v := env.waitForSnapshot("data")
		makeReady(v)
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
		Expect(v.OwnerReferences).To(BeEmpty())
		Expect(v.Labels).To(And(HaveKeyWithValue(v1alpha1.LabelSchedule, "backup"), HaveKeyWithValue(v1alpha1.LabelMapKey, string(c.UID))))
		Expect(finalizers(s)()).To(BeEmpty())

		Expect(api.Delete(ctx, s)).To(Succeed())
		Eventually(isDeleted(s)).Should(BeTrue())
		again := env.createSchedule("backup", suspended, orphan)
		Eventually(outputs(again)).Should(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1}))
		Expect(o.network.count("PATCH", "volumesnapshots")).To(BeZero())
		Expect(env.snapshotsOf("data")).To(HaveLen(1))
	})

	// Contract: OWN-6, STAT-9.
	It("observes a change to deletionPolicy Orphan only when no snapshot has an owner, and gives the owner back", func() {
		s := env.createSchedule("backup", suspended)
		c, d := env.createClaim("data"), env.createClaim("gone")
		all := []*snapshot{env.createSnapshot(s, c, 2*time.Hour), env.createSnapshot(s, c, time.Hour), env.createSnapshot(s, d, time.Hour)}
		deleteClaim(d)
		unlabeled := env.createSnapshot(s, c, 3*time.Hour, withName("unlabeled"))
		theirs := env.createSnapshot(s, c, time.Hour, controlledByOther, withName("theirs"))
		o := env.startOperator()
		observes(s, 1)
		Expect(finalizers(s)()).To(BeEmpty())

		o.network.fail(http.StatusUnprocessableEntity, to(http.MethodPatch, "/volumesnapshots/"))
		mergePatch(s, `{"spec":{"deletionPolicy":"Orphan"}}`)
		Eventually(finalizers(s)).Should(ConsistOf("snapshots.mapcontroller.dev/release"))
		Eventually(func() bool {
			ready := meta.FindStatusCondition(status(s).Conditions, v1alpha1.ConditionReady)
			return ready.Reason == v1alpha1.ReasonRetentionFailing
		}).WithTimeout(30 * time.Second).Should(BeTrue())
		Expect(status(s).ObservedGeneration).To(BeEquivalentTo(1))
		removeLabel(unlabeled, v1alpha1.LabelMapKey)
		o.network.heal()
		observes(s, 2)
		for _, v := range append(all, unlabeled) {
			Expect(get(v.DeepCopy()).OwnerReferences).To(BeEmpty(), v.Name)
		}
		Expect(controllerOf(theirs)()).To(Equal("theirs"))
		Expect(finalizers(s)()).To(BeEmpty())
		Eventually(outputs(s)).Should(Equal(v1alpha1.OutputCount{Total: 3, Ready: 3}))

		mergePatch(s, `{"spec":{"deletionPolicy":"Delete"}}`)
		for _, v := range all {
			Eventually(controllerOf(v)).Should(Equal(string(s.UID)), v.Name)
		}
		Expect(controllerOf(unlabeled)()).To(BeEmpty())
	})

	// Contract: GUARD-8.
	It("takes no snapshot while the schedule is being deleted", func() {
		s := env.createSchedule("backup")
		addFinalizer(s)
		Expect(api.Delete(ctx, s)).To(Succeed())
		env.createSchedule("other", selecting("app", "other"))
		env.createClaim("data")
		env.startOperator()
		env.barrier("app", "other")
		Expect(env.snapshotsOf("data")).To(BeEmpty())
		removeFinalizers(s)
	})
})
