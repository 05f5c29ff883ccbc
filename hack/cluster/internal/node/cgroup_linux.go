// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const cgroupRoot = "/sys/fs/cgroup"

// hierarchies returns the folders in which the node needs a cgroup: one for cgroup
// v2, one per controller for v1.
func hierarchies() ([]string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", cgroupRoot, err)
	}
	if s.Type == unix.CGROUP2_SUPER_MAGIC {
		return []string{cgroupRoot}, nil
	}
	entries, err := os.ReadDir(cgroupRoot)
	var found []string
	for _, e := range entries {
		// Symbolic links are aliases for folders with several controllers.
		if e.IsDir() {
			found = append(found, filepath.Join(cgroupRoot, e.Name()))
		}
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s is empty", cgroupRoot)
	}
	return found, err
}

func createCgroup(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		dir := filepath.Join(h, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := enableControllers(h, dir); err != nil {
			return err
		}
	}
	return nil
}

// enableControllers prepares a new cgroup as kubelet expects it: v2 needs the
// controllers enabled, v1 needs the CPU set, which is initially empty.
func enableControllers(parent, dir string) error {
	if b, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers")); err == nil && parent == cgroupRoot {
		enable := strings.Fields(string(b))
		for i := range enable {
			enable[i] = "+" + enable[i]
		}
		return os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte(strings.Join(enable, " ")), 0o644)
	}
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		b, err := os.ReadFile(filepath.Join(parent, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// RemoveCgroup removes the cgroups of a stopped node. It retries because the kernel
// may need a moment to remove the last processes.
func RemoveCgroup(name string) error {
	all, err := hierarchies()
	if err != nil || name == "" {
		return err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var errs []error
		for _, h := range all {
			errs = append(errs, removeTree(filepath.Join(h, name)))
		}
		if err = errors.Join(errs...); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// removeTree removes folders only, the deepest first: the kernel removes the files
// of a cgroup with it.
func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			dirs = append(dirs, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, d := range slices.Backward(dirs) {
		if err := unix.Rmdir(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove cgroup %s: %w", d, err)
		}
	}
	return nil
}
