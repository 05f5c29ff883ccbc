// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// unfinished is the API server's note that it stopped at the schema's own errors.
const unfinished = "some validation rules were not checked because the object was invalid"

// Contract: API-1.
func TestRefused(t *testing.T) {
	for name, tc := range refusedSchedules() {
		t.Run(name, func(t *testing.T) {
			if tc.name == "" {
				tc.name = "refused"
			}
			object := newSchedule(t, tc.name, tc.spec)
			if tc.spec == "" {
				delete(object.Object, "spec")
			}
			got := refusals(t, api.Create(t.Context(), object, client.DryRunAll))

			for _, want := range tc.want {
				i := slices.IndexFunc(got, func(r refusal) bool {
					return r.field == want.field && strings.Contains(r.says, want.says)
				})
				if i < 0 {
					t.Errorf("no refusal of %s that says %q, but %q", want.field, want.says, got)
					continue
				}
				got = slices.Delete(got, i, i+1)
			}
			if len(got) > 0 {
				t.Errorf("refusals that were not expected: %q", got)
			}
		})
	}
}

// refusals are the causes for which the API server refused an object.
func refusals(t *testing.T, err error) []refusal {
	t.Helper()
	if err == nil {
		t.Fatal("the API server accepted it")
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		t.Fatalf("want an Invalid error, got %v", err)
	}
	var causes []refusal
	for _, cause := range status.Status().Details.Causes {
		if !strings.Contains(cause.Message, unfinished) {
			causes = append(causes, refusal{cause.Field, cause.Message})
		}
	}
	return causes
}

// Contract: API-2.
func TestAccepted(t *testing.T) {
	for name, spec := range acceptedSchedules() {
		t.Run(name, func(t *testing.T) {
			if err := api.Create(t.Context(), newSchedule(t, "accepted", spec), client.DryRunAll); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a name of 63 characters", func(t *testing.T) {
		object := newSchedule(t, long("n", 63), "{snapshotInterval: 6h}")
		if err := api.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Error(err)
		}
	})
}

// What is no number of 32 bits would be stored, and then break every Go client that lists it.
func TestNumbersFitTheirGoTypes(t *testing.T) {
	for _, number := range []string{"2147483648", "1.5", "1e3", `"1"`} {
		t.Run(number, func(t *testing.T) {
			object := newSchedule(t, "number", "{snapshotInterval: 6h, retention: {maxCount: "+number+"}}")
			err := api.Create(t.Context(), object, client.DryRunAll)
			if number == "1e3" { // 1000, written otherwise
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.retention.maxCount") {
				t.Errorf("want a refusal of spec.retention.maxCount, got %v", err)
			}
		})
	}
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	for name, spec := range map[string]string{
		"a field of the spec":      "{snapshotInterval: 6h, snapshotTtl: 10d}",
		"a field of the selector":  "{snapshotInterval: 6h, selector: {matchLabel: {app: my-app}}}",
		"a field of retention":     "{snapshotInterval: 6h, retention: {minimumReady: 1}}",
		"a field of the template":  "{snapshotInterval: 6h, snapshotTemplate: {metadata: {name: x}}}",
		"a class in a wrong place": "{snapshotInterval: 6h, snapshotTemplate: {volumeSnapshotClassName: fast}}",
	} {
		t.Run(name, func(t *testing.T) {
			err := api.Create(t.Context(), newSchedule(t, "unknown", spec), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "unknown field") {
				t.Errorf("want a refusal of an unknown field, got %v", err)
			}
		})
	}
}

// The API server and the controller must not disagree about what a duration or a cron line is.
//
// Contract: API-3.
func TestTheControllerAgrees(t *testing.T) {
	for _, duration := range goodDurations {
		if _, err := schedule.ParseDuration(duration); err != nil {
			t.Errorf("the API server accepts the duration %q, the controller doesn't: %v", duration, err)
		}
	}
	for duration := range badDurations {
		if d, err := schedule.ParseDuration(duration); err == nil {
			t.Errorf("the API server refuses the duration %q, the controller reads it as %v", duration, d)
		}
	}
	for _, l := range goodLines {
		if _, err := schedule.ParseCron(l, time.UTC); err != nil {
			t.Errorf("the API server accepts the cron line %q, the controller doesn't: %v", l, err)
		}
	}
	for name, tc := range refusedSchedules() {
		if slices.ContainsFunc(tc.want, func(r refusal) bool { return r.field != "spec.schedule" || r.says == tooManyBytes(512) }) {
			continue // not for what the line says
		}
		l := newSchedule(t, "line", tc.spec).Object["spec"].(map[string]any)["schedule"].(string)
		if _, err := schedule.ParseCron(l, time.UTC); err == nil {
			t.Errorf("%s: the API server refuses the cron line %q, the controller accepts it", name, l)
		}
	}
	for _, l := range linesForTheController {
		if err := api.Create(t.Context(), newSchedule(t, "line", line(l)), client.DryRunAll); err != nil {
			t.Errorf("the API server is to leave %q to the controller, but says %v", l, err)
		}
		if _, err := schedule.ParseCron(l, time.UTC); err == nil {
			t.Errorf("neither the API server nor the controller refuses the cron line %q", l)
		}
	}
}
