// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// completeStatus has every field of a SnapshotSchedule's status.
func completeStatus() map[string]any { return parseYAML(testdata(schedule))["status"].(map[string]any) }

// conditions returns n conditions in YAML.
func conditions(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{type: Type%d, status: "True", reason: Any, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}`, i))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// unobserved is the status of a schedule that the operator has not seen yet. Without it, kstatus takes a new schedule for a ready one.
var unobserved = map[string]any{"observedGeneration": int64(-1)}

var _ = Describe("Status", func() {
	setInterval := func(object *unstructured.Unstructured, value string) {
		GinkgoHelper()
		Expect(unstructured.SetNestedField(object.Object, value, "spec", "snapshotInterval")).To(Succeed())
	}

	It("is a subresource: a write of the spec does not change it, and the reverse", func() {
		complete := completeStatus()
		object := create("status", "{snapshotInterval: 6h}")

		By("updating the object with a status")
		object.Object["status"] = completeStatus()
		Expect(api.Update(ctx, object)).To(Succeed())
		Expect(object.Object).To(HaveKeyWithValue("status", unobserved))

		By("patching the status")
		Expect(patchStatus(object, complete)).To(Succeed())
		Expect(object.Object).To(HaveKeyWithValue("status", complete))
		Expect(object.GetGeneration()).To(BeEquivalentTo(1))

		By("updating the status with another spec")
		setInterval(object, "12h")
		Expect(api.Status().Update(ctx, object)).To(Succeed())
		Expect(object.Object["spec"]).To(HaveKeyWithValue("snapshotInterval", "6h"))

		By("updating the spec without a status")
		setInterval(object, "12h")
		delete(object.Object, "status")
		Expect(api.Update(ctx, object)).To(Succeed())
		Expect(object.GetGeneration()).To(BeEquivalentTo(2))
		Expect(object.Object).To(HaveKeyWithValue("status", complete))
	})

	// Contract: STAT-9.
	It("says that the operator has observed no generation yet, also if it was written without one", func() {
		object := create("new", "{snapshotInterval: 6h}")
		Expect(object.Object).To(HaveKeyWithValue("status", unobserved))
		Expect(patchStatus(object, map[string]any{"moreProblems": 3})).To(Succeed())
		Expect(object.Object).To(HaveKeyWithValue("status", map[string]any{"observedGeneration": int64(-1), "moreProblems": int64(3)}))
	})

	It("is rejected with two conditions of one type", func() {
		object := create("conditions", "{snapshotInterval: 6h}")
		twice := strings.ReplaceAll(conditions(2), "Type1", "Type0")
		Expect(patchStatus(object, parseYAML("{conditions: "+twice+"}"))).To(MatchError(ContainSubstring("Duplicate value")))
	})
})
