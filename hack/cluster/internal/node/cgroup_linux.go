// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fs"
	"github.com/opencontainers/cgroups/fs2"
)

// cgroup returns a cgroup below the root, in all hierarchies if this machine has more than one.
func cgroup(name string) (cgroups.Manager, error) {
	config := &cgroups.Cgroup{Path: "/" + name, Resources: &cgroups.Resources{}}
	if cgroups.IsCgroup2UnifiedMode() {
		return fs2.NewManager(config, "")
	}
	return fs.NewManager(config, nil)
}

func createCgroup(name string) error {
	c, err := cgroup(name)
	if err != nil {
		return err
	}
	return c.Apply(-1) // no process
}

// RemoveCgroup removes the cgroup of a stopped node, and those in it.
func RemoveCgroup(name string) error {
	if name == "" {
		return nil
	}
	c, err := cgroup(name)
	if err != nil {
		return err
	}
	return c.Destroy()
}
