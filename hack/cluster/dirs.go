// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/shell"
)

const moduleLine = "\nmodule mapcontroller.dev/snapshotschedule/hack/cluster\n"

// baseDir returns the folder to which paths are relative: the working directory, or
// the root of the repository if this is the source folder of the program, as with
// "go -C hack/cluster run .".
func baseDir() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if text, err := os.ReadFile(filepath.Join(wd, "go.mod")); err == nil && strings.Contains("\n"+string(text), moduleLine) {
		return filepath.Dir(filepath.Dir(wd)), nil
	}
	return wd, nil
}

// absPath returns the absolute form of a path that the user gave.
func absPath(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	base, err := baseDir()
	return filepath.Join(base, path), err
}

// dirFlag is the value of --dir.
type dirFlag string

// add adds the flag to a command.
func (f *dirFlag) add(cmd *cobra.Command, defaultValue string) {
	cmd.Flags().StringVar((*string)(f), "dir", "", "`folder` of the cluster (default "+defaultValue+")")
}

// addDefault adds the flag to a command that uses the default cluster without it.
func (f *dirFlag) addDefault(cmd *cobra.Command) { f.add(cmd, "the folder default in the cache") }

// dir returns the folder, by default the one in the cache.
func (f dirFlag) dir() (cluster.Dir, error) {
	if f != "" {
		path, err := absPath(string(f))
		return cluster.Dir(path), err
	}
	cache, err := build.CacheDir()
	return cluster.Dir(filepath.Join(cache, "default")), err
}

// load returns the folder and the state of the cluster in it.
func (f dirFlag) load() (cluster.Dir, *cluster.State, error) {
	d, err := f.dir()
	if err != nil {
		return "", nil, err
	}
	s, err := cluster.Load(d)
	return d, s, err
}

// args returns the flag as it is written on a command line.
func (f dirFlag) args() string {
	if f == "" {
		return ""
	}
	return " --dir " + shell.Quote(string(f))
}
