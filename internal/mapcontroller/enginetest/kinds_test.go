// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

var groupVersion = schema.GroupVersion{Group: "enginetest.mapcontroller.dev", Version: "v1"}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		panic(err)
	}
	s.AddKnownTypes(groupVersion, &Bucket{}, &BucketList{}, &Widget{}, &WidgetList{}, &Gadget{}, &GadgetList{})
	metav1.AddToGroupVersion(s, groupVersion)
	return s
}

// Bucket is the parent.
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BucketSpec   `json:"spec,omitempty"`
	Status            BucketStatus `json:"status,omitempty"`
}

type BucketSpec struct {
	Selector metav1.LabelSelector `json:"selector,omitempty"`
	// Color is copied into the outputs.
	Color string `json:"color,omitempty"`
	// Invalid makes the spec invalid.
	Invalid bool `json:"invalid,omitempty"`
}

type BucketStatus struct {
	ObservedGeneration int64                     `json:"observedGeneration,omitempty"`
	Inputs             map[string]int            `json:"inputs,omitempty"`
	Outputs            map[string]map[string]int `json:"outputs,omitempty"`
	DetachedKeys       int                       `json:"detachedKeys,omitempty"`
	Missing            []string                  `json:"missing,omitempty"`
	Invalid            string                    `json:"invalid,omitempty"`
	Paused             int                       `json:"paused,omitempty"`
}

type BucketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Bucket `json:"items"`
}

// Widget is an output with conditions.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec,omitempty"`
	Status            WidgetStatus `json:"status,omitempty"`
}

type WidgetSpec struct {
	Color string `json:"color,omitempty"`
}

type WidgetStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

// Gadget is a kind whose CRD is not installed at first.
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gadget `json:"items"`
}

func (b *Bucket) DeepCopyObject() runtime.Object     { return deepCopy(b) }
func (b *BucketList) DeepCopyObject() runtime.Object { return deepCopy(b) }
func (w *Widget) DeepCopyObject() runtime.Object     { return deepCopy(w) }
func (w *WidgetList) DeepCopyObject() runtime.Object { return deepCopy(w) }
func (g *Gadget) DeepCopyObject() runtime.Object     { return deepCopy(g) }
func (g *GadgetList) DeepCopyObject() runtime.Object { return deepCopy(g) }

func deepCopy[T any](in *T) *T {
	content, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(content, out); err != nil {
		panic(err)
	}
	return out
}
