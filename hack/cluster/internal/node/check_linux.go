// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// debianPackages maps each program that a node needs and that is not built from Go
// modules to its Debian package.
var debianPackages = map[string]string{"runc": "runc", "nft": "nftables"}

// AddSbinToPath adds the sbin folders to PATH.
func AddSbinToPath() error {
	path := os.Getenv("PATH")
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if !strings.Contains(":"+path+":", ":"+dir+":") {
			path += ":" + dir
		}
	}
	return os.Setenv("PATH", path)
}

func missingPackages() []string {
	var names []string
	for program, debian := range debianPackages {
		if _, err := exec.LookPath(program); err != nil {
			names = append(names, debian)
		}
	}
	slices.Sort(names)
	return names
}

// Check returns why no node can run here, or nil. The optional command try is this
// program with arguments that make it call TrySetup.
func Check(dir string, try *exec.Cmd) error {
	if os.Geteuid() != 0 {
		return errors.New("a node needs root, for namespaces, mounts and cgroups")
	}
	if names := missingPackages(); len(names) > 0 {
		return fmt.Errorf("a node needs %s, not installed: apt-get install %s",
			strings.Join(names, " and "), strings.Join(names, " "))
	}
	for _, h := range masked {
		if rel, err := filepath.Rel(h, dir); err == nil && !strings.HasPrefix(rel, "..") {
			return fmt.Errorf("the folder of a cluster with a node cannot be in %s (%s); set another one with --dir or $TMPDIR", h, dir)
		}
	}
	if try == nil {
		return nil
	}
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: Namespaces}
	out, err := try.CombinedOutput()
	if err != nil {
		return fmt.Errorf("this machine does not allow a node: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Namespaces are the clone(2) flags of a node's namespaces.
const Namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID

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
