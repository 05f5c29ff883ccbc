/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
