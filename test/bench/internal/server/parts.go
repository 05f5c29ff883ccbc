// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

const (
	etcdName      = "etcd"
	apiserverName = "kube-apiserver"
	// envAssets is the environment variable with the folder of the two programs.
	envAssets = "SNAPSCHED_BENCH_ASSETS"
)

// ExecPart replaces this program by etcd or kube-apiserver if it was started under that name, after
// arranging that it is killed when the benchmarks end, however they end.
func ExecPart() {
	name := filepath.Base(os.Args[0])
	assets := os.Getenv(envAssets)
	if assets == "" || (name != etcdName && name != apiserverName) {
		return
	}
	err := process.DieWithThisParent()
	if err == nil {
		err = syscall.Exec(filepath.Join(assets, name), os.Args, os.Environ())
	}
	fmt.Fprintf(os.Stderr, "start %s: %v\n", name, err)
	os.Exit(1)
}

// linkParts creates links to this program with the names of etcd and kube-apiserver: envtest starts the
// links, and ExecPart the programs.
func linkParts(dir, assets string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range []string{etcdName, apiserverName} {
		if _, err := os.Stat(filepath.Join(assets, name)); err != nil {
			return fmt.Errorf("%w: build it with 'go -C hack/cluster run . assets'", err)
		}
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return os.Setenv(envAssets, assets)
}
