// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/bareclient"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

// Client is a process that uses the API server, and whose CPU and memory are measured.
type Client struct{ *process.Process }

// client counts a process as running until it ends.
func (s *Server) client(p *process.Process) *Client {
	s.running.Add(1)
	go func() {
		<-p.Ended()
		s.running.Add(-1)
	}()
	return &Client{Process: p}
}

// fileName returns a new name for a log.
func (s *Server) fileName(name string) string { return fmt.Sprintf("%s-%d", name, s.started.Add(1)) }

// CPU returns what the process has used so far, on all threads, in user and kernel mode.
func (c *Client) CPU() (time.Duration, error) {
	used, err := process.CPU(c.Pid())
	return used, c.Explain(err)
}

// UsedCPU returns the CPU that the process uses for a task: until the task is done and the process is idle.
func (c *Client) UsedCPU(ctx context.Context, task func(context.Context) error) (time.Duration, error) {
	ctx, cancel := c.WithContext(ctx)
	defer cancel()
	before, err := c.CPU()
	if err != nil {
		return 0, err
	}
	if err := task(ctx); err != nil {
		return 0, err
	}
	if err := c.WaitIdle(ctx); err != nil {
		return 0, err
	}
	after, err := c.CPU()
	return after - before, err
}

// Memory returns what the process holds.
func (c *Client) Memory() (process.Memory, error) {
	m, err := process.MemoryOf(c.Pid())
	return m, c.Explain(err)
}

// WaitIdle waits until the process has used next to no CPU for half a second.
func (c *Client) WaitIdle(ctx context.Context) error {
	const (
		window  = 100 * time.Millisecond
		windows = 5
		most    = 3 * time.Millisecond
	)
	tick := time.NewTicker(window)
	defer tick.Stop()
	last, err := c.CPU()
	if err != nil {
		return err
	}
	for idle := 0; idle < windows; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the process does not become idle: %w", context.Cause(ctx))
		case <-tick.C:
		}
		now, err := c.CPU()
		if err != nil {
			return err
		}
		idle++
		if now-last > most {
			idle = 0
		}
		last = now
	}
	return nil
}

// Stop stops the process, which must exit 0.
func (c *Client) Stop() error { return c.Process.Stop(20 * time.Second) }

// BareClient is this program, started as the client that the operator is compared with: on as many processors
// as the operator, but otherwise with Go's defaults.
type BareClient struct{ *Client }

// StartBareCreates starts a bare client that opens its informers and waits for Go.
func (s *Server) StartBareCreates(ctx context.Context, m Manifest, job bareclient.Job) (*BareClient, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	c, err := s.startBare(ctx, m, bareclient.Creates, string(text))
	if err != nil {
		return nil, err
	}
	if err := c.Expect(bareclient.Ready); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// StartBareList starts a bare client that lists all snapshots of the cluster in pages.
func (s *Server) StartBareList(ctx context.Context, m Manifest) (*BareClient, error) {
	return s.startBare(ctx, m, bareclient.List)
}

func (s *Server) startBare(ctx context.Context, m Manifest, args ...string) (*BareClient, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := process.Start(ctx, process.Options{
		Name: "bare client", Command: append([]string{self}, args...), Env: append([]string{"KUBECONFIG=" + s.kubeconfig}, m.Processors...),
		Log: filepath.Join(s.dir, s.fileName("bare-client")+".log"), Piped: true,
	})
	if err != nil {
		return nil, err
	}
	return &BareClient{Client: s.client(p)}, nil
}

// Go starts the creates.
func (c *BareClient) Go() error { return c.Send(bareclient.Go) }

// Wait waits until the bare client has done its work.
func (c *BareClient) Wait() error { return c.Expect(bareclient.Done) }
