// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/recording"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

var _ = Describe("drills with data", Ordered, func() {
	const (
		image = repository + ":" + firstTag
		drill = v1alpha1.GroupName + "/drill" // the label of the Jobs, pods and PVCs
	)
	var (
		s        *site
		schedule *v1alpha1.SnapshotSchedule
		snapshot *snapshotv1.VolumeSnapshot
		// check is a command of the user's own, which fails unless the data is what the workload wrote.
		check []string
	)

	merge := func(ctx context.Context, o client.Object, patch string) {
		GinkgoHelper()
		Expect(cluster.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}
	verify := func(ctx context.Context, args ...string) (code int, output string) {
		GinkgoHelper()
		return s.snapsched(ctx, append([]string{"verify", snapshot.Name, "--image"}, args...)...)
	}
	jobs := func(ctx context.Context) []batchv1.Job {
		all := &batchv1.JobList{}
		Expect(cluster.Client.List(ctx, all, client.InNamespace(s.namespace), client.HasLabels{drill})).To(Succeed())
		return all.Items
	}
	// claims returns the PVCs of drills.
	claims := func(ctx context.Context) []corev1.PersistentVolumeClaim {
		all := &corev1.PersistentVolumeClaimList{}
		Expect(cluster.Client.List(ctx, all, client.InNamespace(s.namespace), client.HasLabels{drill})).To(Succeed())
		return all.Items
	}

	BeforeAll(func(ctx context.Context) {
		s = newSite(ctx, "drills")
		s.deploy(ctx, "web")
		sum := s.inpod(ctx, "deployment/web", "write", dataFile)
		check = []string{inpodImage, "--", "/inpod", "sum", "/snapshot/file", sum}
		schedule = s.schedule(ctx, 1)
		snapshot = &s.snapshots(ctx)[0]
	}, NodeTimeout(5*time.Minute))

	It("are run by the sample CronJob with its Role, as the user of the data", func(ctx context.Context) {
		By("adapting the sample as its comments say")
		jobs := opsNamespace(ctx, s.namespace)
		manifests := adaptedSample(ctx, "verify", s.namespace, "--schedule=nightly", "--schedule="+schedule.Name, "--image=controller:latest", "--image="+image)
		DeferCleanup(func(ctx context.Context) { run(ctx, manifests, "kubectl", "delete", "-f", "-") })
		run(ctx, manifests, "kubectl", "apply", "-f", "-")

		before := time.Now().Truncate(time.Second)
		kubectl(ctx, "-n", jobs, "create", "job", "--from=cronjob/verify-"+s.namespace, "now")
		kubectl(ctx, "-n", jobs, "wait", "--for=condition=Complete", "--timeout=1m", "job/now")
		Expect(kubectl(ctx, "-n", jobs, "logs", "job/now")).To(ContainSubstring(snapshot.Name + " verified\n"))
		at := suite.Must(time.Parse(time.RFC3339, get(ctx, snapshot).Annotations[v1alpha1.AnnotationVerifiedAt]))
		Expect(at).To(BeTemporally(">=", before))
		Eventually(fresh(schedule)).WithContext(ctx).Should(HaveField("Status.OldestVerifiedTime", HaveValue(
			HaveField("Time", BeTemporally("==", at)))))
		Eventually(claims).WithContext(ctx).Should(BeEmpty())

		By("not being another user's, who may not read it")
		code, output := verify(ctx, image, "--run-as-user=3000")
		Expect(code).To(Equal(3), output)
		Expect(output).To(And(ContainSubstring("inconclusive: "), ContainSubstring("permission denied")))
	}, NodeTimeout(3*time.Minute))

	// Contract: VER-4, VER-5.
	It("fail when the data is damaged, and the schedule says so until one succeeds", func(ctx context.Context) {
		seen := &recording.Recording{}
		seen.Call(image, "example.com/snapshotschedule:v0.1.0")
		seen.Call(inpodImage, "example.com/checks:v1")
		seen.Call(check[len(check)-1], "$SUM")
		record := func(args ...string) (code int, output string) {
			GinkgoHelper()
			code, output = verify(ctx, args...)
			waits := regexp.MustCompile(`(?m)^.* waits: .*\n`) // what a terminal shows on stderr, which differs
			command := "kubectl snapsched verify " + snapshot.Name + " --image " + strings.Join(args, " ")
			seen.Ran(command, waits.ReplaceAllString(output, ""))
			return code, output
		}
		code, output := record(image)
		Expect(code).To(BeZero(), output)

		file := snapshotFile(ctx, snapshot)
		good := suite.Must(os.ReadFile(file))
		Expect(os.WriteFile(file, append([]byte("damaged"), good...), 0o600)).To(Succeed())
		code, output = record(check...)
		Expect(code).To(Equal(1), output)
		Expect(seen.Check("tasks/verify.md", "verify")).To(Succeed())
		Expect(output).To(ContainSubstring("failed: exit code 1: the checksum of /snapshot/file is wrong"))
		Expect(get(ctx, snapshot).Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationVerifyFailed,
			MatchRegexp(`^\S+Z exit code 1: the checksum of /snapshot/file is wrong$`)))
		Eventually(fresh(schedule)).WithContext(ctx).Should(HaveField("Status", And(
			HaveField("Problems", ContainElement(HaveField("Reason", v1alpha1.ReasonVerificationFailed))),
			HaveField("Conditions", ContainElement(And(HaveField("Type", v1alpha1.ConditionReady), HaveField("Status", metav1.ConditionFalse),
				HaveField("Reason", v1alpha1.ReasonSnapshotsFailing)))))))

		By("finding nothing where data was")
		away := filepath.Join(cluster.State.Dir, "data", "away")
		Expect(os.Rename(file, away)).To(Succeed())
		code, output = verify(ctx, image)
		Expect(code).To(Equal(1), output)
		Expect(output).To(ContainSubstring("/snapshot has no data"))

		By("finding it again")
		Expect(os.Rename(away, file)).To(Succeed())
		Expect(os.WriteFile(file, good, 0o600)).To(Succeed())
		code, output = verify(ctx, check...)
		Expect(code).To(BeZero(), output)
		Eventually(fresh(schedule)).WithContext(ctx).Should(HaveField("Status.Problems", BeEmpty()))
		Expect(jobs(ctx)).To(HaveLen(2), "those that failed stay for their logs")
		kubectl(ctx, "-n", s.namespace, "delete", "jobs", "-l", drill)
	}, NodeTimeout(3*time.Minute))

	DescribeTable("leave no volume when their plugin is killed", func(ctx context.Context, command func() []string, end batchv1.JobConditionType) {
		Eventually(claims).WithContext(ctx).Should(BeEmpty(), "those of earlier specs")
		cmd, wait := s.start(ctx, append([]string{"verify", snapshot.Name, "--drill-timeout=20s", "--image"}, command()...)...)
		Eventually(claims).WithContext(ctx).WithPolling(20 * time.Millisecond).Should(HaveLen(1))
		Expect(cmd.Process.Kill()).To(Succeed())
		code, _ := wait()
		Expect(code).To(Equal(-1))
		Eventually(jobs).WithContext(ctx).Should(HaveExactElements(HaveField("Status.Conditions",
			ContainElement(And(HaveField("Type", end), HaveField("Status", corev1.ConditionTrue))))))
		job := jobs(ctx)[0]
		if end == batchv1.JobFailed {
			Eventually(claims).WithContext(ctx).Should(BeEmpty(), "the deadline should suffice")
		}
		// The rest is deleted 300 s later, which this spec does not wait for.
		Expect(job.Spec.TTLSecondsAfterFinished).To(HaveValue(BeEquivalentTo(300)))
		merge(ctx, &job, `{"spec":{"ttlSecondsAfterFinished":1}}`)
		Eventually(jobs).WithContext(ctx).Should(BeEmpty())
		Eventually(claims).WithContext(ctx).Should(BeEmpty())
	},
		Entry("and the command does not end", func() []string { return []string{inpodImage, "--", "/inpod", "sleep"} }, batchv1.JobFailed,
			NodeTimeout(2*time.Minute)),
		Entry("and the command ends afterwards", func() []string { return append([]string{inpodImage, "--drill-timeout=2m"}, check[1:]...) }, batchv1.JobComplete, NodeTimeout(2*time.Minute)),
	)

	DescribeTable("say nothing about the data", func(ctx context.Context, image string, quota corev1.ResourceList) {
		if quota != nil {
			q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: quota}}
			Expect(cluster.Client.Create(ctx, q)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(cluster.Client.Delete(ctx, q)).To(Succeed()) })
			Eventually(fresh(q)).WithContext(ctx).Should(HaveField("Status.Hard", Not(BeEmpty())))
		}
		before := get(ctx, snapshot).Annotations
		code, output := verify(ctx, image, "--drill-timeout=5s")
		Expect(code).To(Equal(3), output)
		Expect(output).To(ContainSubstring("inconclusive: DeadlineExceeded"))
		Expect(get(ctx, snapshot).Annotations).To(Equal(before))
		Eventually(jobs).WithContext(ctx).Should(BeEmpty())
		Eventually(claims).WithContext(ctx).Should(BeEmpty())
	},
		Entry("without an image", "localhost/none:none", nil, NodeTimeout(time.Minute)),
		Entry("without a quota of pods", image, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}, NodeTimeout(time.Minute)),
		Entry("without a quota of storage", image, corev1.ResourceList{corev1.ResourceRequestsStorage: resource.MustParse("0")},
			NodeTimeout(time.Minute)),
	)

	It("keep their snapshot from retention while their PVC is Pending", func(ctx context.Context) {
		for n := 2; n <= 3; n++ {
			code, output := s.snapsched(ctx, "snapshot", schedule.Name, "--wait")
			Expect(code).To(BeZero(), output)
			s.eventuallyReady(ctx, n)
		}
		DeferCleanup(cluster.State.SetBehavior, s.namespace, local.Behavior{})
		Expect(cluster.State.SetBehavior(s.namespace, local.Behavior{Refusals: []local.Refusal{
			{Call: "CreateVolume", Code: "UNAVAILABLE", Message: "the storage is busy"},
		}})).To(Succeed())
		_, wait := s.start(ctx, append([]string{"verify", snapshot.Name, "--image"}, check...)...)
		Eventually(claims).WithContext(ctx).Should(HaveExactElements(HaveField("Status.Phase", corev1.ClaimPending)))

		By("expiring two of three snapshots: one is deleted, this one stays")
		merge(ctx, schedule, `{"spec":{"snapshotTTL":"1s"}}`)
		Eventually(s.snapshots).WithContext(ctx).Should(And(HaveLen(2), ContainElement(And(
			HaveField("Name", snapshot.Name), HaveField("DeletionTimestamp", BeNil())))))
		Expect(claims(ctx)).To(HaveExactElements(HaveField("Status.Phase", corev1.ClaimPending)))

		By("letting the driver go on")
		Expect(cluster.State.SetBehavior(s.namespace, local.Behavior{})).To(Succeed())
		code, output := wait()
		Expect(code).To(BeZero(), output)
		Eventually(func() bool {
			return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(snapshot), snapshot))
		}).WithContext(ctx).Should(BeTrue())
	}, NodeTimeout(3*time.Minute))
})
