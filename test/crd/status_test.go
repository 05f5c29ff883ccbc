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
oldestRecoveryPointTime: "2026-01-01T00:00:00Z"
retention: {generation: 1, sinceTime: "2026-01-02T03:04:05Z", editDelay: 1h}
problems:
- {persistentVolumeClaim: data-3, reason: CreateFailed, message: exceeded quota, sinceTime: "2026-01-02T03:04:05Z"}
- {reason: InvalidRequestedAt, sinceTime: "2026-01-02T03:04:05Z"}
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

// conditions returns n conditions in YAML.
func conditions(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{type: Type%d, status: "True", reason: Any, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}`, i))
	}
	return strings.Join(all, ", ")
}

func rejectedStatuses() map[string]rejectedStatus {
	problem := `{reason: CreateFailed, sinceTime: "2026-01-02T03:04:05Z"}`
	return map[string]rejectedStatus{
		"eleven problems": {"{problems: [" + strings.TrimSuffix(strings.Repeat(problem+", ", 11), ", ") + "]}",
			cause{"status.problems", "must have at most 10 items"}},
		"a problem without a reason": {`{problems: [{sinceTime: "2026-01-02T03:04:05Z"}]}`,
			cause{"status.problems[0].reason", required}},
		"a problem with an empty reason": {`{problems: [{reason: "", sinceTime: "2026-01-02T03:04:05Z"}]}`,
			cause{"status.problems[0].reason", "should be at least 1 chars long"}},
		"a problem whose reason is too long": {`{problems: [{reason: ` + long(65) + `, sinceTime: "2026-01-02T03:04:05Z"}]}`,
			cause{"status.problems[0].reason", tooManyBytes(64)}},
		"a problem whose message is too long": {
			`{problems: [{reason: CreateFailed, message: ` + long(1025) + `, sinceTime: "2026-01-02T03:04:05Z"}]}`,
			cause{"status.problems[0].message", tooManyBytes(1024)}},
		"a problem of a PVC whose name is too long": {
			`{problems: [{persistentVolumeClaim: ` + long(254) + `, reason: CreateFailed, sinceTime: "2026-01-02T03:04:05Z"}]}`,
			cause{"status.problems[0].persistentVolumeClaim", tooManyBytes(253)}},
		"nine conditions": {"{conditions: [" + conditions(9) + "]}",
			cause{"status.conditions", tooManyItems(8)}},
		"a problem without a time": {`{problems: [{reason: CreateFailed}]}`, cause{"status.problems[0].sinceTime", required}},
		"negative moreProblems":    {"{moreProblems: -1}", cause{"status.moreProblems", atLeast0}},
		"inputs without a total": {"{inputs: {persistentvolumeclaims: {}}}",
			cause{"status.inputs.persistentvolumeclaims.total", required}},
		"outputs without a total": {"{outputs: {volumesnapshots: {ready: 1}}}", cause{"status.outputs.volumesnapshots.total", required}},
		"outputs without ready":   {"{outputs: {volumesnapshots: {total: 1}}}", cause{"status.outputs.volumesnapshots.ready", required}},
		"a record without a generation": {recordStatus(`sinceTime: "2026-01-02T03:04:05Z", editDelay: 1h`),
			cause{"status.retention.generation", required}},
		"a record without a time":         {recordStatus("generation: 1, editDelay: 1h"), cause{"status.retention.sinceTime", required}},
		"a record without a delay":        {recordStatus(`generation: 1, sinceTime: "2026-01-02T03:04:05Z"`), cause{"status.retention.editDelay", required}},
		"a record with a malformed delay": {recordWithDelay("1 hour"), cause{"status.retention.editDelay", durationSyntax}},
		"a record with a delay of zero":   {recordWithDelay("0s"), cause{"status.retention.editDelay", tooShort}},
		"a record with a delay too long":  {recordWithDelay("101y"), cause{"status.retention.editDelay", tooLong}},
		"a record with a delay of 129 bytes": {recordWithDelay(strings.Repeat("1", 129)),
			cause{"status.retention.editDelay", tooManyBytes(128)}},
		"detached without keys": {"{detached: {volumesnapshots: 1}}", cause{"status.detached.mapKeys", required}},
		"detached without snapshots": {"{detached: {mapKeys: 1}}",
			cause{"status.detached.volumesnapshots", required}},
	}
}

// unobserved is the status of a schedule that the operator has not seen yet. Without it, kstatus takes a new schedule for a ready one.
var unobserved = map[string]any{"observedGeneration": int64(-1)}

func recordStatus(fields string) string { return "{retention: {" + fields + "}}" }

func recordWithDelay(delay string) string {
	return recordStatus(`generation: 1, sinceTime: "2026-01-02T03:04:05Z", editDelay: "` + delay + `"`)
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
		Expect(object.Object).To(HaveKeyWithValue("status", unobserved))

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

	// Contract: STAT-9.
	It("says that the operator has observed no generation yet, also if it was written without one", func() {
		object := create("new", "{snapshotInterval: 6h}")
		Expect(object.Object).To(HaveKeyWithValue("status", unobserved))
		Expect(patchStatus(object, map[string]any{"moreProblems": 3})).To(Succeed())
		Expect(object.Object).To(HaveKeyWithValue("status", map[string]any{"observedGeneration": int64(-1), "moreProblems": int64(3)}))
	})

	DescribeTable("is rejected if it is invalid",
		func(r rejectedStatus) {
			object := create("rejected-status", "{snapshotInterval: 6h}")
			Expect(statusCausesOf(patchStatus(object, parseYAML(r.status)))).To(ConsistOf(
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
