// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// completeStatus has every field of a status.
const completeStatus = `
observedGeneration: 1
inputs: {persistentvolumeclaims: {total: 20, skipped: 1}}
outputs: {volumesnapshots: {total: 100, ready: 97}}
detached: {mapKeys: 1, volumesnapshots: 5}
lastSnapshotTime: "2026-01-02T03:04:05Z"
nextSnapshotTime: "2126-01-02T03:04:05Z"
oldestRecoveryPoint: "2026-01-01T00:00:00Z"
problems:
- {persistentVolumeClaim: data-3, reason: CreateFailed, message: exceeded quota, since: "2026-01-02T03:04:05Z"}
- {reason: InvalidRequestedAt, since: "2026-01-02T03:04:05Z"}
moreProblems: 3
conditions:
- {type: RetentionPaused, status: "False", reason: RetentionRunning, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}
- {type: Ready, status: "True", reason: Scheduled, message: 20 PVCs, lastTransitionTime: "2026-01-02T03:04:05Z"}
`

func patchStatus(object client.Object, status map[string]any) error {
	patch, err := (&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": scheduleKind.GroupVersion().String(), "kind": scheduleKind.Kind, "status": status,
	}}).MarshalJSON()
	if err != nil {
		return err
	}
	return api.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// rejectedStatus is a status that the API server must reject for one cause.
type rejectedStatus struct {
	status string
	want   cause
}

func rejectedStatuses() map[string]rejectedStatus {
	problem := `{reason: CreateFailed, since: "2026-01-02T03:04:05Z"}`
	return map[string]rejectedStatus{
		"eleven problems": {"{problems: [" + strings.TrimSuffix(strings.Repeat(problem+", ", 11), ", ") + "]}",
			cause{"status.problems", "must have at most 10 items"}},
		"a problem without a reason": {`{problems: [{since: "2026-01-02T03:04:05Z"}]}`,
			cause{"status.problems[0].reason", required}},
		"a problem with an empty reason": {`{problems: [{reason: "", since: "2026-01-02T03:04:05Z"}]}`,
			cause{"status.problems[0].reason", "should be at least 1 chars long"}},
		"a problem without a time": {`{problems: [{reason: CreateFailed}]}`, cause{"status.problems[0].since", required}},
		"negative moreProblems":    {"{moreProblems: -1}", cause{"status.moreProblems", atLeast0}},
		"inputs without a total": {"{inputs: {persistentvolumeclaims: {}}}",
			cause{"status.inputs.persistentvolumeclaims.total", required}},
		"outputs without a total": {"{outputs: {volumesnapshots: {ready: 1}}}", cause{"status.outputs.volumesnapshots.total", required}},
		"outputs without ready":   {"{outputs: {volumesnapshots: {total: 1}}}", cause{"status.outputs.volumesnapshots.ready", required}},
		"detached without keys":   {"{detached: {volumesnapshots: 1}}", cause{"status.detached.mapKeys", required}},
		"detached without snapshots": {"{detached: {mapKeys: 1}}",
			cause{"status.detached.volumesnapshots", required}},
	}
}

var _ = Describe("Status", func() {
	setInterval := func(object *unstructured.Unstructured, value string) {
		GinkgoHelper()
		Expect(unstructured.SetNestedField(object.Object, value, "spec", "snapshotInterval")).To(Succeed())
	}

	It("is a subresource: a write of the spec does not change it, and the reverse", func() {
		complete := any(parseYAML(completeStatus))
		object := create("status", "{snapshotInterval: 6h}")

		By("updating the object with a status")
		object.Object["status"] = parseYAML(completeStatus)
		Expect(api.Update(ctx, object)).To(Succeed())
		Expect(object.Object).NotTo(HaveKey("status"))

		By("patching the status")
		Expect(patchStatus(object, parseYAML(completeStatus))).To(Succeed())
		Expect(object.Object["status"]).To(Equal(complete))
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
		Expect(object.Object["status"]).To(Equal(complete))
	})

	DescribeTable("is rejected if it is invalid",
		func(r rejectedStatus) {
			object := create("rejected-status", "{snapshotInterval: 6h}")
			Expect(causesOf(patchStatus(object, parseYAML(r.status)))).To(ConsistOf(
				And(HaveField("Field", r.want.Field), HaveField("Message", ContainSubstring(r.want.Message)))))
		},
		entries(rejectedStatuses()),
	)

	It("is rejected with two conditions of one type", func() {
		object := create("conditions", "{snapshotInterval: 6h}")
		condition := `{type: Ready, status: "True", reason: Scheduled, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}`
		Expect(patchStatus(object, parseYAML(fmt.Sprintf("{conditions: [%s, %s]}", condition, condition)))).
			To(MatchError(ContainSubstring("Duplicate value")))
	})
})
