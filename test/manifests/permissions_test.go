// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/diff"

	"mapcontroller.dev/snapshotschedule/internal/snapshots"
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
	published := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([a-z, ]+) \\|").FindAllStringSubmatch(read(t, "SECURITY.md"), -1) {
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

// In a namespace that the operator watches, the built-in role edit may impersonate its ServiceAccount, and so delete snapshots. So the
// operator has no permissions in its own namespace but those for leader election, and its account has none that a tenant could use.
func TestNamespacedOperatorHasNoPermissionOnSnapshotsInItsOwnNamespace(t *testing.T) {
	roles := 0
	for _, o := range render(t, "config/namespaced") {
		if o.GetNamespace() != "snapshotschedule" {
			t.Errorf("%s %s is in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
		}
		if o.GetKind() != "Role" {
			continue
		}
		roles++
		for _, rule := range as[rbacv1.Role](t, o).Rules {
			if len(rule.Resources) != 1 || !slices.Contains([]string{"leases", "events"}, rule.Resources[0]) {
				t.Errorf("%s grants %v", o.GetName(), rule)
			}
		}
	}
	if roles != 1 {
		t.Errorf("%d Roles", roles)
	}
	// The operator must not start to work in its own namespace because nobody said where to.
	for _, arg := range deployment(t, "config/namespaced").Spec.Template.Spec.Containers[0].Args {
		if strings.HasPrefix(arg, "--watch-namespaces") {
			t.Errorf("the Deployment has %s", arg)
		}
	}
}

// kubectl sets the namespace with -n.
func TestWatchedNamespaceGrantsItsRoleToTheNamespacedOperator(t *testing.T) {
	var kinds []string
	for _, o := range render(t, "config/namespaced/watched") {
		kinds = append(kinds, o.GetKind())
		if o.GetNamespace() != "" {
			t.Errorf("%s is in namespace %s", o.GetName(), o.GetNamespace())
		}
		if o.GetKind() != "RoleBinding" {
			continue
		}
		binding := as[rbacv1.RoleBinding](t, o)
		account := deployment(t, "config/namespaced")
		want := []rbacv1.Subject{{
			Kind: rbacv1.ServiceAccountKind, Name: account.Spec.Template.Spec.ServiceAccountName, Namespace: account.Namespace,
		}}
		if !reflect.DeepEqual(binding.Subjects, want) {
			t.Errorf("bound to %v, want %v", binding.Subjects, want)
		}
	}
	if slices.Sort(kinds); !slices.Equal(kinds, []string{"Role", "RoleBinding"}) {
		t.Errorf("kinds %q", kinds)
	}
}

// Other controllers may have their leases in the same namespace.
func TestOnlyTheOwnLeaseCanBeChanged(t *testing.T) {
	verbs := map[string][]string{}
	for _, o := range render(t, "config/default") {
		if o.GetKind() != "Role" {
			continue
		}
		for _, rule := range as[rbacv1.Role](t, o).Rules {
			if slices.Contains(rule.Resources, "leases") {
				name := strings.Join(rule.ResourceNames, ",")
				verbs[name] = append(verbs[name], rule.Verbs...)
			}
		}
	}
	if want := map[string][]string{snapshots.LeaseName: {"get", "update"}, "": {"create"}}; !reflect.DeepEqual(verbs, want) {
		t.Errorf("the verbs by lease are %q, want %q", verbs, want)
	}
}

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
