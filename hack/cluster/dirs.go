// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
)

const modulePath = "mapcontroller.dev/snapshotschedule/hack/cluster"

// base is the folder that the user means by ".". "go -C hack/cluster run ."
// runs the program in its own source folder, which nobody means: the root of
// the repository takes its place.
func base() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	f, err := os.Open(filepath.Join(wd, "go.mod"))
	if err != nil {
		return wd, nil
	}
	defer f.Close()
	first := bufio.NewScanner(f)
	if first.Scan() && strings.TrimSpace(first.Text()) == "module "+modulePath {
		return filepath.Dir(filepath.Dir(wd)), nil
	}
	return wd, nil
}

// resolve makes a path absolute, as the user means it.
func resolve(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	b, err := base()
	return filepath.Join(b, path), err
}

// dirFlag adds --dir to a command.
func dirFlag(cmd *cobra.Command, dir *string, otherwise string) {
	cmd.Flags().StringVar(dir, "dir", "", "`folder` of the cluster (default "+otherwise+")")
}

// clusterDir is the folder given, or the default one in the cache.
func clusterDir(flag string) (cluster.Dir, error) {
	if flag != "" {
		path, err := resolve(flag)
		return cluster.Dir(path), err
	}
	cache, err := build.CacheDir()
	return cluster.Dir(filepath.Join(cache, "default")), err
}

// dirArgs shows how to name the cluster again on the command line.
func dirArgs(flag string) string {
	if flag == "" {
		return ""
	}
	return " --dir " + shellQuote(flag)
}
