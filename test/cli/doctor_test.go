// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// pointed is a point of doctor.
type pointed struct{ Check, State, Message, Fix string }

// points returns what doctor says that contains a text. Other specs have problems of their own in the cluster.
func (env *environment) points(about string) (all []pointed) {
	GinkgoHelper()
	r := env.run("doctor", "-o", "json")
	Expect(r.code).To(BeElementOf(0, 1), r.errOut)
	var report struct{ Points []pointed }
	Expect(json.Unmarshal([]byte(r.out), &report)).To(Succeed())
	problems := 0
	for _, p := range report.Points {
		if p.State == "problem" {
			problems++
		}
		if strings.Contains(p.Message, about) {
			all = append(all, p)
		}
	}
	Expect(r.code).To(Equal(min(problems, 1)))
	return all
}

// shell runs a command that doctor has printed, with the kubectl of the test's API server.
func shell(command string) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+os.Getenv("KUBEBUILDER_ASSETS")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", command, out)
}

var _ = Describe("doctor", func() {
	// inCluster creates an object that is deleted with the spec.
	inCluster := func(o client.Object) {
		GinkgoHelper()
		Expect(api.Create(ctx, o)).To(Succeed())
		DeferCleanup(func() { Expect(client.IgnoreNotFound(api.Delete(ctx, o))).To(Succeed()) })
	}
	// driverOf returns a driver of the namespace's name, which is installed and has a StorageClass.
	driverOf := func(env *environment) string {
		driver := env.namespace + ".example.com"
		inCluster(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}})
		inCluster(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: driver}, Provisioner: driver})
		return driver
	}
	// cut lets the csi-snapshotter of a driver have reacted.
	cut := func(driver string) {
		c := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: driver}}
		c.Spec = snapshotv1.VolumeSnapshotContentSpec{
			Driver: driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete, Source: snapshotv1.VolumeSnapshotContentSource{VolumeHandle: ptr.To("h")},
			VolumeSnapshotRef: corev1.ObjectReference{Namespace: "default", Name: "young"}, SourceVolumeMode: ptr.To(corev1.PersistentVolumeFilesystem),
		}
		inCluster(c)
		c.Status = &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: ptr.To("s")}
		Expect(api.Status().Update(ctx, c)).To(Succeed())
	}
	class := func(name, driver string, isDefault bool) *snapshotv1.VolumeSnapshotClass {
		c := &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Driver: driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete}
		if isDefault {
			c.Annotations = map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"}
		}
		return c
	}
	problem := func(message, fix string) OmegaMatcher {
		return And(HaveField("State", "problem"), HaveField("Message", ContainSubstring(message)), HaveField("Fix", ContainSubstring(fix)))
	}
	// command returns the command of a problem, which is in the message where that is the operator's.
	command := func(p pointed) string {
		if p.Fix != "" {
			return p.Fix
		}
		return p.Message[strings.Index(p.Message, "kubectl "):]
	}
	ok := ConsistOf(HaveField("State", "ok"))

	// Contract: CLI-46.
	It("names what is wrong with the classes of a driver, and its command fixes it", func() {
		env := newEnvironment()
		driver := driverOf(env)
		Expect(env.points(driver)).To(ContainElement(And(HaveField("State", "unknown"), HaveField("Message", ContainSubstring("csi-snapshotter")))))
		cut(driver)
		By("no class")
		Expect(env.points(driver)).To(ConsistOf(problem("has no VolumeSnapshotClass", "kubectl create -f -")))
		shell(env.points(driver)[0].Fix)
		DeferCleanup(func() { Expect(api.Delete(ctx, class(driver, driver, true))).To(Succeed()) })
		Expect(env.points(driver)).To(ok)

		By("two defaults")
		inCluster(class(driver+".z", driver, true))
		Expect(env.points(driver)).To(ConsistOf(problem("2 VolumeSnapshotClasses of driver "+driver+" are its default", "")))
		shell(command(env.points(driver)[0]))
		Expect(env.points(driver)).To(ok)

		By("Retain")
		retains := class(driver, driver, true)
		Expect(api.Get(ctx, client.ObjectKeyFromObject(retains), retains)).To(Succeed())
		retains.DeletionPolicy = snapshotv1.VolumeSnapshotContentRetain
		Expect(api.Update(ctx, retains)).To(Succeed())
		Expect(env.points(driver)).To(ContainElement(problem("deletionPolicy Retain", `"deletionPolicy":"Delete"`)))
		shell(env.points(driver)[1].Fix)
		Expect(env.points(driver)).To(ok)
	})

	// Contract: CLI-46.
	It("names the only class of a driver that is not its default, a class without a driver, and limits that no class states", func() {
		env := newEnvironment()
		driver := driverOf(env)
		cut(driver)
		inCluster(class(driver, driver, false))
		Expect(env.points(driver)).To(ConsistOf(problem("the only VolumeSnapshotClass of driver "+driver, "")))
		shell(command(env.points(driver)[0]))
		Expect(env.points(driver)).To(ok)

		removed := env.namespace + ".removed.example.com"
		inCluster(class(removed, removed, true))
		Expect(env.points(removed)).To(ConsistOf(problem("which is not installed", "")))

		ceph := env.namespace + ".rbd.csi.ceph.com"
		inCluster(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: ceph}})
		inCluster(class(ceph, ceph, true))
		cut(ceph)
		Expect(env.points(ceph)).To(ContainElement(problem("states the limits of Ceph RBD", "max-per-volume=200")))
		shell(env.points(ceph)[1].Fix)
		Expect(env.points(ceph)).To(ok)
	})

	// Contract: CLI-46.
	It("names a snapshot controller and a sidecar that do not react, contents without a snapshot, and deletions that are stuck", func() {
		env := newEnvironment()
		driver := driverOf(env)
		inCluster(class(driver, driver, true))
		s, data := env.createSchedule("daily", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"}), env.createClaim("data")
		env.createSnapshots(s, data, day, 1)
		waits := builders.Existing(builders.Snapshot(s, data, ago(3*time.Minute).Truncate(time.Second)), uuid.NewUUID(), ago(3*time.Minute))
		waits.Status = nil
		stuck := snapshotAt(s, data, ago(3*day).Truncate(time.Second))
		stuck.DeletionTimestamp, stuck.Finalizers = ptr.To(metav1.NewTime(ago(2*time.Hour))), []string{"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"}
		unready := snapshotAt(s, data, ago(2*day).Truncate(time.Second))
		unready.Status.ReadyToUse, unready.Status.Error = ptr.To(false), &snapshotv1.VolumeSnapshotError{Message: ptr.To("quota exceeded")}
		put(time.Time{}, waits, stuck, unready)
		Expect(env.points(waits.Name)).To(ConsistOf(problem("no snapshot controller has reacted", "snapshot-controller")))
		Expect(env.points(stuck.Name)).To(ConsistOf(problem("is being deleted for 120m", "kubectl describe")))
		Expect(env.points(unready.Name)).To(ConsistOf(problem("is not ready after 2d: quota exceeded", "kubectl describe")))

		content := func(name string) *snapshotv1.VolumeSnapshotContent {
			c := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: name + env.namespace}}
			c.Spec = snapshotv1.VolumeSnapshotContentSpec{
				Driver: driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete, Source: snapshotv1.VolumeSnapshotContentSource{VolumeHandle: ptr.To("h")},
				VolumeSnapshotRef: corev1.ObjectReference{Namespace: env.namespace, Name: name, UID: "gone"}, SourceVolumeMode: ptr.To(corev1.PersistentVolumeFilesystem),
			}
			inCluster(c)
			return c
		}
		left := content("nosuch")
		Expect(env.points(left.Name)).To(BeEmpty(), "it is younger than what settles")
		left.CreationTimestamp = metav1.NewTime(ago(time.Hour))
		put(time.Time{}, left)
		Expect(env.points(left.Name)).To(ConsistOf(
			problem("the csi-snapshotter of "+driver+" has not reacted", "csi"), problem("which does not exist", "kubectl describe volumesnapshotcontent")))
	})

	// Contract: CLI-46.
	It("names schedules that protect nothing, and safety snapshots of a week ago", func() {
		env := newEnvironment()
		env.createSchedule("typo", v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "24h", Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "my-ap"}},
		})
		env.createSchedule("stopped", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h", Suspend: true})
		env.createSchedule("good", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
		env.createClaim("data")
		Expect(env.points(env.namespace + "/typo")).To(ConsistOf(problem("protects nothing: it selects no PVC", "kubectl snapsched status -n")))
		Expect(env.points(env.namespace + "/stopped")).To(ConsistOf(problem("is suspended", "kubectl snapsched resume")))
		Expect(env.points(env.namespace + "/good")).To(BeEmpty())
		skips := env.createSchedule("skips", v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "24h", Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "nfs"}},
		})
		inTree := env.createClaim("in-tree", "app", "nfs")
		inTree.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "kubernetes.io/nfs"}
		put(time.Time{}, inTree)
		Expect(env.points(env.namespace + "/" + skips.Name)).To(ConsistOf(problem("none of its PVCs can be snapshotted", "kubectl snapsched status")))
		for name, age := range map[string]time.Duration{"young": day, "old": 10 * day} {
			v := builders.Existing(&snapshotv1.VolumeSnapshot{}, uuid.NewUUID(), ago(age))
			v.Namespace, v.Name, v.Labels = env.namespace, name, map[string]string{v1alpha1.LabelRollback: "f7ee3394"}
			v.Spec.Source.PersistentVolumeClaimName, v.Status = ptr.To("data"), &snapshotv1.VolumeSnapshotStatus{
				ReadyToUse: ptr.To(true), BoundVolumeSnapshotContentName: ptr.To("content-" + name),
			}
			put(time.Time{}, v)
		}
		Expect(env.points(env.namespace + "/young")).To(ok)
		Expect(env.points(env.namespace + "/old")).To(ConsistOf(problem("is the safety snapshot of rollback f7ee3394", "kubectl delete -n")))
		shell(env.points(env.namespace + "/old")[0].Fix)
		Expect(env.points(env.namespace + "/old")).To(BeEmpty())
	})

	// Contract: CLI-46.
	It("says what a tenant may not read, and is not wrong about it", func() {
		env := newEnvironment()
		env.createSchedule("good", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
		env.createClaim("data")
		By("PVCs")
		few := []rbacv1.PolicyRule{{APIGroups: []string{"snapshot.storage.k8s.io", "snapshots.mapcontroller.dev"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}
		Expect(env.as(env.may("few", few, "doctor")).run("doctor").out).To(And(
			ContainSubstring("unknown PVCs and snapshots could not be read: "), ContainSubstring("cannot list resource \"persistentvolumeclaims\""),
			Not(ContainSubstring("protects nothing"))))
		By("what is cluster-wide")
		reads := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}}
		tenant := env.as(env.may("tenant", reads, "status"))
		out := tenant.run("doctor", "-o", "json")
		Expect(out.code).To(BeZero(), out.out+out.errOut)
		var report struct{ Points []pointed }
		Expect(json.Unmarshal([]byte(out.out), &report)).To(Succeed())
		Expect(report.Points).NotTo(ContainElement(HaveField("State", "problem")))
		Expect(report.Points).To(ContainElement(And(HaveField("State", "unknown"), HaveField("Message", "you may not list volumesnapshotclasses"))))
	})
})
