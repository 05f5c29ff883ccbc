// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Build builds what is missing. The cluster's programs take minutes the first
// time; what they show of their progress goes to standard error, as it is.
func (s *Stage) Build(ctx context.Context) error {
	// Without -buildvcs=false a checkout that belongs to another user can't be built.
	err := s.passThrough(ctx, "go", "-C", "hack/cluster", "build", "-buildvcs=false", "-o", s.clusterProgram(), ".")
	if err != nil {
		return fmt.Errorf("build hack/cluster: %w", err)
	}
	cmd := s.command(s.clusterProgram(), "build")
	cmd.Stderr = os.Stderr
	out, err := outputOf(ctx, cmd)
	if err != nil {
		return fmt.Errorf("build the local cluster: %w", err)
	}
	s.programs = strings.TrimSpace(out)
	if err := s.passThrough(ctx, "go", "build", "-buildvcs=false", "-o", s.operatorBinary(), "./cmd"); err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}
	return nil
}

func (s *Stage) passThrough(ctx context.Context, name string, args ...string) error {
	cmd := s.command(name, args...)
	cmd.Stderr = os.Stderr
	_, err := outputOf(ctx, cmd)
	return err
}

// outputOf runs a command, and asks it to end when ctx does.
func outputOf(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var out strings.Builder
	cmd.Stdout = &out
	p, err := start(cmd)
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done:
	case <-ctx.Done():
		p.Stop(grace)
		return "", context.Cause(ctx)
	}
	return out.String(), p.Err
}
