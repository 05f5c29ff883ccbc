// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enable enables client-go's cache mutation detector in the binaries that import it.
package enable

import "os"

// client-go reads the variable when it is initialized. This package is initialized earlier because it depends on nothing but os:
// keep it so.
func init() {
	if err := os.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true"); err != nil {
		panic(err)
	}
}
