// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

var _ = Describe("docs/operations.md", func() {
	orphan := hourly
	orphan.DeletionPolicy = v1alpha1.DeletionOrphan

	It("uninstalls the operator without losing a snapshot, and installs it again", func(ctx context.Context) {
		folder := GinkgoT().TempDir()
		Expect(os.Mkdir(filepath.Join(folder, "dist"), 0o755)).To(Succeed())
		install := filepath.Join(folder, "dist", "install.yaml")
		shipped := harness.Kustomize("config/default")
		Expect(os.WriteFile(install, shipped, 0o600)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(folder, "dist", "crds.yaml"), harness.Kustomize("config/crd"), 0o600)).To(Succeed())
		// There is no node for its pods: the spec runs the manager itself.
		for _, o := range harness.Decode(shipped) {
			if o.GetKind() == "Deployment" {
				cluster.Apply(ctx, o)
			}
		}
		steps := blocks("Uninstalling without losing snapshots")
		Expect(steps).To(HaveExactElements(
			ContainSubstring("> schedules.yaml"),
			ContainSubstring("deletionPolicy"),
			Equal("kubectl delete csnapsched --all\nkubectl delete snapsched --all --all-namespaces\n"),
			ContainSubstring("OWNER"),
			Equal("kubectl delete -f dist/install.yaml\n"),
			Equal("kubectl delete -f dist/crds.yaml\n"),
			HavePrefix("helm uninstall"),
			Equal("kubectl apply -f schedules.yaml\n"),
			ContainSubstring("ownerReferences"),
			ContainSubstring("finalizers")))

		operator := cluster.Start(ctx)
		Eventually(func(g Gomega) {
			others := &v1alpha1.SnapshotScheduleList{}
			g.Expect(cluster.Client.List(ctx, others)).To(Succeed())
			g.Expect(others.Items).To(BeEmpty(), "schedules of other specs are deleted with their namespaces")
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		kept, left := cluster.Namespace(ctx, "kept"), cluster.Namespace(ctx, "left")
		for namespace, spec := range map[string]v1alpha1.SnapshotScheduleSpec{kept: orphan, left: hourly} {
			cluster.BoundClaims(ctx, namespace, 1)
			cluster.Schedule(ctx, namespace, spec)
		}
		all := append(names(eventuallySnapshots(ctx, kept, 1)), names(eventuallySnapshots(ctx, left, 1))...)

		for _, step := range steps[:4] {
			follow(folder, step)
			// Step 2 asks the reader to wait for this.
			if strings.Contains(step, "deletionPolicy") {
				for _, namespace := range []string{kept, left} {
					s := builders.Schedule(namespace, "nightly", hourly)
					Eventually(func(g Gomega) {
						now := harness.Get(ctx, cluster, s)
						g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
					}).WithContext(ctx).Should(Succeed())
				}
			}
		}
		Expect(owners(ctx, kept)()).To(HaveExactElements(BeEmpty()))
		Expect(owners(ctx, left)()).To(HaveExactElements(BeEmpty()))
		// As deleting the Deployment does, which deletes the permissions at the same time.
		operator.Stop()
		DeferCleanup(cluster.Install)
		follow(folder, steps[4])
		Expect(cluster.Client.List(ctx, &v1alpha1.SnapshotScheduleList{})).To(Succeed(), "deleting the operator should leave the CRD")
		follow(folder, steps[5])
		err := cluster.Client.List(ctx, &v1alpha1.SnapshotScheduleList{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the CRD should be deleted, not %v", err)
		Consistently(func() []string {
			return append(names(cluster.Snapshots(ctx, kept)), names(cluster.Snapshots(ctx, left))...)
		}).WithContext(ctx).WithTimeout(10*time.Second).Should(Equal(all), "the garbage collector should delete none")

		cluster.Install(ctx)
		follow(folder, steps[7])
		cluster.Start(ctx)
		// The file has the policies from before step 2: only Delete makes owners.
		for namespace, number := range map[string]int{kept: 0, left: 1} {
			// The old one, and one for the new schedule.
			eventuallySnapshots(ctx, namespace, 2)
			Eventually(owners(ctx, namespace)).WithContext(ctx).Should(HaveEach(HaveLen(number)))
		}
	})

	It("releases snapshots by hand while the operator is gone", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "stuck")
		cluster.BoundClaims(ctx, namespace, 2)
		s := cluster.Schedule(ctx, namespace, hourly)
		operator := cluster.Start(ctx)
		eventuallySnapshots(ctx, namespace, 2)
		operator.Stop()
		// As if it had stopped a moment after the edit.
		s = harness.Get(ctx, cluster, s)
		s.Spec.DeletionPolicy, s.Finalizers = v1alpha1.DeletionOrphan, []string{v1alpha1.FinalizerRelease}
		Expect(cluster.Client.Update(ctx, s)).To(Succeed())
		kubectl("delete", "snapsched", "nightly", "-n", namespace, "--wait=false")

		steps := blocks("Uninstalling without losing snapshots")
		for _, step := range steps[len(steps)-2:] {
			Expect(step).To(ContainSubstring("-n shop"))
			follow(GinkgoT().TempDir(), strings.ReplaceAll(step, "-n shop", "-n "+namespace))
		}
		Eventually(func() bool {
			err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "nightly"}, &v1alpha1.SnapshotSchedule{})
			return apierrors.IsNotFound(err)
		}).WithContext(ctx).Should(BeTrue(), "the schedule should be deleted")
		Consistently(owners(ctx, namespace)).WithContext(ctx).WithTimeout(10 * time.Second).Should(HaveExactElements(BeEmpty(), BeEmpty()))
	})
})

// blocks returns the commands under a heading of docs/operations.md.
func blocks(heading string) []string {
	page, err := os.ReadFile(filepath.Join(harness.Root, "docs", "operations.md"))
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
	ExpectWithOffset(1, found).To(BeTrue(), "the page should have the heading %q", heading)
	section, _, _ = strings.Cut(section, "\n## ")
	var all []string
	for _, block := range regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$").FindAllStringSubmatch(section, -1) {
		var text strings.Builder
		for line := range strings.Lines(block[1]) {
			text.WriteString(strings.TrimPrefix(line, "   "))
		}
		all = append(all, text.String())
	}
	return all
}

// follow runs commands of the page in a folder.
func follow(folder, commands string) {
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", commands)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	AddReportEntry(commands, string(out))
	ExpectWithOffset(1, err).NotTo(HaveOccurred(), "%s\n%s", commands, out)
}
