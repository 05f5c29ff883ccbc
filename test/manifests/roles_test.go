// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"maps"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Whoever can create a schedule can have snapshots deleted: a new schedule adopts what an earlier one of its name left, and expires it.
// Without these roles, the built-in role edit has no permission on VolumeSnapshots at all.
func TestOnlyAdminGainsPermissionToDelete(t *testing.T) {
	readOnly := []string{"get", "list", "watch"}
	gains := map[string]map[string]bool{}
	for _, o := range render(t, "config/default") {
		for label, value := range o.GetLabels() {
			builtin, ok := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-")
			if !ok || value != "true" {
				continue
			}
			role := as[rbacv1.ClusterRole](t, o)
			if gains[builtin] == nil {
				gains[builtin] = map[string]bool{}
			}
			for _, rule := range role.Rules {
				for _, verb := range rule.Verbs {
					gains[builtin][verb] = true
				}
			}
		}
	}
	if !gains["admin"]["*"] {
		t.Errorf("admin gains only %v", gains["admin"])
	}
	if got := slices.Sorted(maps.Keys(gains["view"])); !slices.Equal(got, readOnly) {
		t.Errorf("view gains %q, want %q", got, readOnly)
	}
	delete(gains, "admin")
	delete(gains, "view")
	// What view gains, edit and admin have too.
	if len(gains) > 0 {
		t.Errorf("other roles gain %v", gains)
	}
}
