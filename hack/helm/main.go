// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command helm generates the Helm chart from the output of kustomize. It reads the
// objects of hack/helm/source from standard input.
//
// kubebuilder's plugin helm/v2-alpha (v4.10.1) was tried and generates a worse chart.
// It breaks what users rely on: the value crds.keep is not implemented, so uninstalling
// deletes all schedules and their snapshots, manager.replicas is ignored, and the
// alerts' own templates are not escaped, so Helm cannot render the chart. It also lacks
// watchNamespaces with its Roles, names and labels per release, image digests, values
// for scheduling and volumes, and a schema that rejects unknown values.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"mapcontroller.dev/snapshotschedule/hack/helm/internal/chart"
)

func main() {
	out := flag.String("out", "", "Folder of the chart, which should be empty.")
	folder := flag.String("package", "", "Folder in which the chart's package is written. None if empty.")
	var r chart.Release
	flag.StringVar(&r.Version, "version", "0.1.0", "Version of the chart, a semantic version.")
	flag.StringVar(&r.Image, "image", "controller:latest", "Default image of the manager.")
	flag.StringVar(&r.Repository, "repository", "https://mapcontroller.dev/snapshotschedule", "URL of the repository.")
	flag.StringVar(&r.Docs, "docs", "https://mapcontroller.dev/snapshotschedule/docs", "URL of the pages in docs.")
	changelog := flag.String("changelog", "../../CHANGELOG.md", "The changelog.")
	flag.Parse()
	text, err := os.ReadFile(*changelog)
	r.Changelog = string(text)
	if err := errors.Join(err, run(*out, *folder, r)); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(out, folder string, release chart.Release) error {
	if out == "" {
		return errors.New("set the chart's folder, as in --out dist/chart")
	}
	objects, err := chart.Read(os.Stdin)
	if err != nil {
		return err
	}
	files, err := chart.Build(objects, release)
	if err != nil {
		return err
	}
	if err := chart.Write(out, files); err != nil || folder == "" {
		return err
	}
	return chart.Package(out, folder)
}
