// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"testing"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }
