// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os/exec"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// No pod runs here, and none is needed: the volume of a drill's pod is made before the pod is started.
var _ = Describe("a drill of a snapshot that the storage does not restore", Ordered, func() {
	var plugin string
	BeforeAll(func(ctx context.Context) {
		plugin = buildPlugin(ctx)
		cluster.Start(ctx)
	}, NodeTimeout(3*time.Minute))

	const words = "gzip: stdin: invalid compressed data"
	// Contract: VER-6, VER-7.
	DescribeTable("says the driver's words within seconds, and", func(ctx context.Context, code string, others bool, exit int, verdict string) {
		namespace, _ := scheduled(ctx, "drilled", 2, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
		cluster.Behave(namespace, local.Behavior{Refusals: []local.Refusal{{Call: "CreateVolume", Code: code, Message: words}}})
		all := cluster.Snapshots(ctx, namespace)
		lost, other := &all[0], &all[1]
		cmd := exec.CommandContext(ctx, plugin, "verify", lost.Name, "-n", namespace, "--image=example.com/none:v1", "--drill-timeout=22s")
		// What is said in the second half of the time counts. The provisioner asks 0, 1, 3, 7 and 15 s after there is a PVC.
		output := gbytes.NewBuffer()
		cmd.Stdout, cmd.Stderr = output, output
		Expect(cmd.Start()).To(Succeed())
		text := func() string { return string(output.Contents()) }
		Eventually(text).WithContext(ctx).WithTimeout(15 * time.Second).Should(MatchRegexp("waits: ProvisioningFailed: .*" + words))
		if others {
			merge(ctx, other, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationVerifiedAt, time.Now().UTC().Format(time.RFC3339))
		}
		_ = cmd.Wait()
		Expect(cmd.ProcessState.ExitCode()).To(Equal(exit), text())
		Expect(text()).To(And(ContainSubstring(lost.Name+" "+verdict+": "), ContainSubstring(words)))
		Expect(text()).NotTo(ContainSubstring("no pod yet\n"+lost.Name), "after its deadline")
		failed := HaveKeyWithValue(v1alpha1.AnnotationVerifyFailed, MatchRegexp(`^\S+Z .*`+words))
		if exit != 1 {
			failed = Not(HaveKey(v1alpha1.AnnotationVerifyFailed))
		}
		Expect(get(ctx, lost).Annotations).To(failed)
	},
		Entry("of a driver that has lost it, has failed", "DATA_LOSS", false, 1, "failed", NodeTimeout(2*time.Minute)),
		Entry("of one that is busy, is inconclusive", "UNAVAILABLE", true, 3, "inconclusive", NodeTimeout(2*time.Minute)),
		Entry("of one that does not say why, is inconclusive", "INTERNAL", false, 3, "inconclusive", NodeTimeout(2*time.Minute)),
		Entry("of one that does not say why, has failed if another one was restored meanwhile", "INTERNAL", true, 1, "failed", NodeTimeout(2*time.Minute)),
	)
})
