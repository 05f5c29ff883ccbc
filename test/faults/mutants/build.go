// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	operatorPackage    = "./cmd"
	campaignPackage    = "./test/faults"
	simulationsPackage = "./test/faults/mutants/simulations"
)

// build builds a program into a folder, with a mutant or, for nil, without. The
// mutated files replace those of the tree by 'go build -overlay'.
func build(ctx context.Context, root, dir, pkg string, m *mutant) (program string, err error) {
	program = filepath.Join(dir, filepath.Base(pkg))
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", program}
	if m != nil {
		overlay, err := m.writeOverlay(root, dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return program, nil
}

// writeOverlay writes the mutated files and the overlay file for go build.
func (m *mutant) writeOverlay(root, dir string) (string, error) {
	files, err := m.mutated(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		copied := filepath.Join(dir, "mutated", path)
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, path)] = copied
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}
