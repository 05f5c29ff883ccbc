// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime/debug"
	"strconv"
)

// memoryLimitVariable has the memory limit of the container in bytes, from the
// downward API, which cannot calculate a share of it.
const memoryLimitVariable = "MEMORY_LIMIT"

// setMemoryLimit sets the runtime's soft limit to 90 % of the container's limit. The
// rest is for what the runtime does not count. A user's GOMEMLIMIT takes precedence.
func setMemoryLimit(getenv func(string) string) error {
	text := getenv(memoryLimitVariable)
	if text == "" || getenv("GOMEMLIMIT") != "" {
		return nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return fmt.Errorf("invalid %s %q: want a number of bytes", memoryLimitVariable, text)
	}
	debug.SetMemoryLimit(limit / 10 * 9)
	return nil
}
