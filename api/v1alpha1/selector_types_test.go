// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestSelectorMatchesAsKubernetesDoes(t *testing.T) {
	expression := func(operator metav1.LabelSelectorOperator, values ...LabelValue) LabelSelector {
		return LabelSelector{MatchExpressions: []LabelSelectorRequirement{{Key: "tier", Operator: operator, Values: values}}}
	}
	gold, silver, none := labels.Set{"tier": "gold"}, labels.Set{"tier": "silver"}, labels.Set{"app": "shop"}
	tests := map[string]struct {
		selector LabelSelector
		// want says whether gold, silver and none are selected.
		want [3]bool
	}{
		"an empty selector":         {LabelSelector{}, [3]bool{true, true, true}},
		"a label":                   {LabelSelector{MatchLabels: map[string]LabelValue{"tier": "gold"}}, [3]bool{true, false, false}},
		"one of two values":         {expression(metav1.LabelSelectorOpIn, "bronze", "silver"), [3]bool{false, true, false}},
		"none of two values":        {expression(metav1.LabelSelectorOpNotIn, "bronze", "silver"), [3]bool{true, false, true}},
		"the presence of a label":   {expression(metav1.LabelSelectorOpExists), [3]bool{true, true, false}},
		"the absence of a label":    {expression(metav1.LabelSelectorOpDoesNotExist), [3]bool{false, false, true}},
		"a label and an expression": {withLabel(expression(metav1.LabelSelectorOpExists), "tier", "silver"), [3]bool{false, true, false}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			selector, err := tc.selector.AsSelector()
			if err != nil {
				t.Fatal(err)
			}
			if got := [3]bool{selector.Matches(gold), selector.Matches(silver), selector.Matches(none)}; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	invalid := expression("Like", "gold")
	if selector, err := invalid.AsSelector(); err == nil {
		t.Errorf("an unknown operator gives %v", selector)
	}
}

func withLabel(s LabelSelector, key string, value LabelValue) LabelSelector {
	s.MatchLabels = map[string]LabelValue{key: value}
	return s
}
