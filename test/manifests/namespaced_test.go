// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

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
	text, err := os.ReadFile(filepath.Join(root, "cmd", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`LeaderElectionID:\s+"([^"]+)"`).FindSubmatch(text)
	if id == nil {
		t.Fatal("cmd/main.go sets no LeaderElectionID")
	}
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
	if want := map[string][]string{string(id[1]): {"get", "update"}, "": {"create"}}; !reflect.DeepEqual(verbs, want) {
		t.Errorf("the verbs by lease are %q, want %q", verbs, want)
	}
}
