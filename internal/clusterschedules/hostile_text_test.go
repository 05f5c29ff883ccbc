// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report/reporttest"
)

// Whatever children, webhooks and the API server say, a status is one that the API server
// accepts, an event too, and nothing in them controls a terminal.
//
// Contract: STAT-14.
func TestHostileTextInStatusAndEvents(t *testing.T) {
	schema, err := reporttest.StatusSchema("../../config/crd/bases/snapshots.mapcontroller.dev_clustersnapshotschedules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	verbs := []mapcontroller.Verb{mapcontroller.VerbCreate, mapcontroller.VerbUpdate, mapcontroller.VerbDelete, mapcontroller.VerbAdopt, mapcontroller.VerbRelease}
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string { return reporttest.Hostile().Draw(t, label) }
		f, recorder := gold(), &reporttest.Recorder{}
		p, known := &program{fleet: f}, summary(2)
		if rapid.IntRange(0, 5).Draw(t, "invalid") == 0 {
			known.Invalid = errors.New(text("invalid"))
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "namespaces") {
			namespace := fmt.Sprintf("%03d%s", i, strings.Repeat("n", 60))
			seen := mapcontroller.Observation{MapKey: namespace}
			seen.Outputs = []client.Object{child(func(s *schedule) {
				s.Namespace, s.Labels[v1alpha1.LabelMapKey] = namespace, namespace
				s.Status.Conditions = []metav1.Condition{{
					Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: strings.Repeat("R", 1024), Message: text("message"),
				}}
			})}
			outcome := mapcontroller.Outcome{}
			for range rapid.IntRange(0, 3).Draw(t, "failures") {
				err := errors.New(text("error"))
				if rapid.Bool().Draw(t, "from the API server") {
					err = apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("snapshotschedules").GroupResource(), "gold", err)
				}
				outcome.Failed = append(outcome.Failed, mapcontroller.Failure{Verb: rapid.SampledFrom(verbs).Draw(t, "verb"), Object: seen.Outputs[0], Err: err})
			}
			decided := p.mapNamespace(seen)
			known.Keys = append(known.Keys, reporter{events: recorder}.report(f, namespace, nil, decided.Status, outcome))
		}
		setStatus(now, f, known)

		wrong, err := reporttest.WrongStatus(f.Status, schema)
		if err != nil {
			t.Fatal(err)
		}
		messages := reporttest.MessagesOf(f.Status.Conditions)
		for _, problem := range f.Status.Problems {
			messages = append(messages, problem.Message)
		}
		if wrong = append(wrong, reporttest.WrongMessages(append(messages, recorder.Notes...)...)...); len(wrong) > 0 {
			t.Fatal(strings.Join(wrong, "\n"))
		}
	})
}
