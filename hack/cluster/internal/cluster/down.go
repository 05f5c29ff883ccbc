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

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
)

// gracePeriod is short because no data must be saved.
const gracePeriod = 2 * time.Second

// Down stops the cluster in a folder, removes its data and keeps its logs. It returns
// whether there was a cluster.
func Down(ctx context.Context, d Dir, out io.Writer) (bool, error) {
	if _, err := os.Stat(d.lock()); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	release, err := d.acquireLock(ctx, out)
	if err != nil {
		return false, err
	}
	defer release()
	s, err := Load(d)
	if errors.Is(err, ErrNoCluster) {
		// Up may have been killed before it started the first process.
		return false, d.removeData()
	}
	if err != nil {
		return false, err
	}
	return true, stopAll(d, s)
}

// stopAll stops the components, the last started first. It removes the state only if
// every process has exited.
func stopAll(d Dir, s *State) error {
	// A process that watches the components must see that they are stopped on purpose.
	s.Stopping = true
	if err := s.save(d); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var errs []error
	for _, c := range slices.Backward(s.Components) {
		if err := c.Stop(gracePeriod); err != nil {
			errs = append(errs, fmt.Errorf("stop %s (pid %d): %w", c.Name, c.Pid, err))
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
	return errors.Join(append(errs, d.removeData())...)
}
