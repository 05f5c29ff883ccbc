// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// StartOperator starts the operator and waits until it says that it is ready.
func (s *Stage) StartOperator(ctx context.Context) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	log, err := os.Create(s.OperatorLog())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.command(s.operatorBinary(), "--health-probe-bind-address="+address)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()
	if s.Keep {
		// Away from the terminal, so that it outlives this program.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		pid, err := lockPid(s.operatorPid())
		if err != nil {
			return err
		}
		defer pid.Close()
		cmd.ExtraFiles = []*os.File{pid}
	}
	if s.operator, err = start(cmd); err != nil {
		return err
	}
	if s.Keep {
		if err := os.WriteFile(s.operatorPid(), fmt.Appendln(nil, cmd.Process.Pid), 0o600); err != nil {
			return err
		}
	}
	return s.operator.ready(ctx, "http://"+address+"/readyz")
}

// Operator is closed when the operator has ended.
func (s *Stage) Operator() <-chan struct{} { return s.operator.Done }

// Running tells whether the operator is.
func (s *Stage) Running() bool {
	if s.operator == nil {
		return false
	}
	select {
	case <-s.operator.Done:
		return false
	default:
		return true
	}
}

// ready asks until the answer is yes.
func (p *Process) ready(ctx context.Context, url string) error {
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-every.C:
		case <-p.Done:
			return fmt.Errorf("the operator ended by itself: %w", p.Err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// freeAddress is one that nobody listens on now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
