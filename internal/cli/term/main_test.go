// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain sets how many cases each property tries. A command line overrides it:
// go test ./internal/cli -rapid.checks=100000.
func TestMain(m *testing.M) {
	if os.Getenv(asksAs) != "" {
		os.Exit(askAtTerminal())
	}
	for name, value := range map[string]string{"rapid.checks": "1000", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}
