// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// creationPolicies returns the policies about who may create a snapshot that a schedule adopts, and their bindings.
func creationPolicies(t *testing.T, objects []*unstructured.Unstructured) (
	policies []*admissionv1.ValidatingAdmissionPolicy, bindings []*admissionv1.ValidatingAdmissionPolicyBinding,
) {
	t.Helper()
	for _, o := range objects {
		switch {
		case !strings.Contains(o.GetName(), "snapshot-creation"):
		case o.GetKind() == "ValidatingAdmissionPolicy":
			policies = append(policies, as[admissionv1.ValidatingAdmissionPolicy](t, o))
		case o.GetKind() == "ValidatingAdmissionPolicyBinding":
			bindings = append(bindings, as[admissionv1.ValidatingAdmissionPolicyBinding](t, o))
		}
	}
	return policies, bindings
}

// Contract: OWN-9.
func TestTheDefaultInstallationLimitsWhoCreatesSnapshotsOfASchedule(t *testing.T) {
	dir := t.TempDir()
	_, without, found := strings.Cut(read(t, "docs/run/guardrails.md"), "add this patch to the overlay")
	_, without, begins := strings.Cut(without, "```yaml\n")
	without, _, ends := strings.Cut(without, "```\n")
	if !found || !begins || !ends {
		t.Fatal("docs/run/guardrails.md shows no patch")
	}
	overlay(t, dir, "without", "resources: [%s]\ncomponents: [%s]\n"+without, "config/default", "config/guardrails")
	overlay(t, dir, "mine", "namePrefix: team-\nresources: [%s]\ncomponents: [%s]\n", "config/default", "config/guardrails")
	for name, test := range map[string]struct {
		objects []*unstructured.Unstructured
		policy  string
	}{
		"config/default":                          {render(t, "config/default"), "snapshotschedule-snapshot-creation"},
		"an overlay with the guardrails":          {build(t, filepath.Join(dir, "mine")), "team-snapshotschedule-snapshot-creation"},
		"the addition to config/namespaced":       {render(t, "config/namespaced/admission"), "snapshotschedule-snapshot-creation"},
		"an overlay with the patch of the page":   {build(t, filepath.Join(dir, "without")), ""},
		"config/namespaced, which has Roles only": {render(t, "config/namespaced"), ""},
		"the guardrails, which do not repeat it":  {build(t, "config/guardrails"), ""},
	} {
		policies, bindings := creationPolicies(t, test.objects)
		if test.policy == "" {
			if len(policies)+len(bindings) != 0 {
				t.Errorf("%s: %d policies and %d bindings", name, len(policies), len(bindings))
			}
			continue
		}
		if len(policies) != 1 || len(bindings) != 1 {
			t.Fatalf("%s: %d policies and %d bindings", name, len(policies), len(bindings))
		}
		if got := policies[0]; got.Name != test.policy || got.Namespace != "" || *got.Spec.FailurePolicy != admissionv1.Fail {
			t.Errorf("%s: %s in namespace %q with failure policy %s", name, got.Name, got.Namespace, *got.Spec.FailurePolicy)
		}
		deny := []admissionv1.ValidationAction{admissionv1.Deny}
		if got := bindings[0]; got.Spec.PolicyName != test.policy || got.Namespace != "" || !slices.Equal(got.Spec.ValidationActions, deny) {
			t.Errorf("%s: the binding is in namespace %q: %+v", name, got.Namespace, got.Spec)
		}
	}
	shipped, _ := creationPolicies(t, render(t, "config/default"))
	added, _ := creationPolicies(t, render(t, "config/namespaced/admission"))
	if !reflect.DeepEqual(shipped, added) {
		t.Errorf("config/default has %+v and config/namespaced/admission %+v", shipped, added)
	}
}
