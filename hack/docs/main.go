// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docs updates the generated parts of docs/reference.md and docs/cli.md from the
// code: fields from the CRD's schema, names from the constants of the API package, flags
// from the manager's help, commands from the kubectl plugin's.
//
//	go run ./hack/docs           update the pages
//	go run ./hack/docs -check    fail if a page is not up to date
//
// Run it in the root of the repository.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"mapcontroller.dev/snapshotschedule/hack/docs/clipage"
	"mapcontroller.dev/snapshotschedule/hack/docs/reference"
)

//go:generate go -C ../.. run ./hack/docs

func main() {
	check := flag.Bool("check", false, "Write nothing; fail if a page is not up to date.")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	fromRoot := func(page []byte) ([]byte, error) { return reference.Generate(".", page) }
	return errors.Join(update(reference.File, check, fromRoot), update(clipage.File, check, clipage.Generate))
}

func update(file string, check bool, generate func([]byte) ([]byte, error)) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after, err := generate(before)
	if err != nil {
		return err
	}
	switch {
	case string(after) == string(before):
		return nil
	case check:
		return fmt.Errorf("%s is not up to date: run make docs", file)
	}
	return os.WriteFile(file, after, 0o644)
}
