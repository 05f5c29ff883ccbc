// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Docs writes the generated parts of docs/reference.md: the fields from the CRD's
// schema and the API's types, the names from the constants of the API package, the
// flags from the manager's own help.
//
//	go run ./hack/docs           write them
//	go run ./hack/docs -check    fail if they are not current
//
// It runs at the root of the repository.
package main

import (
	"flag"
	"fmt"
	"os"

	"mapcontroller.dev/snapshotschedule/hack/docs/reference"
)

//go:generate go -C ../.. run ./hack/docs

func main() {
	check := flag.Bool("check", false, "Write nothing; fail if the generated parts are not current.")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	before, err := os.ReadFile(reference.File)
	if err != nil {
		return err
	}
	after, err := reference.Generate(".", before)
	if err != nil {
		return err
	}
	switch {
	case string(after) == string(before):
		return nil
	case check:
		return fmt.Errorf("%s is not current: run go run ./hack/docs", reference.File)
	}
	return os.WriteFile(reference.File, after, 0o644)
}
