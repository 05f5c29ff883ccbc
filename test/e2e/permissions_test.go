// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"slices"
	"strings"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// unused are the permissions that these specs need not use, with the reason why they are granted.
var unused = map[string]string{
	// The admission plugin OwnerReferencesPermissionEnforcement would refuse every create.
	"update snapshotschedules/finalizers.snapshots.mapcontroller.dev":        "whoever sets blockOwnerDeletion needs it",
	"update clustersnapshotschedules/finalizers.snapshots.mapcontroller.dev": "as for snapshotschedules",
	"patch clustersnapshotschedules.snapshots.mapcontroller.dev":             "reserved for a finalizer: today it has none",
	"patch events.events.k8s.io":                                             "for an event that recurs before the schedule changes",
}

// granted returns the permissions that config/default grants to the operator.
func granted(ctx SpecContext) map[string]bool {
	shipped, err := repo.Shipped(ctx, root)
	Expect(err).NotTo(HaveOccurred())
	rules, found := map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	for _, o := range shipped {
		role := &rbacv1.ClusterRole{}
		if strings.HasSuffix(o.GetKind(), "Role") {
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role)).To(Succeed())
			rules[o.GetKind()+" "+o.GetName()] = role.Rules
		}
	}
	for _, o := range shipped {
		binding := &rbacv1.ClusterRoleBinding{}
		if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
			continue
		}
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, binding)).To(Succeed())
		for _, r := range rules[binding.RoleRef.Kind+" "+binding.RoleRef.Name] {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						found[permission(verb, resource, group)] = true
					}
				}
			}
		}
	}
	return found
}

func permission(verb, resource, group string) string {
	return strings.TrimSuffix(verb+" "+resource+"."+group, ".")
}

// Whether a permission is used is known after all specs only.
var _ = ReportAfterSuite("unused permissions", func(ctx SpecContext, report Report) {
	all := report.PreRunStats.TotalSpecs == report.PreRunStats.SpecsThatWillRun
	if !report.SuiteSucceeded || !all || cluster == nil {
		return
	}
	permissions := granted(ctx)
	Expect(slices.Collect(maps.Keys(permissions))).To(ContainElements(slices.Collect(maps.Keys(unused))))
	for _, r := range cluster.Since(suiteStart) {
		delete(permissions, permission(r.Verb, r.Resource, r.Group))
	}
	ofGroups := "." + groupv1.SchemeGroupVersion.Group
	maps.DeleteFunc(permissions, func(p string, _ bool) bool { return unused[p] != "" || strings.HasSuffix(p, ofGroups) && !hasGroups() })
	Expect(permissions).To(BeEmpty(), "the shipped roles grant permissions that no request uses")
})
