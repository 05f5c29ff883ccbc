// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs child processes that do not outlive this one, and measures their CPU and
// memory (on Linux).
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Options describe a process to start.
type Options struct {
	// Name identifies the process in errors.
	Name string
	// Command is the program and its arguments.
	Command []string
	// Env is added to the environment of this process.
	Env []string
	// Log is the file that stderr is written to, and stdout unless it is piped.
	Log string
	// Piped connects stdin and stdout to Send and Expect.
	Piped bool
}

// Process is a child of this process. It is killed when this process ends, however it ends.
type Process struct {
	// Started is the time just before the process was started.
	Started time.Time

	name, log string
	cmd       *exec.Cmd
	in        io.WriteCloser
	out       *bufio.Reader
	ended     chan struct{}
	exit      error
}

// Start starts a process, which is killed when the context ends.
func Start(ctx context.Context, o Options) (*Process, error) {
	log, err := os.Create(o.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own descriptor
	p := &Process{name: o.Name, log: o.Log, ended: make(chan struct{}), cmd: exec.CommandContext(ctx, o.Command[0], o.Command[1:]...)}
	p.cmd.Env = append(os.Environ(), o.Env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = DieWithParent()
	if o.Piped {
		if p.in, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		// Unlike that of StdoutPipe, this end stays readable after the process has ended.
		out, child, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer child.Close()
		p.out, p.cmd.Stdout = bufio.NewReader(out), child
	}
	p.Started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", o.Name, err)
	}
	go func() {
		p.exit = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Pid is the ID of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Alive returns whether the process runs.
func (p *Process) Alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Kill ends the process as a crash does, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Stop asks the process to end, by the end of its input if that is piped and by SIGTERM otherwise,
// and waits. It returns an error if the process fails, or has to be killed after the timeout.
func (p *Process) Stop(timeout time.Duration) error {
	ask := func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	if p.in != nil {
		ask = p.in.Close
	}
	if err := ask(); err != nil && p.Alive() {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(timeout):
		p.Kill()
		return fmt.Errorf("stop the %s: killed after %s: %s", p.name, timeout, p.Tail(20))
	}
	if p.exit != nil {
		return fmt.Errorf("the %s failed: %w: %s", p.name, p.exit, p.Tail(20))
	}
	return nil
}

// Send writes a line to the piped stdin.
func (p *Process) Send(line string) error {
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

// Expect waits for a line of the piped stdout.
func (p *Process) Expect(want string) error {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the %s ended before it wrote %q: %s", p.name, want, p.Tail(20))
	}
	if strings.TrimSpace(line) != want {
		return fmt.Errorf("the %s wrote %q instead of %q", p.name, line, want)
	}
	return nil
}

// WithContext returns a context that is canceled, with the reason, when the process ends.
func (p *Process) WithContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.ended:
			cancel(errors.Join(fmt.Errorf("the %s has ended: %s", p.name, p.Tail(20)), p.exit))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Explain adds the end of the log to an error if the process has ended.
func (p *Process) Explain(err error) error {
	if err == nil || p.Alive() {
		return err
	}
	return fmt.Errorf("the %s has ended (%w): %s", p.name, err, p.Tail(20))
}

// Log returns what the process has logged so far.
func (p *Process) Log() (string, error) {
	text, err := os.ReadFile(p.log)
	return string(text), err
}

// stack is at the end of every error that zap logs.
var stack = regexp.MustCompile(`,"stacktrace":".*"`)

// Tail returns the last n lines of the log, without stack traces and without the messages of
// controllers that start.
func (p *Process) Tail(n int) string {
	text, err := p.Log()
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"msg":"Starting `) {
			lines = append(lines, line)
		}
	}
	return stack.ReplaceAllString(strings.Join(lines[max(0, len(lines)-n):], ""), "")
}

// Memory is what a process holds, in bytes.
type Memory struct {
	// Resident is VmRSS: all pages in memory, including those of the program's file.
	Resident int64
	// Peak is VmHWM: the maximum of Resident so far.
	Peak int64
	// Anonymous is RssAnon: Resident without the pages of files, which the kernel can drop.
	Anonymous int64
}

// MemoryOf reads the memory of a process.
func MemoryOf(pid int) (Memory, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return Memory{}, err
	}
	s, err := p.NewStatus()
	if err != nil {
		return Memory{}, err
	}
	if s.VmRSS == 0 || s.VmHWM == 0 || s.RssAnon == 0 {
		return Memory{}, fmt.Errorf("process %d has no memory: has it ended?", pid)
	}
	return Memory{Resident: int64(s.VmRSS), Peak: int64(s.VmHWM), Anonymous: int64(s.RssAnon)}, nil
}

// Child returns the PID of the child of this process that runs a program.
func Child(program string) (int, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || stat.PPID != os.Getpid() {
			continue // another process, or one that has ended
		}
		if path, err := p.Executable(); err == nil && filepath.Base(path) == program {
			return p.PID, nil
		}
	}
	return 0, fmt.Errorf("no child of this process runs %s", program)
}
