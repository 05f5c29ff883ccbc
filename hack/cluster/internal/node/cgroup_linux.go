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

// hierarchies are the folders that hold a cgroup of the node: one with cgroup
// v2, one for each controller with v1.
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
		// Links name two controllers that are in one folder.
		if e.IsDir() {
			found = append(found, filepath.Join(cgroupRoot, e.Name()))
		}
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s is empty", cgroupRoot)
	}
	return found, err
}

func makeCgroup(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		dir := filepath.Join(h, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := fill(h, dir); err != nil {
			return err
		}
	}
	return nil
}

// fill gives a fresh cgroup what kubelet takes for granted: with v1 the
// processors, which start out empty, and with v2 the controllers.
func fill(parent, dir string) error {
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

// RemoveCgroup removes what Setup and kubelet made, once the node has ended:
// the kernel may take a moment to clear the last processes away.
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

// removeTree removes the folders only, the deepest first: the files of a cgroup
// go with it.
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
