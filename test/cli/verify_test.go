// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Nothing runs Jobs here: the specs do what the Job controller and a node do.
var _ = Describe("verify", func() {
	var (
		env      *environment
		class    *storagev1.StorageClass
		snapshot *snapshotv1.VolumeSnapshot
	)
	args := func(more ...string) []string {
		return append([]string{"verify", "--pvc", "data", "--image", "example.com/plugin"}, more...)
	}
	BeforeEach(func() {
		env = newEnvironment()
		class = &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}, Provisioner: "mock.csi"}
		Expect(api.Create(ctx, class)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, class)).To(Succeed()) })
		claim := env.createClaim("data")
		claim.Spec.StorageClassName = &class.Name
		put(time.Time{}, claim)
		snapshot = snapshotAt(env.createSchedule("nightly", hourly), claim, ago(time.Hour))
		snapshot.Status.RestoreSize = ptr.To(resource.MustParse("2Gi"))
		createContent(snapshot, class.Provisioner)
		put(time.Time{}, snapshot)
	})
	jobs := func() []batchv1.Job {
		all := &batchv1.JobList{}
		Expect(api.List(ctx, all, client.InNamespace(env.namespace))).To(Succeed())
		return all.Items
	}
	// drill runs the plugin, and ends the pod of its Job in a way.
	drill := func(end corev1.ContainerStateTerminated, more ...string) result {
		GinkgoHelper()
		ended := env.start(args(more...)...)
		Eventually(jobs).Should(HaveLen(1))
		job := jobs()[0]
		pod := podOf(&job)
		Expect(api.Create(ctx, pod)).To(Succeed())
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "verify", State: corev1.ContainerState{Terminated: &end}}}
		Expect(api.Status().Update(ctx, pod)).To(Succeed())
		if end.Reason != "Completed" && end.Reason != "Error" {
			now := metav1.Now()
			job.Status.StartTime = &now
			job.Status.Conditions = []batchv1.JobCondition{
				{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"},
				{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"},
			}
			Expect(api.Status().Update(ctx, &job)).To(Succeed())
		}
		return await(ended)
	}

	It("marks a snapshot whose data can be read, and deletes the Job", func() {
		r := drill(corev1.ContainerStateTerminated{Reason: "Completed"})
		Expect(r.code).To(BeZero(), r.errOut)
		Expect(r.out).To(ContainSubstring(snapshot.Name + " verified\n"))
		at, err := time.Parse(time.RFC3339, get(snapshot).Annotations[v1alpha1.AnnotationVerifiedAt])
		Expect(err).NotTo(HaveOccurred())
		Expect(at).To(BeTemporally("~", time.Now(), 10*time.Second))
		Eventually(jobs).Should(BeEmpty())
	})

	It("says of a damaged one why, and keeps the Job for its log", func() {
		r := drill(corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "checking\npage 7 is bad\x1b[31m"},
			"-n", env.namespace, "--", "check")
		Expect(r.code).To(Equal(1))
		Expect(get(snapshot).Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationVerifyFailed, MatchRegexp(`^\S+Z exit code 1: page 7 is bad.{0,6}\[31m$`)))
		Expect(get(snapshot).Annotations).NotTo(HaveKey(v1alpha1.AnnotationVerifiedAt))
		Expect(jobs()).To(HaveLen(1))
	})

	It("says nothing about one whose drill ran out of memory", func() {
		r := drill(corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"})
		Expect(r.code).To(Equal(3))
		Expect(r.out).To(ContainSubstring("inconclusive"))
		Expect(get(snapshot).Annotations).NotTo(Or(HaveKey(v1alpha1.AnnotationVerifiedAt), HaveKey(v1alpha1.AnnotationVerifyFailed)))
	})

	It("believes no pod but the one that its Job's controller made", func() {
		ended := env.start(args()...)
		Eventually(jobs).Should(HaveLen(1))
		job := jobs()[0]
		forged := podOf(&job)
		forged.OwnerReferences = nil
		forged.Spec.Containers[0].Command = []string{"true"}
		Expect(api.Create(ctx, forged)).To(Succeed())
		forged.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "verify", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}},
		}
		Expect(api.Status().Update(ctx, forged)).To(Succeed())
		Consistently(func() any { return get(snapshot).Annotations }, "5s").ShouldNot(HaveKey(v1alpha1.AnnotationVerifiedAt))
		Expect(api.Delete(ctx, &job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		r := await(ended)
		Expect(r.code).To(Equal(3))
		Expect(r.out).To(ContainSubstring("inconclusive: its Job was deleted"))
	})

	It("says nothing about one whose Job the API server refuses", func() {
		r := env.run(args("--run-as-user=-1")...)
		Expect(r.code).To(Equal(3), r.errOut)
		Expect(r.out).To(And(ContainSubstring("inconclusive: "), ContainSubstring("runAsUser")))
		Expect(jobs()).To(BeEmpty())
	})

	It("does not mark another snapshot that got the name", func() {
		ended := env.start(args()...)
		Eventually(jobs).Should(HaveLen(1))
		again := snapshot.DeepCopy()
		again.UID = "another"
		put(time.Time{}, again)
		job := jobs()[0]
		pod := podOf(&job)
		Expect(api.Create(ctx, pod)).To(Succeed())
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "verify", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}},
		}
		Expect(api.Status().Update(ctx, pod)).To(Succeed())
		Expect(await(ended).code).To(Equal(3))
		Expect(get(again).Annotations).NotTo(HaveKey(v1alpha1.AnnotationVerifiedAt))
	})

	It("refuses a class whose volumes would stay", func() {
		Expect(api.Delete(ctx, class)).To(Succeed())
		class.ResourceVersion, class.UID = "", ""
		class.ReclaimPolicy = ptr.To(corev1.PersistentVolumeReclaimRetain)
		Expect(api.Create(ctx, class)).To(Succeed())
		Expect(env.exits(2, args()...)).To(ContainSubstring("has reclaimPolicy Retain"))
		Expect(jobs()).To(BeEmpty())
		Expect(env.succeeds(args("--allow-retain", "--dry-run=client", "-o", "yaml")...)).To(And(
			ContainSubstring("kind: Job"), ContainSubstring("ephemeral:"), ContainSubstring("snapshots.mapcontroller.dev/exclude")))
	})
})

// podOf is the pod that the Job controller makes.
func podOf(job *batchv1.Job) *corev1.Pod {
	template := job.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = job.Namespace, job.Name+"-abcde" // as the Job controller names it
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	return pod
}
