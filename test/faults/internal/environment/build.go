// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repository is the root of the repository that the caller is in.
func Repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("run this inside of the repository")
	}
	return filepath.Dir(mod), nil
}

// BuildOperator builds the operator's program into a folder.
func BuildOperator(ctx context.Context, root, dir string) (string, error) {
	path := filepath.Join(dir, "manager")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd: %w\n%s", err, out)
	}
	return path, nil
}
