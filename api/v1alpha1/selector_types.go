// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// LabelSelector selects objects by their labels, as metav1.LabelSelector does. All its
// requirements must hold; without any, it matches every object. Unlike metav1.LabelSelector it is
// bounded, because the operator keeps every selector in memory.
//
// +structType=atomic
type LabelSelector struct {
	// matchLabels are labels that an object must have, each with the given value. If omitted,
	// none is required. At most 32 labels. Example: {app: my-app}.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.indexOf('/') <= 253 && k.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="every key must be a valid label key, such as app or example.com/tier"
	// +optional
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are further requirements on labels, all of which must hold. If omitted,
	// there are none. At most 16. Example: [{key: tier, operator: In, values: [gold, silver]}].
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelSelectorRequirement is a requirement on one label.
//
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",message="values must not be empty for operator In or NotIn, such as values: [my-app]",fieldPath=".values"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",message="values must be omitted for operator Exists or DoesNotExist, such as {key: app, operator: Exists}",fieldPath=".values"
type LabelSelectorRequirement struct {
	// key is the key of the label. Example: tier.
	//
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self.indexOf('/') <= 253 && self.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$')`,message="must be a valid label key, such as app or example.com/tier"
	// +required
	Key string `json:"key"`

	// operator is what is required of the label. In: it has one of the values. NotIn: it has none
	// of the values, or is absent. Exists: it is present. DoesNotExist: it is absent. Example:
	// In.
	//
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	// +required
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are label values for the operators In and NotIn. They must be omitted for Exists and
	// DoesNotExist. At most 64 values. Example: [gold, silver].
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Values []LabelValue `json:"values,omitempty"`
}

// LabelValue is a valid label value.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule=`size(self) <= 63 && self.matches(r'^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$')`,message="must be a valid label value, such as my-app: at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit"
type LabelValue string

// AsSelector returns the selector as apimachinery evaluates it. An empty one matches everything.
func (s *LabelSelector) AsSelector() (labels.Selector, error) {
	plain := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key, value := range s.MatchLabels {
		plain.MatchLabels[key] = string(value)
	}
	for _, e := range s.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{Key: e.Key, Operator: e.Operator}
		for _, value := range e.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		plain.MatchExpressions = append(plain.MatchExpressions, requirement)
	}
	return metav1.LabelSelectorAsSelector(plain)
}
