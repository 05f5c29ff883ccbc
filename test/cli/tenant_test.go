// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// may returns the kubeconfig of a new user who has permissions in this namespace, and none outside. The API server knows them once a
// command succeeds.
func (env *environment) may(name string, rules []rbacv1.PolicyRule, succeeds ...string) string {
	GinkgoHelper()
	user := name + "-" + env.namespace
	env.bind(name, user, rules)
	file := writeKubeconfig(GinkgoT().TempDir(), user)
	Eventually(func() int { return env.as(file).run(succeeds...).code }).Should(BeZero(), "the API server knows the binding")
	return file
}

// bind gives a user permissions in this namespace.
func (env *environment) bind(name, user string, rules []rbacv1.PolicyRule) {
	GinkgoHelper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name}, Rules: rules}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	Expect(api.Create(ctx, role)).To(Succeed())
	Expect(api.Create(ctx, binding)).To(Succeed())
}

// mayInCluster gives the user of the same name permissions in the whole cluster.
func (env *environment) mayInCluster(name string, rules []rbacv1.PolicyRule) {
	GinkgoHelper()
	user := name + "-" + env.namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	for _, o := range []client.Object{role, binding} {
		Expect(api.Create(ctx, o)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, o)).To(Succeed()) })
	}
}

var _ = Describe("VolumeSnapshotClasses", func() {
	It("that the user may not read are assumed to exist, and the user is told once if that matters", func() {
		env := newEnvironment()
		spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}
		spec.SnapshotTemplate.Spec.VolumeSnapshotClassNames = []v1alpha1.SnapshotClassName{"fast"}
		s, claim := env.createSchedule("nightly", spec), env.createClaim("db-0")
		claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
		put(time.Time{}, claim)
		newest := env.createSnapshots(s, claim, 6*time.Hour, 2)[0]
		everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
		tenant := env.may("tenant", everything, "status")
		const told = "Warning: you may not list VolumeSnapshotClasses: assuming that the operator finds one for each PVC\n"
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
			r := env.as(tenant).runWith(test.input, test.args...)
			Expect(r.code).To(BeZero(), r.errOut)
			if test.args[0] == "status" || test.args[0] == "coverage" { // of each PVC they say what is unknown
				Expect(r.errOut).To(BeEmpty())
			} else {
				Expect(r.errOut).To(Equal(told))
			}
			Expect(r.out).To(ContainSubstring(test.want))
			Expect(r.out).NotTo(ContainSubstring(v1alpha1.ReasonWrongSnapshotClass))
		}
	})
})
