// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/proc"
)

// Process is a child whose CPU and memory are measured.
type Process struct {
	// Started is just before the process came to be.
	Started time.Time

	name    string
	cmd     *exec.Cmd
	log     *os.File
	in      io.WriteCloser
	out     *bufio.Reader
	ended   chan struct{}
	endErr  error
	metrics string
	// signalled ones are told to end by SIGTERM.
	signalled bool
}

// start starts a child that is killed when the context ends.
func (l *Lab) start(ctx context.Context, name string, env []string, program string, args ...string) (*Process, error) {
	log, err := os.CreateTemp(l.dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	p := &Process{name: name, log: log, ended: make(chan struct{}), cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Env = append(append(os.Environ(), "KUBECONFIG="+l.Kubeconfig), env...)
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = proc.DieWithParent()
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, child, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.out, p.cmd.Stdout = bufio.NewReader(out), child
	p.Started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the %s: %w", name, err), child.Close(), out.Close(), log.Close())
	}
	l.running.Add(1)
	go func() {
		p.endErr = p.cmd.Wait()
		l.running.Add(-1)
		close(p.ended)
	}()
	return p, child.Close()
}

// say sends a line to the child.
func (p *Process) say(line string) error {
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

// hear waits for the child to say a line.
func (p *Process) hear(want string) error {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the %s ended before it said %q: %s", p.name, want, p.tail())
	}
	if strings.TrimSpace(line) != want {
		return fmt.Errorf("the %s said %q instead of %q", p.name, line, want)
	}
	return nil
}

// CPU is what the process has used so far, on all threads, in user and kernel mode.
func (p *Process) CPU() (time.Duration, error) {
	used, err := proc.CPU(p.cmd.Process.Pid)
	return used, p.explain(err)
}

// Memory is what the process holds.
func (p *Process) Memory() (proc.Memory, error) {
	m, err := proc.MemoryOf(p.cmd.Process.Pid)
	return m, p.explain(err)
}

// While is a context that ends, with the reason, when the process does.
func (p *Process) While(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.ended:
			cancel(errors.Join(fmt.Errorf("the %s has ended: %s", p.name, p.tail()), p.endErr))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Quiesce waits until the process has hardly used any CPU for half a second.
func (p *Process) Quiesce(ctx context.Context) error {
	const (
		window  = 100 * time.Millisecond
		windows = 5
		little  = 3 * time.Millisecond
	)
	tick := time.NewTicker(window)
	defer tick.Stop()
	last, err := p.CPU()
	if err != nil {
		return err
	}
	for quiet := 0; quiet < windows; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the %s does not come to rest: %w", p.name, context.Cause(ctx))
		case <-tick.C:
		}
		now, err := p.CPU()
		if err != nil {
			return err
		}
		quiet++
		if now-last > little {
			quiet = 0
		}
		last = now
	}
	return nil
}

// Stop ends the operator as a kubelet would, the bare client by the end of its input, and expects
// them to end well.
func (p *Process) Stop() error {
	defer p.log.Close()
	_ = p.in.Close()
	if p.signalled {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("the %s did not end within 20 s of being told to: %s", p.name, p.tail())
	}
	if p.endErr != nil {
		return fmt.Errorf("the %s: %w: %s", p.name, p.endErr, p.tail())
	}
	return nil
}

func (p *Process) explain(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-p.ended:
		return fmt.Errorf("the %s has ended (%w): %s", p.name, err, p.tail())
	default:
		return err
	}
}

// tail is the end of what it wrote to its log.
func (p *Process) tail() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Sprintf("the end of %s:\n%s", filepath.Base(p.log.Name()), strings.Join(lines[max(0, len(lines)-15):], "\n"))
}
