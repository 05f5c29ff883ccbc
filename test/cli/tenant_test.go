// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// may returns the kubeconfig of a new user who has permissions in this namespace, and none outside. The API server knows them once a
// command succeeds.
func (env *environment) may(name string, rules []rbacv1.PolicyRule, succeeds ...string) string {
	GinkgoHelper()
	user := name + "-" + env.namespace
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name}, Rules: rules}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	Expect(api.Create(ctx, role)).To(Succeed())
	Expect(api.Create(ctx, binding)).To(Succeed())
	file := writeKubeconfig(GinkgoT().TempDir(), user)
	Eventually(func() int { return env.runWith(file, "", succeeds...).code }).Should(BeZero(), "the API server knows the binding")
	return file
}

// tenant returns the kubeconfig of a user who may do everything in this namespace, and nothing outside.
func (env *environment) tenant() string {
	GinkgoHelper()
	return env.may("tenant", []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}, "status")
}

// oneDriver lists the class of one driver.
func oneDriver() v1alpha1.SnapshotScheduleSpec {
	spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", Selector: ofDatabases}
	spec.SnapshotTemplate.Spec.VolumeSnapshotClassNames = []v1alpha1.SnapshotClassName{"fast"}
	return spec
}

var _ = Describe("VolumeSnapshotClasses", func() {
	const provisioner = "volume.kubernetes.io/storage-provisioner"

	It("that the user may not read are assumed to exist, and the user is told once", func() {
		env := newEnvironment()
		s, claim := env.createSchedule("nightly", oneDriver()), env.createClaim("db-0", "app", "db")
		claim.Annotations = map[string]string{provisioner: "block.example.com"}
		put(time.Time{}, claim)
		newest := env.createSnapshots(s, claim, 6*time.Hour, 2)[0]
		tenant := env.tenant()
		told := fmt.Sprintf("Warning: volumesnapshotclasses.snapshot.storage.k8s.io is forbidden: User \"tenant-%s\" cannot list resource "+
			"\"volumesnapshotclasses\" in API group \"snapshot.storage.k8s.io\" at the cluster scope: "+
			"assuming that the operator finds a VolumeSnapshotClass for each PVC\n", env.namespace)
		two := manifest("nightly", "{snapshotInterval: 6h}") + "---\n" + manifest("weekly", "{snapshotInterval: 1w}")
		for _, test := range []struct {
			input string
			args  []string
			want  string
		}{
			{"", []string{"status"}, "nightly"},
			{"", []string{"coverage", "--fail-on-gaps"}, "No gaps in 1 PVC."},
			{"", []string{"timeline", "nightly"}, "db-0"},
			{"", []string{"why", newest.Name}, "Schedule nightly"},
			{two, []string{"preview", "-f", "-"}, "weekly would be created"},
			{"", []string{"snapshot", "nightly"}, "nightly requested 1 snapshot"},
			{"", []string{"snapshot", "--pvc", "db-0"}, "nightly requested 1 snapshot"},
		} {
			r := env.runWith(tenant, test.input, test.args...)
			Expect(r.code).To(BeZero(), r.errOut)
			Expect(r.errOut).To(Equal(told))
			Expect(r.out).To(ContainSubstring(test.want))
			Expect(r.out).NotTo(ContainSubstring(v1alpha1.ReasonWrongSnapshotClass))
		}
	})

	It("that the user may not read leave it unknown whether a PVC without snapshots can be snapshotted", func() {
		env := newEnvironment()
		env.createSchedule("nightly", oneDriver())
		claim := builders.BoundClaim(env.namespace, "db-0", "volume-db-0", map[string]string{"app": "db"})
		claim.Annotations = map[string]string{provisioner: env.namespace + ".example.com"}
		put(ago(time.Minute), claim)
		Expect(fields(env.succeeds("coverage"), "db-0")[1]).To(Equal("Skipped"), "an administrator sees that no class belongs to the driver")
		tenant := env.tenant()
		const unknown = "whether it can be snapshotted is unknown without permission to list VolumeSnapshotClasses"
		r := env.runWith(tenant, "", "coverage", "--fail-on-gaps")
		Expect(r.code).To(BeZero(), r.errOut)
		Expect(fields(r.out, "db-0")[1]).To(Equal("Unknown"))
		Expect(r.out).To(ContainSubstring(unknown))
		Expect(env.runWith(tenant, "", "status").out).To(ContainSubstring(unknown))
	})

	It("that the operator may not read are a gap, whatever the user reads", func() {
		env := newEnvironment()
		s, claim := env.createSchedule("nightly", oneDriver()), env.createClaim("db-0", "app", "db")
		claim.Annotations = map[string]string{provisioner: env.namespace + ".example.com"}
		put(time.Time{}, claim)
		class := &snapshotv1.VolumeSnapshotClass{
			ObjectMeta: metav1.ObjectMeta{
				Name: env.namespace, Annotations: map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"},
			},
			Driver: env.namespace + ".example.com", DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
		}
		Expect(api.Create(ctx, class)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, class)).To(Succeed()) })
		env.createSnapshots(s, claim, 6*time.Hour, 2)
		Expect(env.run("coverage", "--fail-on-gaps").code).To(BeZero(), "the operator has not reported anything")

		s = get(s)
		s.Status.ObservedGeneration = s.Generation
		s.Status.Problems = []v1alpha1.Problem{{
			PersistentVolumeClaim: "db-0", Reason: v1alpha1.ReasonWrongSnapshotClass, Message: "the operator may not", SinceTime: metav1.Now(),
		}}
		Expect(api.Status().Update(ctx, s)).To(Succeed())
		const reported = "WrongSnapshotClass: the operator may not"
		Expect(env.succeeds("status")).To(ContainSubstring(reported))
		r := env.run("coverage", "--fail-on-gaps")
		Expect(r.code).To(Equal(1))
		Expect(strings.Fields(r.out)).To(ContainElement("Unprotected"))
		Expect(r.out).To(ContainSubstring("nightly: " + reported))
		Expect(env.run("snapshot", "nightly")).To(Equal(result{0, "snapshotschedule.snapshots.mapcontroller.dev/nightly requested 1 snapshot\n",
			"Warning: SnapshotSchedule nightly reports of PersistentVolumeClaim db-0: " + reported + "\n"}))
	})
})
