// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/diff"
)

func TestSecurityPageListsTheGrantedPermissions(t *testing.T) {
	granted := map[string][]string{}
	rendered := render(t, "config/default")
	for _, o := range rendered {
		if !slices.Contains(managerRoles, strings.TrimPrefix(o.GetName(), "snapshotschedule-")) {
			continue
		}
		role := as[rbacv1.ClusterRole](t, o)
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					key := strings.TrimSuffix(resource+"."+group, ".")
					for _, verb := range rule.Verbs {
						if slices.Contains(granted[key], verb) {
							t.Errorf("%s %s is granted twice", verb, key)
						}
					}
					granted[key] = slices.Sorted(slices.Values(append(granted[key], rule.Verbs...)))
				}
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	published := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([a-z, ]+) \\|").FindAllStringSubmatch(string(text), -1) {
		verbs := append(published[row[1]], strings.Split(row[2], ", ")...)
		published[row[1]] = slices.Sorted(slices.Values(verbs))
	}
	if !reflect.DeepEqual(published, granted) {
		t.Errorf("SECURITY.md and the manifests differ: %s", diff.Diff(granted, published))
	}
}

// managerRoles are the roles of the operator's ServiceAccount.
var managerRoles = []string{"fleet-manager-role", "leader-election-role", "manager-role", "metrics-auth-role"}

func TestManagerIsBoundToItsRolesOnly(t *testing.T) {
	bound := map[string]bool{}
	for _, o := range render(t, "config/default") {
		if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
			continue
		}
		binding := as[rbacv1.ClusterRoleBinding](t, o)
		for _, subject := range binding.Subjects {
			if subject.Name != "snapshotschedule-controller-manager" || subject.Kind != "ServiceAccount" {
				t.Errorf("%s binds %v", o.GetName(), subject)
			}
		}
		bound[strings.TrimPrefix(binding.RoleRef.Name, "snapshotschedule-")] = true
	}
	if got := slices.Sorted(maps.Keys(bound)); !slices.Equal(got, managerRoles) {
		t.Errorf("the operator is bound to %q, want %q", got, managerRoles)
	}
}
