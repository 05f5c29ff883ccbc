// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Contract: CLI-30.
func TestReportFailsOnGapsIfItIsAsked(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(clitest.Claim("data", nil)).Build()
	for _, fails := range []bool{false, true} {
		args := []string{"report", "-n", "shop", "-o", "json"}
		if fails {
			args = append(args, "--fail-on-gaps")
		}
		code, printed := runOn(t, c, args...)
		if (code == term.ExitFound) != fails || !strings.Contains(printed, `"gap": true`) {
			t.Errorf("%v ends with %d:\n%s", args, code, printed)
		}
	}
}
