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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("docs/run", func() {
	It("uninstalls the operator without losing a snapshot, and installs it again", func(ctx context.Context) {
		folder := GinkgoT().TempDir()
		Expect(os.Mkdir(filepath.Join(folder, "dist"), 0o755)).To(Succeed())
		shipped := kustomize(ctx, "config/default")
		Expect(os.WriteFile(filepath.Join(folder, "dist", "install.yaml"), shipped, 0o600)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(folder, "dist", "crds.yaml"), kustomize(ctx, "config/crd"), 0o600)).To(Succeed())
		// There is no node for its pods: the spec runs the manager itself.
		for _, o := range decode(shipped) {
			if o.GetKind() == "Deployment" {
				cluster.Apply(ctx, o)
			}
		}
		steps := blocks("uninstall")
		Expect(steps).To(HaveExactElements(
			ContainSubstring("> schedules.yaml"),
			ContainSubstring("deletionPolicy"),
			Equal("kubectl delete csnapsched --all\nkubectl delete snapsched --all --all-namespaces\n"),
			ContainSubstring("OWNER"),
			HavePrefix("kubectl get volumegroupsnapshots --all-namespaces"),
			Equal("kubectl delete -f dist/install.yaml\n"),
			Equal("kubectl delete -f dist/crds.yaml\n"),
			HavePrefix("helm uninstall"),
			Equal("kubectl apply -f schedules.yaml\n"),
			ContainSubstring("patch volumesnapshots"),
			ContainSubstring("patch volumegroupsnapshots"),
			ContainSubstring("finalizers")))

		operator := cluster.Start(ctx)
		Eventually(func(g Gomega) {
			others := &v1alpha1.SnapshotScheduleList{}
			g.Expect(cluster.Client.List(ctx, others)).To(Succeed())
			g.Expect(others.Items).To(BeEmpty(), "schedules of other specs are deleted with their namespaces")
		}).WithContext(ctx).WithTimeout(2 * time.Minute).Should(Succeed()) // one with a group snapshot stays until that is a minute old
		kept, orphaned := scheduled(ctx, "kept", 1, orphaning)
		left, owned := scheduled(ctx, "left", 1, hourly)
		snapshots := func() []string {
			return append(names(cluster.Snapshots(ctx, kept)), names(cluster.Snapshots(ctx, left))...)
		}
		all := snapshots()

		for _, step := range steps[:5] {
			follow(folder, step)
			if strings.Contains(step, "deletionPolicy") { // it asks the reader to wait for this
				for _, s := range []*v1alpha1.SnapshotSchedule{orphaned, owned} {
					Eventually(func() bool { now := get(ctx, s); return now.Status.ObservedGeneration == now.Generation }).
						WithContext(ctx).Should(BeTrue())
				}
			}
		}
		Expect(owners(ctx, kept)()).To(HaveExactElements(BeEmpty()))
		Expect(owners(ctx, left)()).To(HaveExactElements(BeEmpty()))
		// As deleting the Deployment does, which deletes the permissions at the same time.
		operator.Stop()
		DeferCleanup(cluster.Install)
		follow(folder, steps[5])
		Expect(cluster.Client.List(ctx, &v1alpha1.SnapshotScheduleList{})).To(Succeed(), "deleting the operator should leave the CRD")
		follow(folder, steps[6])
		err := cluster.Client.List(ctx, &v1alpha1.SnapshotScheduleList{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the CRD should be deleted, not %v", err)
		Consistently(snapshots).WithContext(ctx).WithTimeout(10*time.Second).Should(Equal(all), "the garbage collector should delete none")

		cluster.Install(ctx)
		follow(folder, steps[8])
		cluster.Start(ctx)
		// The file has the policies from before step 2: only Delete makes owners.
		for namespace, number := range map[string]int{kept: 0, left: 1} {
			// The old one, and one for the new schedule.
			eventuallySnapshots(ctx, namespace, 2)
			Eventually(owners(ctx, namespace)).WithContext(ctx).Should(HaveEach(HaveLen(number)))
		}
	}, NodeTimeout(6*time.Minute))

	It("releases snapshots by hand while the operator is gone", func(ctx context.Context) {
		operator := cluster.Start(ctx)
		namespace, s := scheduled(ctx, "stuck", 2, hourly)
		operator.Stop()
		// As if it had stopped a moment after the edit.
		merge(ctx, s, `{"metadata":{"finalizers":[%q]},"spec":{"deletionPolicy":"Orphan"}}`, v1alpha1.FinalizerRelease)
		kubectl("delete", "snapsched", "nightly", "-n", namespace, "--wait=false")
		steps := blocks("uninstall")
		for _, step := range steps[len(steps)-3:] {
			followIn(namespace, step)
		}
		eventuallyGone(ctx, s)
		Consistently(owners(ctx, namespace)).WithContext(ctx).WithTimeout(10 * time.Second).Should(HaveExactElements(BeEmpty(), BeEmpty()))
	})

	Context("deletes the namespace of a confined operator", func() {
		var (
			namespace *corev1.Namespace
			operator  *Operator
			schedule  *v1alpha1.SnapshotSchedule
		)
		BeforeEach(func(ctx context.Context) {
			home := cluster.Namespace(ctx, "home")
			namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
			account(ctx, home)
			bindManager(ctx, home, home)
			operator = cluster.WithOperatorIn(home).Start(ctx, "--watch-namespaces="+home)
			cluster.BoundClaims(ctx, home, 1)
			schedule = cluster.Schedule(ctx, home, orphaning)
			eventuallySnapshots(ctx, home, 1)
		})

		It("after its schedules", func(ctx context.Context) {
			followIn(namespace.Name, blocks("tenants", "Deleting the namespace of an operator")[0])
			eventuallyGone(ctx, namespace)
		})

		It("although a finalizer is left that nobody removes any more", func(ctx context.Context) {
			// As Kubernetes does: the pods of a namespace are deleted before anything else.
			operator.Stop()
			merge(ctx, schedule, `{"metadata":{"finalizers":[%q]}}`, v1alpha1.FinalizerRelease)
			Expect(cluster.Client.Delete(ctx, namespace)).To(Succeed())
			Eventually(fresh(ctx, namespace)).WithContext(ctx).WithTimeout(time.Minute).Should(HaveField("Status.Conditions",
				ContainElement(And(
					HaveField("Type", corev1.NamespaceFinalizersRemaining), HaveField("Status", corev1.ConditionTrue),
					HaveField("Message", ContainSubstring(v1alpha1.FinalizerRelease))))))
			followIn(namespace.Name, blocks("tenants", "Deleting the namespace of an operator")[1])
			eventuallyGone(ctx, namespace)
		})
	})
})

// blocks returns the commands of a page of docs/run, or of those under one of its headings.
func blocks(name string, headings ...string) (all []string) {
	GinkgoHelper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "run", name+".md"))
	Expect(err).NotTo(HaveOccurred())
	section := string(page)
	for _, heading := range headings {
		_, under, found := strings.Cut(section, "\n## "+heading+"\n")
		Expect(found).To(BeTrue(), "the page should have the heading %q", heading)
		section, _, _ = strings.Cut(under, "\n## ")
	}
	for _, block := range regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$").FindAllStringSubmatch(section, -1) {
		all = append(all, regexp.MustCompile("(?m)^   ").ReplaceAllString(block[1], ""))
	}
	return all
}

// follow runs commands of the page in a folder.
func follow(folder, commands string) {
	GinkgoHelper()
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", commands)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	AddReportEntry(commands, string(out))
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, out)
}

// followIn runs commands of the page in another namespace than the page's.
func followIn(namespace, commands string) {
	GinkgoHelper()
	Expect(commands).To(ContainSubstring(" shop"))
	follow(GinkgoT().TempDir(), strings.ReplaceAll(commands, " shop", " "+namespace))
}
