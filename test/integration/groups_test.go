// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

var _ = Describe("A schedule with groups", Ordered, func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })
	AfterAll(uninstallGroupCRDs)

	// Contract: GRP-12, CLASS-5.
	It("waits for the CRDs of group snapshots, and no other schedule does", func() {
		grouped := env.createSchedule("grouped", func(s *spec) {
			s.Selector.MatchLabels, s.Group = map[string]v1alpha1.LabelValue{"app": "db"}, &v1alpha1.Group{}
		})
		single := env.createSchedule("single")
		c := env.createClaim("data")
		mergePatch(c, `{"metadata":{"labels":{"app":"db"}}}`)
		o := env.startOperator()
		env.waitForSnapshot("data")
		Eventually(readyCondition(single)).Should(Equal("True Scheduled"))
		Eventually(readyCondition(grouped)).Should(Equal("False SnapshotsFailing"))
		Expect(status(grouped).Problems).To(ConsistOf(And(
			HaveField("Reason", v1alpha1.ReasonGroupSnapshotAPIMissing), HaveField("Group", "grouped"))))

		By("installing them while the operator runs")
		suite.InstallGroupCRDs(config)
		Eventually(func() []groupv1.VolumeGroupSnapshot { return groups(env) }, "90s").Should(HaveLen(1))
		Eventually(readyCondition(grouped)).Should(Equal("True Scheduled"))
		Eventually(func() *v1alpha1.OutputCount { return status(grouped).Outputs.VolumeGroupSnapshots }).
			Should(HaveValue(Equal(v1alpha1.OutputCount{Total: 1})))
		o.stop()
	})

	// One manifest, a rollback, or kubectl label: the first PVC alone would be a group.
	//
	// Contract: GRP-16.
	It("takes the first group snapshot of PVCs that come one after the other when they have all come", func() {
		suite.InstallGroupCRDs(config) // if the spec before did not
		s := env.createSchedule("pair", func(s *spec) {
			s.Selector.MatchLabels, s.Group = map[string]v1alpha1.LabelValue{"app": "db"}, &v1alpha1.Group{}
		})
		o := env.startOperator()
		env.createClaim("data", "app", "db")
		Eventually(func() *v1alpha1.Inputs { return status(s).Inputs }).Should(HaveValue(HaveField("PersistentVolumeClaims.Total", BeEquivalentTo(1))))
		Consistently(func() []groupv1.VolumeGroupSnapshot { return groups(env) }, "3s").Should(BeEmpty())
		second := time.Now()
		env.createClaim("log", "app", "db")
		Eventually(func() []groupv1.VolumeGroupSnapshot { return groups(env) }, "30s").Should(HaveLen(1))
		Expect(time.Since(second)).To(BeNumerically(">", 8*time.Second))
		taken := groups(env)[0]
		Expect(taken.Annotations[v1alpha1.AnnotationClaims]).To(And(ContainSubstring(`"data"`), ContainSubstring(`"log"`)))
		o.stop()
	})

	// The garbage collector would delete them with it.
	//
	// Contract: FLEET-4, GRP-10.
	It("stays for its group snapshots when its ClusterSnapshotSchedule no longer selects the namespace", func() {
		deleteAllSchedules()
		suite.InstallGroupCRDs(config) // if the spec before did not
		f := newFleet(everyHour, func(c *clusterSchedule) {
			of := &c.Spec.Template.Spec
			of.Selector.MatchLabels, of.Group = map[string]v1alpha1.LabelValue{"app": "db"}, &v1alpha1.Group{}
		})
		env := f.newNamespace()
		for _, name := range []string{"data", "log"} {
			env.createClaim(name, "app", "db")
		}
		o := startFleetOperator()
		child := f.waitForChild(env)
		driveFirstGroup(env)
		Eventually(func() *v1alpha1.OutputCount { return status(child).Outputs.VolumeGroupSnapshots }).
			Should(HaveValue(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1})))
		removeLabel(env.object(), "backup")
		Eventually(func() bool { return get(child).Spec.Suspend && child.Status.ObservedGeneration == child.Generation }).Should(BeTrue())
		Consistently(func() int { return o.network.count(http.MethodDelete, "snapshotschedules") }, "1s").Should(BeZero())
		Eventually(f.counts).Should(Equal("0 1 1 1 1"))
		Expect(get(f.DeepCopy()).Status.VolumeGroupSnapshots).To(HaveValue(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1})))

		By("going when the last of them is gone")
		all := groups(env)
		removeFinalizers(&all[0])
		Expect(api.Delete(ctx, &all[0])).To(Succeed())
		Eventually(isDeleted(child)).Should(BeTrue())
	})
})

var _ = Describe("An operator of a schedule with groups", Ordered, func() {
	BeforeAll(func() { suite.InstallGroupCRDs(config) })
	AfterAll(uninstallGroupCRDs)

	// The writes are the finalizer, and for each of two slots the group snapshot and the labels of its two members; then the delete of
	// the older one.
	//
	// Contract: GRP-1, GRP-3, GRP-10.
	It("ends alike whichever of its writes it dies at, before or after the commit", func() {
		diesAtEachWrite(8, 8, takesTwoGroups)
	})
})

// takesTwoGroups has an operator take two group snapshots and delete the older one.
func takesTwoGroups(l *lives) {
	GinkgoHelper()
	for _, name := range []string{"data", "log"} {
		l.createClaim(name, "app", "db")
	}
	s := l.createSchedule("nightly", func(s *spec) {
		s.Selector.MatchLabels, s.Group = map[string]v1alpha1.LabelValue{"app": "db"}, &v1alpha1.Group{}
		s.Retention.MaxCount = ptr.To[int32](1)
	})
	taken := map[types.UID]bool{}
	step := func(g Gomega, wanted, left int) {
		all := groups(l.environment)
		for i := range all {
			taken[all[i].UID] = true
			g.Expect(driveGroup(&all[i], all)).To(Succeed())
		}
		g.Expect(taken).To(HaveLen(wanted))
		g.Expect(names(all)).To(HaveLen(left))
		for i := range all {
			g.Expect(heldBy(&all[i])).To(Equal(2), "labeled and ready members")
		}
	}
	l.eventually(func(g Gomega) { step(g, 1, 1) })
	requestSlot(s)
	l.eventually(func(g Gomega) { step(g, 2, 2) })
	l.advance(2 * time.Minute) // before that, no group snapshot is deleted
	requeue(get(&claim{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "data"}}))
	l.eventually(func(g Gomega) { step(g, 2, 1) })
	for _, o := range l.operators {
		Expect(o.network.count(http.MethodDelete, "volumesnapshots")).To(BeZero(), "no member is ever deleted")
		Expect(o.network.find(func(r request) bool {
			return r.method != http.MethodGet && r.resource() == "volumesnapshots" && strings.Contains(r.body, v1alpha1.LabelMapKey)
		})).To(BeEmpty(), "no member gets a map key")
	}
}

func names(all []groupv1.VolumeGroupSnapshot) (names []string) {
	for _, v := range all {
		names = append(names, v.Name)
	}
	return names
}

// driveFirstGroup waits for the first group snapshot, and makes it ready with its members.
func driveFirstGroup(env *environment) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		all := groups(env)
		g.Expect(all).To(HaveLen(1))
		g.Expect(driveGroup(&all[0], all)).To(Succeed())
		g.Expect(heldBy(&all[0])).To(Equal(2))
	}, "40s").Should(Succeed()) // its PVCs have to be the same for 10 s
}

// driveGroup does what the snapshot controller does with a group snapshot. One may be deleted only while another holds both PVCs.
func driveGroup(v *groupv1.VolumeGroupSnapshot, all []groupv1.VolumeGroupSnapshot) error {
	const finalizer = "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection"
	if v.DeletionTimestamp != nil {
		for i := range all {
			if all[i].UID != v.UID && heldBy(&all[i]) != 2 {
				return fmt.Errorf("%s was deleted although %s holds %d of 2 PVCs", v.Name, all[i].Name, heldBy(&all[i]))
			}
		}
		return client.IgnoreNotFound(api.Patch(ctx, v, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	}
	if v.Status != nil {
		return nil
	}
	now := metav1.Now()
	for _, name := range []string{"data", "log"} {
		m := &snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: v.Name + "-" + name}}
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: v.Name, UID: v.UID}}
		m.Spec.Source.PersistentVolumeClaimName = &name
		if err := client.IgnoreAlreadyExists(api.Create(ctx, m)); err != nil {
			return err
		}
		m.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: &now, VolumeGroupSnapshotName: &v.Name}
		if err := api.Status().Update(ctx, m); err != nil {
			return err
		}
	}
	if err := api.Patch(ctx, v, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"finalizers":[%q]}}`, finalizer))); err != nil {
		return err
	}
	v.Status = &groupv1.VolumeGroupSnapshotStatus{
		ReadyToUse: ptr.To(true), CreationTime: &now, BoundVolumeGroupSnapshotContentName: ptr.To("content-" + string(v.UID)),
	}
	return api.Status().Update(ctx, v)
}

// heldBy returns how many ready members of a group snapshot are labeled as its own.
func heldBy(v *groupv1.VolumeGroupSnapshot) (n int) {
	all := &snapshotv1.VolumeSnapshotList{}
	if api.List(ctx, all, client.InNamespace(v.Namespace), client.MatchingLabels{v1alpha1.LabelGroupSnapshot: v.Name}) != nil {
		return -1
	}
	for _, m := range all.Items {
		if m.DeletionTimestamp == nil && m.Status != nil && ptr.Deref(m.Status.ReadyToUse, false) {
			n++
		}
	}
	return n
}

func uninstallGroupCRDs() { suite.UninstallGroupCRDs(ctx, config, api) }

// groups returns the VolumeGroupSnapshots of an environment.
func groups(env *environment) []groupv1.VolumeGroupSnapshot {
	all := &groupv1.VolumeGroupSnapshotList{}
	if api.List(ctx, all, client.InNamespace(env.namespace)) != nil {
		return nil
	}
	return all.Items
}
