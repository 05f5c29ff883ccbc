// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fleetRules returns the rules of a role about ClusterSnapshotSchedules.
func fleetRules(t *testing.T, o *unstructured.Unstructured) (found []rbacv1.PolicyRule) {
	t.Helper()
	if !strings.HasSuffix(o.GetKind(), "Role") {
		return nil
	}
	role := as[rbacv1.ClusterRole](t, o)
	for _, rule := range role.Rules {
		if slices.ContainsFunc(rule.Resources, func(r string) bool { return r == "*" || strings.HasPrefix(r, "clustersnapshotschedules") }) {
			found = append(found, rule)
		}
	}
	return found
}

// Contract: FLEET-8.
func TestInstallationsForNamespacesGrantNothingForFleets(t *testing.T) {
	roles := 0
	for _, o := range append(render(t, "config/namespaced"), render(t, "config/namespaced/watched")...) {
		if strings.HasPrefix(o.GetKind(), "ClusterRole") {
			t.Errorf("%s %s is cluster-scoped", o.GetKind(), o.GetName())
		}
		if rules := fleetRules(t, o); len(rules) > 0 {
			t.Errorf("%s grants %v", o.GetName(), rules)
		}
		if o.GetKind() == "Role" {
			roles++
		}
	}
	if roles != 2 {
		t.Errorf("%d roles were rendered, want those of the lease and of a watched namespace", roles)
	}
}

// Whoever can create a ClusterSnapshotSchedule can have snapshots deleted in every namespace.
func TestRolesForFleetsAreNotAggregated(t *testing.T) {
	var names []string
	for _, o := range render(t, "config/default") {
		if len(fleetRules(t, o)) == 0 {
			continue
		}
		names = append(names, strings.TrimPrefix(o.GetName(), "snapshotschedule-"))
		for label := range o.GetLabels() {
			if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") {
				t.Errorf("%s has the label %s", o.GetName(), label)
			}
		}
	}
	slices.Sort(names)
	if want := []string{"fleet-admin-role", "fleet-editor-role", "fleet-manager-role", "fleet-viewer-role"}; !slices.Equal(names, want) {
		t.Errorf("the roles are %q, want %q", names, want)
	}
}
