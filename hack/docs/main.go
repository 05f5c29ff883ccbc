// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docs updates the generated parts of the pages in docs/reference from the code: fields from the CRDs' schemas, names from
// constants, metrics from their descriptions, commands from their help. Run it in the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

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
	pages, err := reference.Generate(".")
	if err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(reference.Folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
