// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Whoever may create objects can name any owner and set any label.
func TestChildrenAreThoseThatWereMade(t *testing.T) {
	output := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "out", UID: "out-uid"}}
	children := plan.Children{Object: &corev1.Secret{}, Label: "of", Made: func(_, o client.Object) bool { return o.(*corev1.Secret).Type == "made" }}
	child := func(namespace, label string, owner client.Object, kind corev1.SecretType) client.Object {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: map[string]string{"of": label}}, Type: kind}
		s.OwnerReferences = []metav1.OwnerReference{{Name: owner.GetName(), UID: owner.GetUID()}}
		return s
	}
	for name, tc := range map[string]struct {
		child            client.Object
		wantIs, includes bool
	}{
		"one":                  {child("shop", "out", output, "made"), true, true},
		"without the label":    {child("shop", "", output, "made"), false, true},
		"created by others":    {child("shop", "out", output, "other"), false, false},
		"of another output":    {child("shop", "out", &corev1.ConfigMap{}, "made"), false, false},
		"in another namespace": {child("other", "out", output, "made"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(children.Of(output, []client.Object{tc.child})) == 1; got != tc.wantIs {
				t.Errorf("Of: %t", got)
			}
			if got := children.Includes(output, tc.child); got != tc.includes {
				t.Errorf("Includes: %t", got)
			}
		})
	}
}
