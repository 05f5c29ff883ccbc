// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/proc"
)

const (
	etcdName      = "etcd"
	apiserverName = "kube-apiserver"
	// envAssets names the folder with the two programs.
	envAssets = "SNAPSCHED_BENCH_ASSETS"
)

// BecomePart makes this program etcd or kube-apiserver if it was started under their name, and
// has it die with the benchmarks, however they end. Otherwise it does nothing.
func BecomePart() {
	name := filepath.Base(os.Args[0])
	assets := os.Getenv(envAssets)
	if assets == "" || (name != etcdName && name != apiserverName) {
		return
	}
	err := proc.DieWithThisParent()
	if err == nil {
		err = syscall.Exec(filepath.Join(assets, name), os.Args, os.Environ())
	}
	fmt.Fprintf(os.Stderr, "start %s: %v\n", name, err)
	os.Exit(1)
}

// shims are links to this program under the names of the parts.
func shims(dir, assets string) error {
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
