// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster starts, keeps and stops a local cluster: its control plane,
// the CSI stack, and a node if one is asked for.
package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/child"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// Cluster is a cluster in the process that keeps it.
type Cluster struct {
	State State

	progress io.Writer
	parts    []*process
	stopping atomic.Bool
}

type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

const readyTimeout = time.Minute

// start starts a component and waits until it is ready. If another process took its port first, it tries another one.
func (c *Cluster) start(ctx context.Context, name, probe string) error {
	for attempt := 1; ; attempt++ {
		err := c.startOnce(ctx, name, probe)
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		log := tail(c.State.Dir.log(name))
		if attempt == 3 || !strings.Contains(log, "address already in use") {
			return fmt.Errorf("%s: %w%s", name, err, log)
		}
	}
}

func (c *Cluster) startOnce(ctx context.Context, name, probe string) error {
	args, err := c.arguments(name)
	port, portErr := freePort()
	if err := errors.Join(err, portErr); err != nil {
		return err
	}
	fill := strings.NewReplacer("{port}", port)
	log, err := os.Create(c.State.Dir.log(name))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(c.State.Bin, recipe.File(name)))
	for _, arg := range args {
		cmd.Args = append(cmd.Args, fill.Replace(arg))
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = string(c.State.Dir), minimalEnv(), log, log
	cmd.SysProcAttr = child.Attr(syscall.SysProcAttr{Setpgid: true})
	p, err := launch(cmd)
	if err != nil {
		return err
	}
	c.watch(name, p)
	probe = fill.Replace(probe)
	if err := p.await(ctx, probe); err != nil {
		p.kill()
		return err
	}
	c.State.Parts = append(c.State.Parts, Part{Name: name, Pid: cmd.Process.Pid, Probe: probe})
	return nil
}

// minimalEnv leaves out most of the caller's environment: KUBECONFIG would override a sidecar's flag and point it at
// another cluster, and ETCD_* variables would configure etcd.
func minimalEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// address returns the host and port of a part that was started.
func (c *Cluster) address(name string) string {
	i := slices.IndexFunc(c.State.Parts, func(p Part) bool { return p.Name == name })
	return strings.Split(c.State.Parts[i].Probe, "/")[2]
}

// launch starts a process.
func launch(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// watch stops a process with the cluster, and warns if it ends earlier: what runs on the cluster may want that.
func (c *Cluster) watch(name string, p *process) {
	c.parts = append(c.parts, p)
	go func() {
		<-p.done
		if !c.stopping.Load() {
			_, _ = fmt.Fprintf(c.progress, "warning: %s exited unexpectedly: %s\n", name, p.cmd.ProcessState)
		}
	}()
}

// await waits until the process is ready, or has ended.
func (p *process) await(ctx context.Context, probe string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		<-p.done
		cancel(fmt.Errorf("exited unexpectedly: %s", p.cmd.ProcessState))
	}()
	return poll(ctx, readyTimeout, func(context.Context) error { return check(probe) })
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop kills all processes, the last started first. No data must be saved.
func (c *Cluster) stop() {
	c.stopping.Store(true)
	for _, p := range slices.Backward(c.parts) {
		p.kill()
	}
}

// freePort returns a port on which nothing listens.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// insecure trusts all servers: what it checks is on loopback, and has a new certificate in each cluster.
var insecure = &http.Client{
	Timeout:   2 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

// check returns an error unless the component at a URL (http, https or unix) is ready.
func check(url string) error {
	if path, ok := strings.CutPrefix(url, "unix://"); ok {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	response, err := insecure.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	return nil
}

// poll calls a condition until it returns no error. Otherwise it returns why ctx ended, or the last error.
func poll(ctx context.Context, timeout time.Duration, condition func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		last = condition(ctx)
		return last == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("not ready after %s: %w", timeout, last)
}

// tail returns the end of a log, formatted as the end of an error message.
func tail(path string) string {
	text, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Sprintf("\n  last lines of %s:\n    %s", path, strings.Join(lines[max(0, len(lines)-20):], "\n    "))
}
