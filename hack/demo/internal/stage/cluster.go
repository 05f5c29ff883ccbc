// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Up brings the cluster up.
//
// One that is not to be kept runs a command, as "cluster run" does, and goes
// when the command ends: a cat, which ends when its input does. So the cluster
// goes however this program ends.
func (s *Stage) Up(ctx context.Context) error {
	if s.Keep {
		return s.passThrough(ctx, s.clusterProgram(), "up", "--dir", s.clusterDir())
	}
	cmd := s.command(s.clusterProgram(), "run", "--dir", s.clusterDir(), "--", "cat")
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	// Not cmd.StdoutPipe: Wait would close it while it is being read.
	output, echo, err := os.Pipe()
	if err != nil {
		return err
	}
	defer output.Close()
	cmd.Stdout = echo
	p, err := start(cmd)
	_ = echo.Close()
	if err != nil {
		return err
	}
	s.cluster = &held{p, input}
	return s.cluster.wait(ctx, output)
}

// held is a cluster that is up for as long as a pipe is open.
type held struct {
	*Process
	input io.WriteCloser
}

// wait returns when cat answers: the cluster is up then.
func (h *held) wait(ctx context.Context, output io.Reader) error {
	if _, err := io.WriteString(h.input, "up\n"); err != nil {
		return err
	}
	answer := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(output).ReadString('\n')
		answer <- err
	}()
	select {
	case err := <-answer:
		if err == nil {
			return nil
		}
		<-h.Done
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errors.Join(errors.New("the cluster did not come up"), h.Err)
	case <-ctx.Done():
		_ = h.cmd.Process.Signal(syscall.SIGTERM)
		return context.Cause(ctx)
	}
}

// release has the cluster go, and waits for it.
func (h *held) release() error {
	_ = h.input.Close()
	<-h.Done
	return h.Err
}

// Healthy tells whether all parts of the cluster are.
func (s *Stage) Healthy(ctx context.Context) error {
	out, err := outputOf(ctx, s.command(s.clusterProgram(), "status", "--dir", s.clusterDir()))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func (s *Stage) clusterDown() error {
	return s.passThrough(context.Background(), s.clusterProgram(), "down", "--dir", s.clusterDir())
}
