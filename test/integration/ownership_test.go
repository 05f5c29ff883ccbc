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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

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

	// Contract: OWN-6.
	It("sets and removes the finalizer although somebody changes the schedule before every write", func() {
		s := env.createSchedule("backup", suspended, selecting("app", "db"), func(s *spec) { s.Group = &v1alpha1.Group{} })
		changed := s.DeepCopy() // by the network's goroutines
		var changes atomic.Int64
		patches := to(http.MethodPatch, "/snapshotschedules/"+s.Name+"$")
		env.startOperator(failing(http.StatusConflict, func(r request) bool {
			if patches(r) && strings.Contains(r.body, `"resourceVersion"`) {
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"again":"%d"}}}`, changes.Add(1))
				_ = api.Patch(ctx, changed.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
			}
			return false // the API server notices
		}))
		Eventually(func() []string { return get(s).Finalizers }).Should(ConsistOf(v1alpha1.FinalizerRelease))
		Expect(api.Delete(ctx, s)).To(Succeed())
		Eventually(isDeleted(s)).Should(BeTrue())
		Expect(changes.Load()).To(BeNumerically(">", 1))
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
			// The hold keeps it while it is not cut yet: the clock of the operator is ahead.
			adoptable := env.createSnapshot(s, c, 10*time.Minute, withoutOwner, func(v *snapshot) { v.Annotations[v1alpha1.AnnotationHold] = "" })
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
})
