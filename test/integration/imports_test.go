// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("An imported snapshot", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// importSnapshot creates a snapshot of a content that is missing: it never gets a status.
	importSnapshot := func(name, mapKey string) *snapshot {
		GinkgoHelper()
		v := &snapshot{ObjectMeta: metav1.ObjectMeta{
			Namespace: env.namespace, Name: name,
			Labels: map[string]string{v1alpha1.LabelMapKey: mapKey, v1alpha1.LabelSchedule: "backup"},
		}}
		v.Spec.Source.VolumeSnapshotContentName = &v.Name
		Expect(api.Create(ctx, v)).To(Succeed())
		return v
	}

	// Contract: RET-11, ONE-6.
	It("is adopted, blocks no slot, and stays, whether its PVC exists or is gone", func() {
		s := env.createSchedule("backup", ttl("10d"))
		c := env.createClaim("data")
		imports := []*snapshot{importSnapshot("of-data", string(c.UID)), importSnapshot("of-gone", "3bd0e9a4-7a0b-4c0e-8f5e-0c9f3f1f7c11")}
		o := env.startOperator(clocksAhead(90 * time.Minute)) // beyond readyDeadline
		makeReady(env.waitForSnapshot("data"))
		for _, v := range imports {
			Eventually(func() bool { return metav1.IsControlledBy(get(v.DeepCopy()), s) }).Should(BeTrue(), v.Name)
		}
		Eventually(detached(s)).Should(Equal(v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 1}))
		Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
		env.barrier()
		Expect(o.network.count("DELETE", "volumesnapshots")).To(BeZero())
	})
})
