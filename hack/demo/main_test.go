// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestStepFailsWhenItsConditionDoesNotComeTrue(t *testing.T) {
	var out strings.Builder
	d := &demo{screen: &screen{out: &out}, client: fake.NewClientBuilder().WithScheme(scheme).Build(), operator: &operator{}}
	never := step{title: "T", run: []string{"echo hello"}, until: "it is true", reached: func(*demo) bool { return false }}
	err := d.playAll(t.Context(), []step{never})
	if !wait.Interrupted(err) || !strings.HasPrefix(err.Error(), "step 1: waiting until it is true: ") {
		t.Errorf("got %v", err)
	}
	if got := out.String(); !strings.Contains(got, "  $ echo hello\n  hello\n") || strings.Contains(got, "\033") {
		t.Errorf("printed %q", got)
	}
}
