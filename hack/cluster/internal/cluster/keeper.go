// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/child"
)

// Hidden commands of this program, with a Config as their argument.
const (
	KeepCommand = "keep"      // the process that owns a cluster
	InitCommand = "node-init" // the first process of a node, which starts the keeper in it
)

// Config is what a keeper must know.
type Config struct {
	Dir  Dir
	Kind Kind
	// Attached ends the cluster when the process that started the keeper ends.
	Attached bool
	// Temporary removes the folder at the end.
	Temporary bool
	// Sockets, Cgroup and Server are set for the keeper in a node. Server is the API server's URL outside the node.
	Sockets, Cgroup, Server string
}

func (c Config) inNode() bool { return c.Server != "" }

// Files are what a keeper inherits besides its standard input, the lifeline: when that ends, what started the keeper is
// gone. The listener is for a keeper in a node; it is in the network outside.
type Files struct{ Progress, Result, Listener *os.File }

// Inherited returns the files that this process inherits. Its own children do not.
func Inherited() Files {
	for fd := 3; fd <= 5; fd++ {
		syscall.CloseOnExec(fd)
	}
	return Files{os.NewFile(3, "progress"), os.NewFile(4, "result"), os.NewFile(5, "listener")}
}

// Close closes all of them.
func (f Files) Close() error {
	return errors.Join(f.Progress.Close(), f.Result.Close(), f.Listener.Close())
}

// Keeper is a child process that keeps a cluster.
type Keeper struct {
	config   Config
	cmd      *exec.Cmd
	lifeline io.WriteCloser
	result   *os.File
}

// ready is the result of a cluster that is up. Another one is an error.
const ready = "ready"

// Start starts a keeper in a session of its own, where no Ctrl-C reaches it, and waits until its cluster is up.
func Start(ctx context.Context, config Config, progress *os.File) (*Keeper, error) {
	if err := config.Dir.prepare(); err != nil {
		return nil, err
	}
	k, err := spawn(KeepCommand, config, Files{Progress: progress}, &syscall.SysProcAttr{Setsid: true})
	if err != nil {
		return nil, err
	}
	if err := k.wait(ctx); err != nil {
		return nil, errors.Join(err, k.Stop())
	}
	return k, nil
}

// spawn starts this program again, with the files of a keeper.
func spawn(command string, config Config, files Files, attr *syscall.SysProcAttr) (*Keeper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(config.Dir.log(command))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	k := &Keeper{config: config, cmd: exec.Command(self, command, string(text))}
	if k.lifeline, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	var result *os.File
	if k.result, result, err = os.Pipe(); err != nil {
		return nil, err
	}
	defer result.Close()
	if files.Listener == nil {
		files.Listener = log // it is not used, but the descriptor must exist
	}
	k.cmd.Dir, k.cmd.Env, k.cmd.Stdout, k.cmd.Stderr = string(config.Dir), minimalEnv(), log, log
	k.cmd.ExtraFiles = []*os.File{files.Progress, result, files.Listener}
	if config.Attached {
		k.cmd.Stderr = files.Progress
	}
	k.cmd.SysProcAttr = attr
	return k, k.cmd.Start()
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

// wait waits until the cluster is up, the keeper has ended, or ctx ends, which ends the keeper.
func (k *Keeper) wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = k.lifeline.Close() })()
	text, err := io.ReadAll(k.result)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil || string(text) == ready:
		return err
	case len(text) == 0:
		return fmt.Errorf("the process that keeps the cluster was killed; see %s", k.config.Dir.Logs())
	}
	return errors.New(string(text))
}

// KillWith makes the keeper kill a process group if this process is killed. Zero ends that.
func (k *Keeper) KillWith(group int) { _, _ = fmt.Fprintln(k.lifeline, group) }

// Stop ends the cluster, and returns when all is removed.
func (k *Keeper) Stop() error {
	_ = k.lifeline.Close()
	err := k.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); ok { // it has said why, or was killed
		_, err = Down(context.Background(), k.config.Dir)
		if k.config.Temporary {
			err = errors.Join(err, os.RemoveAll(string(k.config.Dir)))
		}
	}
	return err
}

// Keep is the keeper: it starts a cluster, keeps it until the lifeline ends or a signal arrives, and removes it.
func Keep(config Config, files Files, up func(ctx context.Context, c *Cluster) error) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c := &Cluster{config: config, progress: files.Progress, listener: files.Listener, State: State{
		Kind: config.Kind, Keeper: os.Getpid(), Node: config.Kind.Node, Sockets: config.Sockets, Cgroup: config.Cgroup,
	}}
	if !config.inNode() {
		lock := config.Dir.lock()
		if free, err := lock.TryLock(); err != nil || !free {
			_, _ = fmt.Fprintf(files.Result, "a cluster is already up in %s (%v)", config.Dir, err)
			return err
		}
		defer func() { err = errors.Join(err, c.remove(), lock.Unlock()) }()
		if err := c.prepare(); err != nil {
			return err
		}
	}
	var isUp atomic.Bool
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		group := followLifeline(os.Stdin)
		if config.Attached || !isUp.Load() {
			if group > 1 {
				// Its leader dies with its parent, but others may live. The number is not reused while they do.
				_ = syscall.Kill(-group, syscall.SIGKILL)
			}
			cancel()
		}
	}()
	defer c.stop()
	upErr := up(ctx, c)
	if upErr == nil {
		upErr = c.save()
	}
	result := ready
	if upErr != nil {
		result = upErr.Error() // for the process that waits for it
	}
	isUp.Store(upErr == nil)
	if !config.Attached {
		_ = files.Progress.Close() // whoever reads it waits for its end
	}
	if _, err := io.WriteString(files.Result, result); err != nil || upErr != nil {
		return err
	}
	_ = files.Result.Close()
	<-ctx.Done()
	return nil
}

// followLifeline returns the last process group that was written when the lifeline ends.
func followLifeline(lifeline io.Reader) (group int) {
	for lines := bufio.NewScanner(lifeline); lines.Scan(); {
		group, _ = strconv.Atoi(lines.Text())
	}
	return group
}

// prepare makes what a keeper outside a node needs besides the folder.
func (c *Cluster) prepare() (err error) {
	// Not os.TempDir, which can be long.
	if c.State.Sockets, err = os.MkdirTemp("/tmp", "snapsched-"); err != nil {
		return err
	}
	if c.State.Node {
		c.State.Cgroup = "snapsched-" + strings.ToLower(rand.Text()[:10])
		c.State.Containerd = filepath.Join(c.State.Sockets, "containerd.sock")
	}
	return c.save()
}

// save writes the state. In a node, process IDs mean nothing to others.
func (c *Cluster) save() error {
	if c.config.inNode() {
		return nil
	}
	return c.State.save(c.config.Dir)
}

// remove removes what is left when all processes have ended.
func (c *Cluster) remove() error {
	err := c.State.clean(c.config.Dir)
	if c.config.Temporary {
		err = errors.Join(err, os.RemoveAll(string(c.config.Dir)))
	}
	return err
}

// Up starts the cluster: all its processes, or a node in which this function starts them.
func Up(ctx context.Context, c *Cluster) error {
	if c.State.Node && !c.config.inNode() {
		return c.startNode(ctx)
	}
	return c.startAll(ctx)
}

// startNode starts a node, and in it another keeper.
func (c *Cluster) startNode(ctx context.Context) error {
	// The node's API server is reachable through this listener only: it stays in this network when the node inherits it.
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	defer l.Close()
	listener, err := l.File()
	if err != nil {
		return err
	}
	defer listener.Close()
	config := c.config
	config.Sockets, config.Cgroup, config.Server = c.State.Sockets, c.State.Cgroup, "https://"+l.Addr().String()
	if c.node, err = spawn(InitCommand, config, Files{Progress: c.progress, Listener: listener}, child.Namespaced()); err != nil {
		return err
	}
	c.watch("node", c.node.cmd)
	return c.node.wait(ctx)
}
