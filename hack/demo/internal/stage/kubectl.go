// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Kubectl runs kubectl in the root of the repository, and gives what it prints.
func (s *Stage) Kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := s.command(filepath.Join(s.programs, "kubectl"), args...)
	// Nothing of the user's own: no preferences, no cache, no other cluster.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig(), "KUBECACHEDIR="+s.kubectlCache(), "KUBERC=off")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := outputOf(ctx, cmd)
	if err != nil {
		return out, fmt.Errorf("kubectl %s: %w\n%s%s", strings.Join(args, " "), err, out, &complaint)
	}
	return out, nil
}
