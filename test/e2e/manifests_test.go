// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var _ = Describe("the shipped manifests", func() {
	It("include samples that are valid and become ready", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "samples")
		files, err := filepath.Glob(filepath.Join(harness.Root, "config", "samples", "snapshots_*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty())
		var all []*v1alpha1.SnapshotSchedule
		var fleets []*fleet
		for _, file := range files {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			out, err := cluster.Kubectl(text, "apply", "-n", namespace, "--validate=strict", "-f", "-")
			Expect(err).NotTo(HaveOccurred(), "%s: %s", file, out)
			for _, o := range harness.Decode(text) {
				if o.GetKind() == "ClusterSnapshotSchedule" {
					f := harness.Get(ctx, cluster, &fleet{ObjectMeta: metav1.ObjectMeta{Name: o.GetName()}})
					DeferCleanup(func(ctx context.Context) { Expect(cluster.Client.Delete(ctx, f)).To(Succeed()) })
					fleets = append(fleets, f)
					continue
				}
				s := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: o.GetName()}}
				all = append(all, harness.Get(ctx, cluster, s))
			}
		}
		cluster.Start(ctx)
		for _, s := range all {
			labels := map[string]string{}
			for key, value := range s.Spec.Selector.MatchLabels {
				labels[key] = string(value)
			}
			cluster.Claim(ctx, namespace, "of-"+s.Name, labels)
		}
		for _, s := range all {
			Eventually(fresh(ctx, s)).WithContext(ctx).Should(And(
				beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
				HaveField("Status.Inputs.PersistentVolumeClaims.Total", BeEquivalentTo(1)),
				HaveField("Status.NextSnapshotTime", Not(BeNil()))), "%s should become ready", s.Name)
		}
		for _, f := range fleets {
			Eventually(func() []metav1.Condition { return harness.Get(ctx, cluster, f).Status.Conditions }).WithContext(ctx).Should(
				ContainElement(HaveField("Reason", v1alpha1.ReasonNoMatchingNamespaces)), "%s should become ready", f.Name)
		}
	})
})
