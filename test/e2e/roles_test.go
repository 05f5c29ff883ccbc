// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("the built-in roles", func() {
	// reads and writes are what a user may do with schedules.
	reads, writes := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete", "deletecollection"}

	It("let admin manage schedules, and edit and view read them only, until edit is widened as SECURITY.md says", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "roles")
		for _, role := range []string{"admin", "edit", "view"} {
			Expect(cluster.Client.Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "has-" + role}},
			})).To(Succeed())
		}
		// allowed returns which of the verbs a user may use on schedules.
		allowed := func(role string, verbs ...string) func(Gomega) []string {
			return func(g Gomega) []string {
				may := []string{}
				for _, verb := range verbs {
					review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
						User: "has-" + role,
						ResourceAttributes: &authorizationv1.ResourceAttributes{
							Namespace: namespace, Verb: verb, Group: v1alpha1.GroupName, Resource: "snapshotschedules",
						},
					}}
					g.Expect(cluster.Client.Create(ctx, review)).To(Succeed())
					if review.Status.Allowed {
						may = append(may, verb)
					}
				}
				return may
			}
		}

		// The controller that aggregates roles has seen ours once these permissions are there.
		all := append(append([]string{}, reads...), writes...)
		Eventually(allowed("admin", all...)).WithContext(ctx).Should(Equal(all))
		Eventually(allowed("view", all...)).WithContext(ctx).Should(Equal(reads))
		Eventually(allowed("edit", reads...)).WithContext(ctx).Should(Equal(reads))
		Expect(allowed("edit", writes...)(Default)).To(BeEmpty())

		const editor, label = "snapshotschedule-snapshotschedule-editor-role", "rbac.authorization.k8s.io/aggregate-to-edit"
		setLabel := func(change string) {
			out, err := cluster.Kubectl(nil, "label", "clusterrole", editor, change)
			Expect(err).NotTo(HaveOccurred(), out)
		}
		setLabel(label + "=true")
		DeferCleanup(func() { setLabel(label + "-") })
		Eventually(allowed("edit", "create", "delete")).WithContext(ctx).Should(Equal([]string{"create", "delete"}))
	})
})
