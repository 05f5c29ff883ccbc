// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// reader types what pages show, in one namespace and one folder.
type reader struct {
	namespace, folder string
	// claim is the PVC of which SNAPSHOT is the newest snapshot.
	claim string
	env   []string
}

func newReader(ctx context.Context, plugin string) *reader {
	GinkgoHelper()
	r := &reader{namespace: cluster.Namespace(ctx, "reader"), folder: GinkgoT().TempDir(), claim: "db"}
	config := suite.Must(clientcmd.NewDefaultClientConfigLoadingRules().Load())
	config.Contexts[config.CurrentContext].Namespace = r.namespace
	config.Contexts["prod-1"] = config.Contexts[config.CurrentContext]
	kubeconfig := filepath.Join(r.folder, "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())
	r.env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+filepath.Dir(plugin)+":"+os.Getenv("PATH"))
	return r
}

var placeholder = regexp.MustCompile(`\bSNAPSHOT\b`)

// types runs commands, with the newest snapshot of a PVC in the place of SNAPSHOT.
func (r *reader) types(ctx context.Context, commands string) (output string) {
	GinkgoHelper()
	if placeholder.MatchString(commands) {
		all := slices.DeleteFunc(cluster.Snapshots(ctx, r.namespace), func(v snapshotv1.VolumeSnapshot) bool {
			return v.Labels[v1alpha1.LabelClaim] != r.claim || v.Labels[v1alpha1.LabelMapKey] == "" || !ready(&v) // nor one of this second
		})
		newest := slices.MaxFunc(all, func(a, b snapshotv1.VolumeSnapshot) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		commands = placeholder.ReplaceAllString(commands, newest.Name)
	}
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = r.folder, r.env
	out, err := cmd.CombinedOutput()
	AddReportEntry(commands, string(out))
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, out)
	return string(out)
}

// shown returns the blocks of shell of a page that contain a text.
func shown(page, containing string) (all []string) {
	GinkgoHelper()
	text := string(suite.Must(os.ReadFile(filepath.Join(root, "docs", page))))
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		if strings.Contains(block[1], containing) {
			all = append(all, block[1])
		}
	}
	Expect(all).NotTo(BeEmpty(), "docs/%s should have commands with %q", page, containing)
	return all
}

var _ = Describe("Who types what a page shows", Ordered, func() {
	var plugin string
	BeforeAll(func(ctx context.Context) {
		plugin = buildPlugin(ctx)
		cluster.Start(ctx)
	}, NodeTimeout(3*time.Minute))

	// tries is in the shell of make try.
	tries := func(ctx context.Context) *reader {
		GinkgoHelper()
		r := newReader(ctx, plugin)
		demo := suite.Must(filepath.Abs(filepath.Join(root, "hack", "demo")))
		r.types(ctx, "kubectl apply -f "+demo+"/pvcs.yaml -f "+demo+"/try.yaml\nkubectl wait snapsched my-app --for=condition=Protected --timeout=90s")
		return r
	}

	It("follows the quickstart without a cluster", func(ctx context.Context) {
		r := tries(ctx)
		r.types(ctx, shown("learn/quickstart.md", "pvc web")[0])
		Expect(r.types(ctx, "kubectl get pvc db-restored")).To(ContainSubstring("Bound"))
	}, NodeTimeout(3*time.Minute))

	It("follows the quickstart on a cluster of their own", func(ctx context.Context) {
		r := newReader(ctx, plugin)
		r.types(ctx, "kubectl apply -f "+suite.Must(filepath.Abs(filepath.Join(root, "hack/demo/pvcs.yaml"))))
		text := string(suite.Must(os.ReadFile(filepath.Join(root, "docs/learn/quickstart.md"))))
		schedule := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindStringSubmatch(text)[1]
		Expect(os.WriteFile(filepath.Join(r.folder, "schedule.yaml"), []byte(schedule), 0o600)).To(Succeed())
		for _, containing := range []string{"apply", "label pvc data-db-0", "wait snapsched", "restore --pvc data-db-0"} {
			commands := strings.ReplaceAll(shown("learn/quickstart.md", containing)[0], "data-db-0", "web")
			r.types(ctx, strings.ReplaceAll(commands, "volumesnapshots -w", "volumesnapshots"))
		}
		Expect(r.types(ctx, "kubectl get pvc web-restored")).To(ContainSubstring("Bound"))
	}, NodeTimeout(3*time.Minute))

	It("loses a PVC in the tutorial, gets it back, goes back in time and undoes it", func(ctx context.Context) {
		r := tries(ctx)
		lost := ""
		for _, commands := range shown("learn/tutorial.md", "kubectl") {
			if strings.Contains(commands, "delete pvc db") {
				lost = r.types(ctx, "kubectl get pvc db -o jsonpath='{.metadata.uid}'")
			}
			output := r.types(ctx, commands)
			if strings.Contains(commands, "preview") {
				Expect(output).To(ContainSubstring("would be deleted now"))
			}
		}
		Expect(r.types(ctx, "kubectl get pvc db -o jsonpath='{.metadata.uid} {.status.phase}'")).
			To(And(HaveSuffix(" Bound"), Not(HavePrefix(lost))))
		Eventually(func() []string {
			return strings.Fields(r.types(ctx, "kubectl get volumesnapshots -l "+v1alpha1.LabelClaim+"=web -o name"))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(HaveLen(1), "older ones are deleted, down to the floor")
	}, NodeTimeout(5*time.Minute))

	// has creates a schedule of a name with a snapshot of a PVC.
	has := func(ctx context.Context, schedule, claim string) *reader {
		GinkgoHelper()
		r := newReader(ctx, plugin)
		create(ctx, builders.Claim(r.namespace, claim, map[string]string{"app": "db"}))
		create(ctx, builders.Schedule(r.namespace, schedule, hourly))
		eventuallySnapshots(ctx, r.namespace, 1)
		return r
	}

	It("deletes a schedule and keeps its snapshots", func(ctx context.Context) {
		r := has(ctx, "my-database", "pgdata")
		before := names(cluster.Snapshots(ctx, r.namespace))
		for _, commands := range shown("tasks/delete-a-schedule.md", "kubectl") {
			r.types(ctx, commands)
		}
		Consistently(func() []string { return names(cluster.Snapshots(ctx, r.namespace)) }).WithContext(ctx).WithTimeout(5 * time.Second).
			Should(Equal(before))
		Expect(owners(ctx, r.namespace)()).To(HaveEach(BeEmpty()))
	}, NodeTimeout(2*time.Minute))

	It("holds and releases a snapshot, suspends a schedule, and requests snapshots of it", func(ctx context.Context) {
		r := has(ctx, "nightly", "pgdata")
		snapshot := cluster.Snapshots(ctx, r.namespace)[0].Name
		held := func() string {
			return r.types(ctx, "kubectl get volumesnapshot "+snapshot+` -o jsonpath='{.metadata.annotations.snapshots\.mapcontroller\.dev/hold}'`)
		}
		pages := shown("tasks/hold.md", "kubectl")
		Expect(pages).To(HaveLen(4))
		for i, commands := range pages {
			r.types(ctx, strings.ReplaceAll(commands, "pgdata-20261121100928-46grgsginy", snapshot))
			if i < 2 { // with the plugin, and without it
				Expect(held()).To(HaveSuffix("before the upgrade to 18"))
				r.types(ctx, "kubectl snapsched unhold "+snapshot)
				Expect(held()).To(BeEmpty())
			}
		}
		Expect(owners(ctx, r.namespace)()).To(HaveExactElements(BeEmpty()), "it is released")

		suspends := strings.SplitAfter(shown("tasks/suspend.md", "nightly")[0], "kubectl get snapsched\n")
		Expect(suspends).To(HaveLen(2))
		r.types(ctx, suspends[0])
		r.types(ctx, strings.ReplaceAll(shown("tasks/snapshot-now.md", "$now")[0], "my-database", "nightly"))
		eventuallySnapshots(ctx, r.namespace, 2)
		r.types(ctx, suspends[1])
		Expect(r.types(ctx, "kubectl get snapsched nightly -o jsonpath='{.spec.suspend}'")).To(Equal("false"))
	}, NodeTimeout(2*time.Minute))

	It("has a schedule adopt a snapshot that was taken by hand", func(ctx context.Context) {
		r := has(ctx, "my-database", "pgdata")
		create(ctx, &snapshotv1.VolumeSnapshot{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "by-hand"},
			Spec:       snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: ptr.To("pgdata")}},
		})
		eventuallySnapshots(ctx, r.namespace, 2)
		Expect(owners(ctx, r.namespace)()).To(ContainElement(BeEmpty()))
		r.types(ctx, regexp.MustCompile(`\bNAME\b`).ReplaceAllString(shown("tasks/adopt.md", "uid=")[0], "by-hand"))
		Eventually(owners(ctx, r.namespace)).WithContext(ctx).Should(HaveEach(HaveLen(1)))
	}, NodeTimeout(2*time.Minute))

	It("gives a schedule another name, and its snapshots to that", func(ctx context.Context) {
		r := has(ctx, "old", "pgdata")
		before := names(cluster.Snapshots(ctx, r.namespace))
		r.types(ctx, `kubectl get snapsched old -o yaml | sed -e 's/  name: old/  name: new/' -e '/uid:/d' -e '/resourceVersion:/d' `+
			`-e 's/suspend: false/suspend: true/' > new.yaml`)
		text := shown("tasks/adopt.md", "delete snapsched old")[0]
		moves, deletes, found := strings.Cut(text, "kubectl delete")
		Expect(found).To(BeTrue())
		r.types(ctx, moves)
		Eventually(func() string {
			return r.types(ctx, "kubectl get snapsched old -o jsonpath='{.status.outputs.volumesnapshots.total}'")
		}).WithContext(ctx).Should(Equal("0"))
		r.types(ctx, "kubectl delete"+deletes)
		Consistently(func() []string { return names(cluster.Snapshots(ctx, r.namespace)) }).WithContext(ctx).WithTimeout(5 * time.Second).
			Should(ContainElements(before))
	}, NodeTimeout(2*time.Minute))
})
