// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// taking is a row of the table in docs/contribute/guardrails.md: who changes what makes a schedule the child of a ClusterSnapshotSchedule.
type taking struct {
	user       string
	annotation string
	// changed are fields of the metadata.
	changed map[string]any
	want    string
}

func takings() map[string]taking {
	labels := func(key string, value any) map[string]any {
		return map[string]any{"labels": map[string]any{key: value}}
	}
	uncontrolled := fleetReference(ptr.To(false))
	owner := map[string]any{"ownerReferences": nil}
	return map[string]taking{
		"the removal of a child's controllerRef to its ClusterSnapshotSchedule": {user: editor, changed: owner, want: refused},
		"the same, of a cluster administrator":                                  {changed: owner, want: refused},
		"the same, of a ServiceAccount with all permissions":                    {user: gitops, changed: owner, want: refused},
		"the same, with the annotation, of a user who may delete the schedule":  {annotation: "true", changed: owner, want: allowed},
		"the same, with the annotation, of a user who may not delete it":        {user: editor, annotation: "true", changed: owner, want: refused},
		"the same, of the operator":                                             {user: operator, changed: owner, want: allowed},
		"the same, of the garbage collector, because of `--cascade=orphan`":     {user: garbageCollector, changed: owner, want: allowed},
		"`controller: false` in a child's reference to its ClusterSnapshotSchedule": {
			user: editor, changed: map[string]any{"ownerReferences": []metav1.OwnerReference{uncontrolled}}, want: refused},
		"the removal of a child's label `map-key`":   {user: editor, changed: labels(v1alpha1.LabelMapKey, nil), want: refused},
		"another value of a child's label `map-key`": {user: editor, changed: labels(v1alpha1.LabelMapKey, "other"), want: refused},
		"the removal of a child's label `cluster-schedule`": {
			user: editor, changed: labels(v1alpha1.LabelClusterSchedule, nil), want: refused},
		"another label of a child": {user: editor, changed: labels("a", "b"), want: allowed},
	}
}

// expect tries the change on a child, and compares the answer.
func (o taking) expect() {
	GinkgoHelper()
	s := newSchedule(newNamespace())
	s.Name, s.GenerateName = "nightly", ""
	s.Labels = map[string]string{v1alpha1.LabelMapKey: s.Namespace, v1alpha1.LabelClusterSchedule: "gold"}
	s.OwnerReferences = []metav1.OwnerReference{fleetReference(ptr.To(true))}
	Expect(confined(operator).Create(ctx, s)).To(Succeed())
	changed := map[string]any{}
	maps.Copy(changed, o.changed)
	if o.annotation != "" {
		changed["annotations"] = map[string]any{v1alpha1.AnnotationAllowDeletion: o.annotation}
	}
	err := owning{user: o.user}.client().Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(metadata(changed))))
	expectAnswer(o.want, err, "taking the owner reference or the labels map-key and cluster-schedule off ", s.Name)
}
