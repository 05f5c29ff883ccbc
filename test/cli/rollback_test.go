// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

var _ = Describe("a rollback whose safety snapshot is not cut", func() {
	// Contract: BACK-4, BACK-7.
	It("leaves no snapshot, is named by coverage after an hour, and is undone by the command that coverage prints", func() {
		env := newEnvironment()
		storage := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}, Provisioner: "mock.csi"}
		Expect(api.Create(ctx, storage)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, storage)).To(Succeed()) })
		c := builders.BoundClaim(env.namespace, "data", env.namespace+"-data", nil)
		c.Spec.StorageClassName = &storage.Name
		put(ago(61*24*time.Hour), c)
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName}}
		v.Spec.Capacity, v.Spec.AccessModes = c.Spec.Resources.Requests, c.Spec.AccessModes
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "mock.csi", VolumeHandle: v.Name}
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID}
		Expect(api.Create(ctx, v)).To(Succeed())
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
		old := snapshotAt(s, c, ago(50*time.Hour))
		old.Status.RestoreSize = ptr.To(c.Spec.Resources.Requests[corev1.ResourceStorage])
		createContent(old, "mock.csi")
		put(time.Time{}, old)
		env.createSnapshots(s, c, 6*time.Hour, 2)
		web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "web"}}
		web.Spec.Replicas, web.Spec.Selector = new(int32), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		web.Spec.Template.Labels = web.Spec.Selector.MatchLabels
		web.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web"}}
		web.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
		Expect(api.Create(ctx, web)).To(Succeed())
		note := func() string { return get(web).Annotations[v1alpha1.AnnotationRollback] }
		write := func(o client.Object, annotations map[string]string) {
			GinkgoHelper()
			text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
			Expect(err).NotTo(HaveOccurred())
			Expect(api.Patch(ctx, o, client.RawPatch("application/merge-patch+json", text))).To(Succeed())
		}

		// The time counts from the start of the command, and what it does before it waits takes a busy machine seconds.
		r := env.run("rollback", "deployment/web", "--as-of", ago(49*time.Hour).Format(time.RFC3339), "--yes", "--timeout", "8s")
		Expect(r.code).To(Equal(3), r.errOut)
		Expect(r.out).To(MatchRegexp("VolumeSnapshot data-before-[0-9]+, which was not cut, is deleted"))
		Expect(r.errOut).To(ContainSubstring("go back with: kubectl snapsched rollback -n " + env.namespace + " deployment/web --pvc data --undo\n"))
		all := &snapshotv1.VolumeSnapshotList{}
		Expect(api.List(ctx, all, client.InNamespace(env.namespace), client.HasLabels{v1alpha1.LabelRollback})).To(Succeed())
		Expect(all.Items).To(BeEmpty())

		coverage := func() string { return env.succeeds("coverage", "--fail-on-gaps") }
		Expect(coverage()).NotTo(ContainSubstring("unfinished"), "it has just begun")
		lock := map[string]any{}
		Expect(json.Unmarshal([]byte(note()), &lock)).To(Succeed())
		noted := func(key string, at time.Time) {
			GinkgoHelper()
			lock[key] = at.Format(time.RFC3339)
			text, err := json.Marshal(lock)
			Expect(err).NotTo(HaveOccurred())
			write(web, map[string]string{v1alpha1.AnnotationRollback: string(text)})
		}
		noted("began", ago(2*time.Hour))
		Expect(coverage()).To(And(ContainSubstring("began 120m ago: it runs, and took its last step "), Not(ContainSubstring("--undo"))))
		noted("time", ago(90*time.Minute))
		const advice = "kubectl snapsched rollback -n %s %s --undo\n"
		undo := strings.NewReplacer("%s %s", env.namespace+" deployment/web").Replace(advice)
		Expect(coverage()).To(And(MatchRegexp(`data +Protected`), ContainSubstring(" of data in namespace "+env.namespace+" is unfinished, and began 120m ago: "),
			ContainSubstring(undo), ContainSubstring("No gaps in 1 PVC.")))
		Expect(env.succeeds("coverage", "-o", "json")).To(ContainSubstring(`"id": "` + lock["id"].(string) + `"`))
		snapshots := []string{"volumesnapshots", "persistentvolumeclaims", "snapshotschedules", "volumegroupsnapshots"}
		tenant := env.may("tenant", []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: snapshots, Verbs: []string{"*"}}}, "coverage")
		Expect(env.as(tenant).succeeds("coverage")).To(And(MatchRegexp(`data +Protected`), Not(ContainSubstring("unfinished"))))

		By("undoing it")
		args := strings.Fields(strings.TrimPrefix(undo, "kubectl snapsched "))
		Expect(env.succeeds(append(args, "--yes")...)).To(ContainSubstring(" is finished\n"))
		Expect(note()).To(BeEmpty())
		Expect(coverage()).NotTo(ContainSubstring("unfinished"))

		By("with neither the PVC nor the workload, but for its record")
		record, err := json.Marshal(map[string]any{
			"claim": get(c), "snapshot": old.Name, "snapshotUID": old.UID, "volume": "old", "volumeUID": "old", "workload": "deployment/web", "lock": lock,
		})
		Expect(err).NotTo(HaveOccurred())
		write(v, map[string]string{v1alpha1.AnnotationRollbackPrefix + lock["id"].(string): string(record)})
		write(web, map[string]string{v1alpha1.AnnotationRollback: "{malformed"})
		Expect(api.Delete(ctx, get(c))).To(Succeed())
		alter(c.DeepCopy(), `{"metadata":{"finalizers":null}}`)
		Eventually(func() error { return api.Get(ctx, client.ObjectKeyFromObject(c), &corev1.PersistentVolumeClaim{}) }).ShouldNot(Succeed())
		Expect(coverage()).To(And(ContainSubstring(strings.NewReplacer("%s %s", env.namespace+" --pvc data").Replace(advice)), ContainSubstring("in 0 PVCs")))
	})
})
