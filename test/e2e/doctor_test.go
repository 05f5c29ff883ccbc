// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// test/cli breaks whatever needs no controllers, and fixes it with the commands that doctor prints. Here they only show what is dead: the
// parts of this cluster are no pods, so that nothing but the test starts them again.
var _ = Describe("doctor", func() {
	// Contract: CLI-46.
	It("accuses nobody while all runs, and names a snapshot controller, a csi-snapshotter and an operator until they are back", func(ctx context.Context) {
		plugin := buildPlugin(ctx)
		type point struct{ Check, State, Message, Fix string }
		var namespace string
		problems := func() (all []point) {
			GinkgoHelper()
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(ctx, plugin, "doctor", "-o", "json", "-n", namespace)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			var found *exec.ExitError
			if err := cmd.Run(); !errors.As(err, &found) || found.ExitCode() != 1 {
				Expect(err).NotTo(HaveOccurred(), stderr.String())
			}
			var report struct{ Points []point }
			Expect(json.Unmarshal(stdout.Bytes(), &report)).To(Succeed(), stderr.String())
			for _, p := range report.Points {
				if p.State == "problem" && p.Check != "Left behind" && p.Check != "Names" { // by other specs, and snapscheduler's
					all = append(all, p)
				}
			}
			return all
		}
		bare := func(name string) {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			v.Spec.Source.PersistentVolumeClaimName = new("data-0")
			create(ctx, v)
		}
		// An operator of another spec that was killed may have left its lease.
		Expect(cluster.Client.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace(cluster.System))).To(Succeed())
		operator := cluster.StartElected(ctx)
		namespace, _ = scheduled(ctx, "doctor", 1, hourly)
		Eventually(problems).WithContext(ctx).WithPolling(time.Second).Should(BeEmpty())

		resumeSidecar := cluster.PausePart("csi-snapshotter")
		nextSecond(ctx) // what was answered at once is not later
		bare("uncut")
		Eventually(func() (all []string) {
			contents := &snapshotv1.VolumeSnapshotContentList{}
			Expect(cluster.Client.List(ctx, contents)).To(Succeed())
			for i := range contents.Items {
				if of := contents.Items[i].Spec.VolumeSnapshotRef; of.Namespace == namespace {
					all = append(all, of.Name)
				}
			}
			return all
		}).WithContext(ctx).Should(ContainElement("uncut"))
		resumeController := cluster.PausePart("snapshot-controller")
		nextSecond(ctx) // nor is what was created
		bare("unbound")
		operator.Kill()
		Eventually(problems).WithContext(ctx).WithTimeout(4 * time.Minute).WithPolling(5 * time.Second).Should(ConsistOf(
			And(HaveField("Message", ContainSubstring("VolumeSnapshot "+namespace+"/unbound is ")), HaveField("Fix", HaveSuffix("| grep snapshot-controller"))),
			And(HaveField("Message", ContainSubstring("the csi-snapshotter of mock.csi.k8s.io has not reacted")), HaveField("Fix", HaveSuffix("| grep csi"))),
			And(HaveField("Message", ContainSubstring("it shows no sign of life since ")), HaveField("Fix", HavePrefix("kubectl -n "+cluster.System)))))
		for _, p := range problems() {
			if p.Check == "Operator" {
				out, err := exec.CommandContext(ctx, "sh", "-c", p.Fix).CombinedOutput()
				Expect(err).NotTo(HaveOccurred(), string(out))
				Expect(string(out)).To(ContainSubstring("snapshotschedule.snapshots.mapcontroller.dev"))
			}
		}
		resumeController()
		resumeSidecar()
		cluster.StartElected(ctx)
		Eventually(problems).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(BeEmpty())
	}, NodeTimeout(8*time.Minute))
})
