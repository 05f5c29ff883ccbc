// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// docs/contribute/results.md has what it reports. "make test-deploy" leaves it out.
var _ = Describe("the cost of drills", Label("measured"), func() {
	It("of 50 PVCs, five at a time, is reported", func(ctx context.Context) {
		const drills = 50
		s := newSite(ctx, "cost")
		for i := range drills {
			claim := builders.Claim(s.namespace, fmt.Sprintf("data-%d", i), nil)
			Expect(cluster.Client.Create(ctx, claim)).To(Succeed())
			Eventually(fresh(claim)).WithContext(ctx).Should(HaveField("Status.Phase", corev1.ClaimBound))
			volume := &corev1.PersistentVolume{}
			Expect(cluster.Client.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume)).To(Succeed())
			folder := filepath.Join(cluster.State.Dir, "data", "storage", "volumes", volume.Spec.CSI.VolumeHandle)
			Expect(os.WriteFile(filepath.Join(folder, "file"), make([]byte, 1<<20), 0o644)).To(Succeed())
		}
		schedule := s.schedule(ctx, drills)

		load := strings.Fields(string(suite.Must(os.ReadFile("/proc/loadavg"))))[0]
		log := audit.Log{Path: cluster.State.AuditLog(), User: "admin"} // nothing else of the suite runs meanwhile
		mark, start := suite.Must(log.Mark()), time.Now()
		cmd, wait := s.start(ctx, "verify", "--schedule", schedule.Name, "--parallel=5", "--image", repository+":"+firstTag)
		code, output := wait()
		took := time.Since(start)
		Expect(code).To(BeZero(), output)
		Expect(strings.Count(output, " verified\n")).To(Equal(drills))
		requests := suite.Must(log.Since(mark)).Counts()
		reportf("%d drills in %s, load %s before; CPU of the plugin %s; its requests: %v", drills, took.Round(time.Second), load,
			cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), requests)
	}, NodeTimeout(20*time.Minute))
})
