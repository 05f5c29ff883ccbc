// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

var _ = Describe("A schedule with groups", Serial, func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

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
		files := suite.Must(repo.GroupSnapshotCRDFiles())
		options := envtest.CRDInstallOptions{Paths: files, ErrorIfPathMissing: true}
		suite.Must(envtest.InstallCRDs(config, options))
		DeferCleanup(func() {
			for _, v := range groups(env) {
				removeFinalizers(&v)
				Expect(client.IgnoreNotFound(api.Delete(ctx, &v))).To(Succeed())
			}
			Expect(envtest.UninstallCRDs(config, options)).To(Succeed())
		})
		Eventually(func() []groupv1.VolumeGroupSnapshot { return groups(env) }, "90s").Should(HaveLen(1))
		Eventually(readyCondition(grouped)).Should(Equal("True Scheduled"))
		Eventually(func() *v1alpha1.OutputCount { return status(grouped).Outputs.VolumeGroupSnapshots }).
			Should(HaveValue(Equal(v1alpha1.OutputCount{Total: 1})))
		o.stop()
	})
})

// groups returns the VolumeGroupSnapshots of an environment.
func groups(env *environment) []groupv1.VolumeGroupSnapshot {
	all := &groupv1.VolumeGroupSnapshotList{}
	if api.List(ctx, all, client.InNamespace(env.namespace)) != nil {
		return nil
	}
	return all.Items
}
