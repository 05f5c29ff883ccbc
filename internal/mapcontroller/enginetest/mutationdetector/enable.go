// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutationdetector enables client-go's cache mutation detector in a test binary that imports it: the binary panics
// within a second or so of a change of a cached object.
package mutationdetector

import "os"

// client-go reads the variable when it is initialized. This package is initialized earlier, because it depends on less:
// keep it free of other imports. The suites check that the detector is enabled.
func init() {
	if err := os.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true"); err != nil {
		panic(err)
	}
}
