// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// keptDir is where the demo that is kept lives, seen from the root: one per checkout.
const keptDir = "bin/demo"

// KeptCluster is the cluster's folder, as hack/cluster takes it.
const KeptCluster = keptDir + "/cluster"

// ErrKept is for a demo that is there already.
var ErrKept = errors.New("a demo is kept already")

// Temporary is a stage of its own, which disturbs no other.
func Temporary(root string) (*Stage, error) {
	dir, err := os.MkdirTemp("", "snapsched-demo-")
	return &Stage{Root: root, Dir: dir}, err
}

// Kept is the stage that outlives this program.
func Kept(root string) (*Stage, error) {
	dir := filepath.Join(root, keptDir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	// Not MkdirAll: who makes it has it.
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w in %s", ErrKept, keptDir)
	} else if err != nil {
		return nil, err
	}
	return &Stage{Root: root, Dir: dir, Keep: true}, nil
}

// Down stops what a demo has kept, and removes it. It tells whether there was any.
func Down(root string) (bool, error) {
	s := &Stage{Root: root, Dir: filepath.Join(root, keptDir), Keep: true}
	if _, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := stopLocked(s.operatorPid(), grace); err != nil {
		return true, fmt.Errorf("stop the operator: %w", err)
	}
	if _, err := os.Stat(s.clusterProgram()); err == nil {
		if err := s.clusterDown(); err != nil {
			return true, fmt.Errorf("stop the cluster: %w", err)
		}
	}
	return true, s.Remove()
}

// lockPid makes a pid file and locks it. The lock is for whoever has the file
// open: given to a child, it is there for as long as the child lives.
func lockPid(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// stopLocked ends the process that holds the lock on a pid file, if there is
// one, and returns when it is gone.
func stopLocked(path string, grace time.Duration) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		return nil // nobody holds it: the pid may be anybody's by now
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("%s holds no pid", path)
	}
	gone := make(chan error, 1)
	go func() { gone <- syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		select {
		case err := <-gone:
			return err
		case <-time.After(grace):
		}
	}
	return fmt.Errorf("process %d is still there after SIGKILL", pid)
}
