// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// uninstall deletes the CRD of a file, which is named by its group and plural, with the objects that earlier specs left. install creates it
// again; the end of the spec does so at the latest.
func uninstall(file string, list client.ObjectList) (install func()) {
	GinkgoHelper()
	options := envtest.CRDInstallOptions{Paths: []string{file}, ErrorIfPathMissing: true, MaxTime: time.Minute}
	group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
	crd := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group}}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	Expect(envtest.UninstallCRDs(config, options)).To(Succeed())
	Eventually(func() bool { // it stays until its last object is gone
		if api.List(ctx, list) == nil {
			Expect(meta.EachListItem(list, func(o runtime.Object) error {
				if o := o.(client.Object); len(o.GetFinalizers()) > 0 {
					removeFinalizers(o)
				}
				return nil
			})).To(Succeed())
		}
		return isDeleted(crd)()
	}, "2m").Should(BeTrue())
	install = sync.OnceFunc(func() {
		GinkgoHelper()
		_, err := envtest.InstallCRDs(config, options)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() error { return api.List(ctx, list) }).Should(Succeed(), plural)
	})
	DeferCleanup(install)
	return install
}

// Status says only what this process has found out.
var _ = Describe("What is not known", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// counts are what guardrails and people rely on.
	counts := func(s *schedule) func() string {
		return func() string {
			st := status(s)
			return fmt.Sprintf("%d: %d of %d ready, %d PVCs", st.ObservedGeneration, st.Outputs.VolumeSnapshots.Ready, st.Outputs.VolumeSnapshots.Total, selected(s))
		}
	}
	// many returns a schedule with more PVCs than the operator has workers, each with a ready snapshot.
	many := func() *schedule {
		GinkgoHelper()
		s := env.createSchedule("backup")
		for i := range 12 {
			env.createSnapshot(s, env.createClaim(fmt.Sprintf("data-%02d", i)), 2*time.Hour)
		}
		return s
	}

	// Contract: STAT-9, STAT-12.
	It("is found out after a start although every create hangs, and says nothing less before", func() {
		s := many()
		first := env.startOperator()
		Eventually(counts(s)).Should(Equal("1: 12 of 24 ready, 12 PVCs"))
		first.stop()
		for _, v := range env.snapshots() {
			if v.Status == nil {
				Expect(api.Delete(ctx, &v)).To(Succeed())
			}
		}
		mergePatch(s, `{"spec":{"snapshotTTL":"30d"}}`)
		var seen sync.Map
		second := env.startOperator(failing(hang, snapshotCreates))
		Eventually(func() int64 {
			st := status(s)
			seen.Store(fmt.Sprintf("%d: %d", st.ObservedGeneration, st.Outputs.VolumeSnapshots.Total), true)
			return st.ObservedGeneration
		}).Should(BeEquivalentTo(2), "creates that hang for 40 s should not delay what is known")
		Expect(counts(s)()).To(Equal("2: 12 of 12 ready, 12 PVCs"))
		seen.Range(func(state, _ any) bool {
			Expect(state).To(BeElementOf("1: 24", "2: 12"), "every status should be of one generation")
			return true
		})
		// A request is recorded after its response.
		Eventually(second.network.count).WithArguments("PATCH", "snapshotschedules").
			Should(Equal(1), "no status should be written before all keys are decided")
	})

	// Contract: STAT-6, STAT-12.
	DescribeTable("stays while a CRD is missing: while the operator runs, over a restart and an edit, until it is back",
		func(plural string, list client.ObjectList) {
			files := suite.Must(repo.SnapshotCRDFiles())
			file := files[slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, "_"+plural+".yaml") })]
			s := env.createSchedule("backup")
			c := env.createClaim("data")
			o := env.startOperator()
			makeReady(env.waitForSnapshot("data"))
			Eventually(counts(s)).Should(Equal("1: 1 of 1 ready, 1 PVCs"))
			o.stop()
			install := uninstall(file, list)

			By("starting without it")
			before := status(s)
			o = env.startOperator()
			Eventually(readyCondition(s)).Should(Equal("False SnapshotAPIMissing"))
			kept := func() v1alpha1.SnapshotScheduleStatus {
				now := status(s)
				for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionProtected} {
					*meta.FindStatusCondition(now.Conditions, kind) = *meta.FindStatusCondition(before.Conditions, kind)
				}
				return now
			}
			Expect(kept()).To(Equal(before))

			By("editing the schedule")
			mergePatch(s, `{"spec":{"selector":{"matchLabels":{"app":"none"}}}}`)
			Eventually(readyCondition(s)).Should(Equal("False SnapshotAPIMissing"))
			Consistently(kept, "1500ms").Should(Equal(before))

			By("installing it")
			install()
			if plural == "volumesnapshots" { // a backup tool restores it
				env.createSnapshot(s, c, time.Hour)
			}
			Eventually(counts(s), "60s").Should(Equal("2: 1 of 1 ready, 0 PVCs"))
			Expect(readyCondition(s)()).To(Equal("True NoMatchingClaims"))

			By("removing it while the operator runs")
			install = uninstall(file, list)
			Eventually(readyCondition(s), "60s").Should(Equal("False SnapshotAPIMissing"))
			mergePatch(s, `{"spec":{"selector":null}}`)
			Consistently(func() int64 { return status(s).ObservedGeneration }, "1500ms").Should(BeEquivalentTo(2))
			install()
			if plural == "volumesnapshots" {
				env.createSnapshot(s, c, time.Hour)
			}
			Eventually(readyCondition(s), "60s").Should(Equal("True Scheduled"))
			Eventually(counts(s)).Should(HavePrefix("3: 1 of "))
			o.stop()
		},
		Entry("of snapshots", "volumesnapshots", &snapshotv1.VolumeSnapshotList{}),
		Entry("of their classes", "volumesnapshotclasses", &snapshotv1.VolumeSnapshotClassList{}),
	)
})
