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

// roleFiles are the shipped roles.
var roleFiles = []string{"role.yaml", "fleet_role.yaml", "leader_election_role.yaml", "metrics_auth_role.yaml"}

// shippedRules are read once, from the source tree of the working directory.
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
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		folder := filepath.Join(dir, "config", "rbac")
		if _, err := os.Stat(filepath.Join(folder, roleFiles[0])); err == nil {
			return folder, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no config/rbac/role.yaml found: run inside the source tree")
		}
	}
	return "", err
}

// S6: no request is outside the shipped roles, and none was refused for lack of one.
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
			why = "was refused for lack of a role"
		case !granted(rules, r):
			why = "is outside the shipped roles"
		default:
			continue
		}
		found = append(found, requestViolation("S6", h, i, why))
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

// isDiscovery returns whether every account may send a request (system:discovery).
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
