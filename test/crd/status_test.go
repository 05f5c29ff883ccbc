// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// aStatus is a status as the controller writes it.
const aStatus = `
observedGeneration: 1
inputs: {persistentvolumeclaims: {total: 20}}
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

func patchStatus(ctx context.Context, object client.Object, status map[string]any) error {
	patch, err := (&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": scheduleKind.GroupVersion().String(), "kind": scheduleKind.Kind, "status": status,
	}}).MarshalJSON()
	if err != nil {
		return err
	}
	return api.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

func TestStatusIsApart(t *testing.T) {
	object := create(t, "status", "{snapshotInterval: 6h}")
	object.Object["status"] = parse(t, aStatus)
	if err := api.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if _, there := object.Object["status"]; there {
		t.Errorf("an update of the schedule wrote its status: %v", object.Object["status"])
	}

	if err := patchStatus(t.Context(), object, parse(t, aStatus)); err != nil {
		t.Fatal(err)
	}
	if got, want := object.Object["status"], any(parse(t, aStatus)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := object.GetGeneration(); got != 1 {
		t.Errorf("a write of the status made generation %d", got)
	}

	if err := unstructured.SetNestedField(object.Object, "12h", "spec", "snapshotInterval"); err != nil {
		t.Fatal(err)
	}
	if err := api.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedString(object.Object, "spec", "snapshotInterval"); got != "6h" {
		t.Errorf("a write of the status changed the spec to %s", got)
	}

	if err := unstructured.SetNestedField(object.Object, "12h", "spec", "snapshotInterval"); err != nil {
		t.Fatal(err)
	}
	delete(object.Object, "status")
	if err := api.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if got := object.GetGeneration(); got != 2 {
		t.Errorf("a change of the spec made generation %d, not 2", got)
	}
	if got, want := object.Object["status"], any(parse(t, aStatus)); !reflect.DeepEqual(got, want) {
		t.Errorf("an update of the spec changed the status to %v", got)
	}
}

// refusedStatus is a status that the API server must refuse, and why.
type refusedStatus struct {
	status string
	want   refusal
}

func refusedStatuses() map[string]refusedStatus {
	problem := `{reason: CreateFailed, since: "2026-01-02T03:04:05Z"}`
	return map[string]refusedStatus{
		"eleven problems": {"{problems: [" + strings.TrimSuffix(strings.Repeat(problem+", ", 11), ", ") + "]}",
			refusal{"status.problems", "must have at most 10 items"}},
		"a problem without a reason":   {`{problems: [{since: "2026-01-02T03:04:05Z"}]}`, refusal{"status.problems[0].reason", saysRequired}},
		"a problem of an empty reason": {`{problems: [{reason: "", since: "2026-01-02T03:04:05Z"}]}`, refusal{"status.problems[0].reason", "should be at least 1 chars long"}},
		"a problem without a time":     {`{problems: [{reason: CreateFailed}]}`, refusal{"status.problems[0].since", saysRequired}},
		"less than no more problems":   {"{moreProblems: -1}", refusal{"status.moreProblems", saysAtLeast0}},
		"inputs without a total":       {"{inputs: {persistentvolumeclaims: {}}}", refusal{"status.inputs.persistentvolumeclaims.total", saysRequired}},
		"outputs without a total":      {"{outputs: {volumesnapshots: {ready: 1}}}", refusal{"status.outputs.volumesnapshots.total", saysRequired}},
		"outputs without ready":        {"{outputs: {volumesnapshots: {total: 1}}}", refusal{"status.outputs.volumesnapshots.ready", saysRequired}},
		"detached without keys":        {"{detached: {volumesnapshots: 1}}", refusal{"status.detached.mapKeys", saysRequired}},
		"detached without snapshots":   {"{detached: {mapKeys: 1}}", refusal{"status.detached.volumesnapshots", saysRequired}},
	}
}

func TestRefusedStatus(t *testing.T) {
	object := create(t, "refused-status", "{snapshotInterval: 6h}")
	for name, tc := range refusedStatuses() {
		t.Run(name, func(t *testing.T) {
			got := refusals(t, patchStatus(t.Context(), object.DeepCopy(), parse(t, tc.status)))
			if len(got) != 1 || got[0].field != tc.want.field || !strings.Contains(got[0].says, tc.want.says) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTwoConditionsOfOneTypeAreRefused(t *testing.T) {
	object := create(t, "conditions", "{snapshotInterval: 6h}")
	condition := `{type: Ready, status: "True", reason: Scheduled, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}`
	err := patchStatus(t.Context(), object, parse(t, fmt.Sprintf("{conditions: [%s, %s]}", condition, condition)))
	if err == nil || !strings.Contains(err.Error(), "Duplicate value") {
		t.Errorf("want a refusal of the second condition, got %v", err)
	}
}
