// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docs updates the generated parts of docs/reference.md from the code: fields
// from the CRD's schema, names from the constants of the API package, flags from the
// manager's help.
//
//	go run ./hack/docs           update the page
//	go run ./hack/docs -check    fail if the page is not up to date
//
// Run it in the root of the repository.
package main

import (
	"flag"
	"fmt"
	"os"

	"mapcontroller.dev/snapshotschedule/hack/docs/reference"
)

//go:generate go -C ../.. run ./hack/docs

func main() {
	check := flag.Bool("check", false, "Write nothing; fail if the page is not up to date.")
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
		return fmt.Errorf("%s is not up to date: run make docs", reference.File)
	}
	return os.WriteFile(reference.File, after, 0o644)
}
