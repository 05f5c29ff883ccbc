// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/filelock"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
)

// grace is short since nothing is to be saved.
const grace = 2 * time.Second

// Down stops the cluster in a folder, removes its data and keeps its logs. It
// tells whether there was one.
func Down(ctx context.Context, d Dir, out io.Writer) (bool, error) {
	if _, err := os.Stat(d.lock()); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	release, err := filelock.Acquire(ctx, d.lock(), func() {
		_, _ = fmt.Fprintf(out, "waiting for another run that brings up or down the cluster in %s\n", d)
	})
	if err != nil {
		return false, err
	}
	defer release()
	s, err := Load(d)
	if errors.Is(err, ErrNoCluster) {
		// It may have been cut short between its first files and its first part.
		return false, d.clear()
	}
	if err != nil {
		return false, err
	}
	return true, stopAll(d, s)
}

// stopAll stops the parts, last started first, so that none sees what it
// needs go away. The state is removed only when every process is gone.
func stopAll(d Dir, s *State) error {
	// Whoever watches the parts must know that they end on purpose.
	s.Stopping = true
	if err := s.save(d); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var errs []error
	for _, p := range slices.Backward(s.Parts) {
		if err := p.Stop(grace); err != nil {
			errs = append(errs, fmt.Errorf("stop %s (pid %d): %w", p.Name, p.Pid, err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if s.Cgroup != "" {
		errs = append(errs, node.RemoveCgroup(s.Cgroup))
	}
	if s.SocketDir != "" {
		errs = append(errs, os.RemoveAll(s.SocketDir))
	}
	return errors.Join(append(errs, d.clear())...)
}
