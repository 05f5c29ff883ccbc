// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

// unused are the permissions that these specs need not use, with the reason why they are granted.
var unused = map[string]string{
	"update snapshotschedules/finalizers.snapshots.mapcontroller.dev":        "admission requires it: see the spec below",
	"update clustersnapshotschedules/finalizers.snapshots.mapcontroller.dev": "as for snapshotschedules",
	"patch clustersnapshotschedules.snapshots.mapcontroller.dev":             "reserved for a finalizer: today it has none",
	"patch events.events.k8s.io":                                             "client-go's recorder patches an event that recurs before the schedule changes",
}

var _ = Describe("permissions", func() {
	// The admission plugin OwnerReferencesPermissionEnforcement requires permission to update the owner's
	// finalizers from whoever sets blockOwnerDeletion.
	It("include snapshotschedules/finalizers because admission requires it", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "finalizers")
		cluster.BoundClaims(ctx, namespace, 1)
		cluster.Schedule(ctx, namespace, hourly)
		cluster.Start(ctx)
		taken := eventuallySnapshots(ctx, namespace, 1)[0]
		Expect(taken.OwnerReferences).To(HaveExactElements(HaveField("BlockOwnerDeletion", HaveValue(BeTrue()))))

		again := taken.DeepCopy()
		again.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: "again", OwnerReferences: taken.OwnerReferences}
		err := withoutResource(ctx, "snapshotschedules/finalizers").Create(ctx, again)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "got %v", err)
		Expect(err).To(MatchError(ContainSubstring("blockOwnerDeletion")))
	})
})

// withoutResource returns a client of a user with the permissions of the operator, except those for one resource.
func withoutResource(ctx context.Context, resource string) client.Client {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "snapshotschedule-manager-role"}}
	rules := harness.Get(ctx, cluster, role).Rules
	left := slices.DeleteFunc(slices.Clone(rules), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, resource) })
	ExpectWithOffset(1, left).To(HaveLen(len(rules)-1), "the role should have one rule for %s", resource)
	lesser := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "lesser-"}, Rules: left}
	ExpectWithOffset(1, cluster.Client.Create(ctx, lesser)).To(Succeed())
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: lesser.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: lesser.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: lesser.Name}},
	}
	ExpectWithOffset(1, cluster.Client.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(cluster.Client.Delete(ctx, binding)).To(Succeed())
		Expect(cluster.Client.Delete(ctx, lesser)).To(Succeed())
	})
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate.UserName = lesser.Name
	c, err := client.New(config, client.Options{Scheme: harness.Scheme})
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return c
}

// granted returns the permissions that config/default grants to the operator.
func granted() (all []string) {
	rules := map[string][]rbacv1.PolicyRule{}
	var bound []string
	for _, o := range harness.Decode(harness.Kustomize("config/default")) {
		switch o.GetKind() {
		case "ClusterRole", "Role":
			role := &rbacv1.ClusterRole{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role)).To(Succeed())
			rules[o.GetKind()+" "+o.GetName()] = role.Rules
		case "ClusterRoleBinding", "RoleBinding":
			binding := &rbacv1.ClusterRoleBinding{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, binding)).To(Succeed())
			Expect(binding.Subjects).To(HaveExactElements(HaveField("Name", harness.ServiceAccount)))
			bound = append(bound, binding.RoleRef.Kind+" "+binding.RoleRef.Name)
		}
	}
	for _, role := range bound {
		Expect(rules).To(HaveKey(role))
		for _, r := range rules[role] {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						all = append(all, permission(verb, resource, group))
					}
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func permission(verb, resource, group string) string {
	return strings.TrimSuffix(verb+" "+resource+"."+group, ".")
}

// Whether a permission is used is known after all specs only.
var _ = ReportAfterSuite("unused permissions", func(report Report) {
	all := report.PreRunStats.TotalSpecs == report.PreRunStats.SpecsThatWillRun
	if !report.SuiteSucceeded || !all || cluster == nil {
		return
	}
	used := map[string]int{}
	for _, r := range cluster.Audit.Since(suiteStart) {
		used[permission(r.Verb, r.Resource, r.Group)]++
	}
	permissions := granted()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\nPERMISSION\tREQUESTS")
	var neverUsed []string
	for _, p := range permissions {
		uses := fmt.Sprint(used[p])
		if reason, known := unused[p]; known {
			uses += ", " + reason
		} else if used[p] == 0 {
			neverUsed = append(neverUsed, p)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\n", p, uses)
	}
	Expect(table.Flush()).To(Succeed())
	Expect(neverUsed).To(BeEmpty(), "the shipped roles grant permissions that no request uses")
	Expect(permissions).To(ContainElements(slices.Collect(maps.Keys(unused))))
})
