// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// The program helm makes the Helm chart of what kustomize builds, in the shape of
// kubebuilder's Helm plugin. It reads hack/helm/source, built, from standard input.
package main

import (
	"flag"
	"fmt"
	"os"

	"mapcontroller.dev/snapshotschedule/hack/helm/internal/chart"
)

func main() {
	out := flag.String("out", "", "The folder that is to hold the chart. What is there is replaced.")
	version := flag.String("version", "0.1.0", "The chart's version: a semantic version.")
	image := flag.String("image", "controller:latest", "The manager's image, which values can replace.")
	flag.Parse()
	if err := run(*out, chart.Release{Version: *version, Image: *image}); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(out string, release chart.Release) error {
	if out == "" {
		return fmt.Errorf("name the chart's folder: --out dist/chart")
	}
	objects, err := chart.Read(os.Stdin)
	if err != nil {
		return err
	}
	files, err := chart.Build(objects, release)
	if err != nil {
		return err
	}
	return chart.Write(out, files)
}
