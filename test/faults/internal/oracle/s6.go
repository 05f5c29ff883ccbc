// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// roleFiles are the roles that the operator is shipped with.
var roleFiles = []string{"role.yaml", "leader_election_role.yaml", "metrics_auth_role.yaml"}

// shippedRules are read once, from the source tree that the program runs in.
var shippedRules = sync.OnceValues(func() ([]rbacv1.PolicyRule, error) {
	folder, err := rbacFolder()
	if err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	for _, name := range roleFiles {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := yaml.UnmarshalStrict(text, &role); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(role.Rules) == 0 {
			return nil, fmt.Errorf("%s holds no rules", name)
		}
		rules = append(rules, role.Rules...)
	}
	return rules, nil
})

func rbacFolder() (string, error) {
	at, err := os.Getwd()
	for ; err == nil; at = filepath.Dir(at) {
		folder := filepath.Join(at, "config", "rbac")
		if _, err := os.Stat(filepath.Join(folder, roleFiles[0])); err == nil {
			return folder, nil
		}
		if at == filepath.Dir(at) {
			return "", errors.New("found no config/rbac/role.yaml: run it inside the source tree")
		}
	}
	return "", err
}

// S6: no request goes beyond the roles that are shipped, and none was refused
// for want of one.
func S6(h *history.History) []Violation {
	rules, err := shippedRules()
	if err != nil {
		return []Violation{{Oracle: "S6", At: h.Began, Change: -1, Request: -1, Message: err.Error()}}
	}
	var found []Violation
	for i := range h.Requests {
		r := &h.Requests[i]
		var why string
		switch {
		case r.Forbidden:
			why = "was refused for want of a role"
		case !granted(rules, r):
			why = "is outside the shipped roles"
		default:
			continue
		}
		found = append(found, Violation{Oracle: "S6", At: r.At, Change: -1, Request: i, Message: fmt.Sprintf(
			"%s %s (group %q) %s/%s %s", r.Verb, r.Resource, r.Group, r.Namespace, r.Name, why)})
	}
	return found
}

func granted(rules []rbacv1.PolicyRule, r *history.Request) bool {
	if r.Resource == "" {
		return isDiscovery(r)
	}
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.APIGroups, r.Group) && slices.Contains(rule.Resources, r.Resource) &&
			slices.Contains(rule.Verbs, r.Verb)
	})
}

// isDiscovery: what every account may ask (system:discovery).
func isDiscovery(r *history.Request) bool {
	if r.Verb != "get" && !strings.EqualFold(r.Verb, http.MethodGet) {
		return false
	}
	path := strings.TrimSuffix(r.Name, "/")
	for _, root := range []string{"/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}
