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
)

// debianPackages maps each program that a node needs and that is not built from Go modules to its Debian package.
var debianPackages = map[string]string{"runc": "runc", "nft": "nftables"}

// Check returns why no node can run here, with its cluster in a folder, or nil. It adds the folders to PATH in which the
// programs of a node may be.
func Check(dir string) error {
	if os.Geteuid() != 0 {
		return errors.New("a node needs root, for namespaces, mounts and cgroups")
	}
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin"); err != nil {
		return err
	}
	var missing []string
	for program, debian := range debianPackages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, debian)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		return fmt.Errorf("a node needs programs that are not installed: apt-get install %s", strings.Join(missing, " "))
	}
	for _, h := range masked {
		if rel, err := filepath.Rel(h, dir); err == nil && !strings.HasPrefix(rel, "..") {
			return fmt.Errorf("the folder of a cluster with a node cannot be in %s (%s); set another one with --dir or $TMPDIR", h, dir)
		}
	}
	return nil
}
