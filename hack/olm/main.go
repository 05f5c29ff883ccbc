// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command olm generates the bundle for the Operator Lifecycle Manager from the output
// of kustomize. It reads the objects of config/manifests from standard input.
//
// operator-sdk's "generate bundle" does the same, but its module cannot be had from a
// module proxy, and everybody who builds a release would have to install the program.
// 'make lint' checks the bundle with operator-framework's own validator.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"mapcontroller.dev/snapshotschedule/hack/olm/internal/bundle"
)

func main() {
	out := flag.String("out", "", "Folder of the bundle. Its content is replaced.")
	var r bundle.Release
	flag.StringVar(&r.Version, "version", "", "Version of the bundle, a semantic version without v.")
	flag.StringVar(&r.Image, "image", "", "Image of the manager.")
	flag.StringVar(&r.Repository, "repository", "", "URL of the repository.")
	flag.Parse()
	if err := run(*out, r); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(out string, r bundle.Release) error {
	if out == "" {
		return errors.New("set the bundle's folder, as in --out dist/bundle")
	}
	objects, err := bundle.Read(os.Stdin)
	if err != nil {
		return err
	}
	files, err := bundle.Build(objects, r)
	if err != nil {
		return err
	}
	return bundle.Write(out, files)
}
