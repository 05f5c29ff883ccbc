// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// debianPackages maps each program that a node needs and that is not built from Go
// modules to its Debian package.
var debianPackages = map[string]string{"runc": "runc", "nft": "nftables"}

// Check returns why no node can run here, with its cluster in a folder, or nil. It adds the sbin folders to PATH.
func Check(dir string) error {
	if os.Geteuid() != 0 {
		return errors.New("a node needs root, for namespaces, mounts and cgroups")
	}
	path := os.Getenv("PATH")
	for _, sbin := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if !strings.Contains(":"+path+":", ":"+sbin+":") {
			path += ":" + sbin
		}
	}
	if err := os.Setenv("PATH", path); err != nil {
		return err
	}
	for program, debian := range debianPackages {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("a node needs %s, not installed: apt-get install %s", program, debian)
		}
	}
	for _, h := range masked {
		if rel, err := filepath.Rel(h, dir); err == nil && !strings.HasPrefix(rel, "..") {
			return fmt.Errorf("the folder of a cluster with a node cannot be in %s (%s); set another one with --dir or $TMPDIR", h, dir)
		}
	}
	return nil
}

// TrySetup sets up a node that runs nothing, to find what the machine forbids.
func TrySetup(cgroup string) error {
	if err := Setup(cgroup); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"nft", "add", "table", "ip", "trial"},
		// kube-proxy needs address translation and maps.
		{"nft", "add", "chain", "ip", "trial", "nat", "{ type nat hook output priority 0; }"},
		{"nft", "add", "map", "ip", "trial", "services", "{ type ipv4_addr : verdict; }"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
