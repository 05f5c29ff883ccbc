// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("confirm", func() {
	const resource = "snapshotschedule.snapshots.mapcontroller.dev/"
	delayed := v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: "1h", SnapshotTTL: "3h", DeletionPolicy: v1alpha1.DeletionDelete,
		Retention: v1alpha1.Retention{EditDelay: "12h"},
	}
	confirmation := func(o client.Object) string { return get(o).GetAnnotations()[v1alpha1.AnnotationConfirmGeneration] }
	var (
		env *environment
		s   *v1alpha1.SnapshotSchedule
	)
	BeforeEach(func() {
		env = newEnvironment()
		s = env.createSchedule("nightly", delayed)
		env.createSnapshots(s, env.createClaim("data"), time.Hour, 8)
	})
	edit := func(spec string) {
		Expect(api.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(spec)))).To(Succeed())
	}

	It("says what will be deleted, and confirms the present generation", func() {
		Expect(env.succeeds("preview", "nightly")).To(ContainSubstring("5 snapshots would be deleted at once, and would wait until"))
		Expect(env.succeeds("confirm", "nightly")).To(Equal("5 snapshots will be deleted at once\n" + resource + "nightly confirmed, generation 1\n"))
		Expect(confirmation(s)).To(Equal("1"))
		Expect(env.succeeds("preview", "nightly")).NotTo(ContainSubstring("would wait"))
		Expect(env.succeeds("confirm", "nightly")).To(HaveSuffix("nightly unchanged\n"))

		edit(`{"spec":{"snapshotTTL":"4h"}}`)
		Expect(env.succeeds("confirm", "nightly")).To(Equal("4 snapshots will be deleted at once\n" + resource + "nightly confirmed, generation 2\n"))
		Expect(confirmation(s)).To(Equal("2"))
	})

	It("confirms nothing that it has not shown", func() {
		proxied := beforeFirst(func() { edit(`{"spec":{"snapshotTTL":"1h"}}`) })
		Expect(env.as(proxied).fails("confirm", "nightly")).To(ContainSubstring("nightly was edited meanwhile: nothing is confirmed"))
		Expect(confirmation(s)).To(BeEmpty())

		By("but another annotation is no edit")
		proxied = beforeFirst(func() { edit(`{"metadata":{"annotations":{"note":"ours"}}}`) })
		env.as(proxied).succeeds("confirm", "nightly")
		Expect(confirmation(s)).To(Equal("2"))
	})

	It("names the ClusterSnapshotSchedule of a child, and confirms that for all namespaces", func() {
		fleet := env.createFleet(delayed)
		child := env.createChild(fleet)
		env.createSnapshots(child, env.createClaim("logs"), time.Hour, 8)

		Expect(env.fails("confirm", fleet.Name)).To(ContainSubstring("kubectl snapsched confirm --cluster-schedule " + fleet.Name))
		bare := child.DeepCopy()
		bare.Labels, bare.OwnerReferences = nil, nil
		bare.Status.Retention = &v1alpha1.RetentionRecord{ClusterSchedule: string(fleet.UID)}
		put(child.CreationTimestamp.Time, bare)
		Expect(env.fails("confirm", fleet.Name)).To(ContainSubstring("kubectl snapsched confirm --cluster-schedule "+fleet.Name), "a tenant took off its owner")
		Expect(confirmation(child)).To(BeEmpty())

		Expect(env.succeeds("confirm", "--cluster-schedule", fleet.Name)).To(Equal(env.namespace + ": 5 snapshots\n5 snapshots will be deleted at once\n" +
			"clustersnapshotschedule.snapshots.mapcontroller.dev/" + fleet.Name + " confirmed, generation 1\n"))
		Expect(confirmation(fleet)).To(Equal(strconv.FormatInt(fleet.Generation, 10)))
	})

	It("needs exactly one name", func() {
		for _, args := range [][]string{{"confirm"}, {"confirm", "nightly", "--cluster-schedule", "gold"}} {
			Expect(env.run(args...).errOut).To(ContainSubstring("specify exactly one of NAME and --cluster"))
		}
	})
})
