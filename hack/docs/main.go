// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docs updates the generated parts of docs/reference.md from the code: fields from the CRD's schema, names from
// constants, metrics from their descriptions. Run it in the root of the repository.
package main

import (
	"fmt"
	"os"

	"mapcontroller.dev/snapshotschedule/hack/docs/reference"
)

//go:generate go -C ../.. run ./hack/docs

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run() error {
	before, err := os.ReadFile(reference.File)
	if err != nil {
		return err
	}
	after, err := reference.Generate(".", before)
	if err != nil {
		return err
	}
	return os.WriteFile(reference.File, after, 0o644)
}
