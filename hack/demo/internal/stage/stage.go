// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stage builds and runs what the demo is played on: the local cluster
// of hack/cluster, the operator, and kubectl.
package stage

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Stage is a folder with all that one demo needs.
type Stage struct {
	// Root is the root of the repository, Dir the folder of this demo.
	Root, Dir string
	// Keep has cluster and operator outlive this program.
	Keep bool

	// programs is where the cluster's programs are, kubectl among them.
	programs string
	operator *Process
	cluster  *held
}

// FindRoot looks for the root of the repository, from the working directory up.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "hack", "cluster", "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("run the demo inside the repository: make demo")
		}
		dir = up
	}
}

func (s *Stage) clusterDir() string     { return filepath.Join(s.Dir, "cluster") }
func (s *Stage) kubectlCache() string   { return filepath.Join(s.Dir, "kubectl-cache") }
func (s *Stage) clusterProgram() string { return filepath.Join(s.Dir, "bin", "cluster") }
func (s *Stage) operatorBinary() string { return filepath.Join(s.Dir, "bin", "operator") }
func (s *Stage) operatorPid() string    { return filepath.Join(s.Dir, "operator.pid") }

// OperatorLog is the operator's log.
func (s *Stage) OperatorLog() string { return filepath.Join(s.Dir, "operator.log") }

// Logs are the logs there are: the operator's, and the folder of the cluster's.
func (s *Stage) Logs() []string {
	var there []string
	for _, path := range []string{s.OperatorLog(), filepath.Join(s.clusterDir(), "logs")} {
		if _, err := os.Stat(path); err == nil {
			there = append(there, path)
		}
	}
	return there
}

// Kubeconfig is for an administrator of the cluster.
func (s *Stage) Kubeconfig() string { return filepath.Join(s.clusterDir(), "kubeconfig") }

// Close stops the operator and the cluster, and says what went wrong with that.
// Logs stay.
func (s *Stage) Close() error {
	var errs []error
	if s.operator != nil {
		s.operator.Stop(grace)
	}
	switch {
	case s.cluster != nil:
		errs = append(errs, s.cluster.release())
	case s.Keep:
		errs = append(errs, s.clusterDown())
	}
	for _, name := range []string{filepath.Dir(s.operatorBinary()), s.kubectlCache()} {
		errs = append(errs, os.RemoveAll(name))
	}
	return errors.Join(errs...)
}

// grace is how long a program may take to end.
const grace = 10 * time.Second

// Remove removes the folder, logs and all.
func (s *Stage) Remove() error { return os.RemoveAll(s.Dir) }

func (s *Stage) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.Root
	return cmd
}
