// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
)

// Dir is the folder of a cluster.
type Dir string

// Kubeconfig returns the path of the admin's kubeconfig.
func (d Dir) Kubeconfig() string { return d.at("kubeconfig") }

// Logs returns the folder of the components' logs.
func (d Dir) Logs() string { return d.at("logs") }

func (d Dir) log(component string) string { return d.at("logs", component+".log") }
func (d Dir) data(name string) string     { return d.at("data", name) }
func (d Dir) state() string               { return d.at("cluster.json") }
func (d Dir) at(names ...string) string {
	return filepath.Join(append([]string{string(d)}, names...)...)
}

// lock is held by the process that keeps the cluster. The kernel releases it when that process dies.
func (d Dir) lock() *flock.Flock { return flock.New(d.at("cluster.lock")) }

// prepare locks the folder, and removes what an earlier cluster left in it. It rejects a folder with other content, because
// that is removed at the end.
func (d Dir) prepare() (*flock.Flock, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	lock := d.lock()
	if _, err := os.Stat(lock.Path()); err != nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is neither empty nor the folder of a cluster; set another one with --dir", d)
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	if free, err := lock.TryLock(); err != nil || !free {
		return nil, errors.Join(err, fmt.Errorf("a cluster is already up in %s; run down first", d))
	}
	old, _ := Load(d) // of a process that was killed
	err = errors.Join(old.clean(), os.RemoveAll(d.Logs()), os.RemoveAll(d.at("audit.log")),
		os.Mkdir(d.Logs(), 0o700), os.MkdirAll(d.data("pki"), 0o700))
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return lock, nil
}

// State is the content of cluster.json, which other runs of this program and the test suites read.
type State struct {
	// Dir is the cluster's folder, and Bin that of the programs.
	Dir Dir
	Bin string
	// CSI adds the snapshot stack, and Node a node, so that the cluster runs pods.
	CSI, Node bool
	// Keeper is the pid of the process that holds the lock. It stops the cluster on SIGTERM.
	Keeper int
	// Sockets is a folder outside the cluster's, because the paths of sockets must be short.
	Sockets string
	// Containerd is the node's containerd socket, and Cgroup contains its pods.
	Containerd, Cgroup string
	// Server is the URL of a node's API server outside the node.
	Server string
	// Parts are the processes of a cluster without a node.
	Parts []Part
}

// Part is a process of a cluster. Probe is a URL that answers when it is ready.
type Part struct {
	Name  string
	Pid   int
	Probe string
}

// errNoCluster means that no cluster was started in the folder.
var errNoCluster = errors.New("no cluster")

// Load reads the state of the cluster in a folder.
func Load(d Dir) (State, error) {
	s := State{Dir: d}
	text, err := os.ReadFile(d.state())
	if errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("%w in %s", errNoCluster, d)
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

func (s State) save() error {
	text, err := json.MarshalIndent(s, "", "  ")
	tmp := s.Dir.state() + ".tmp"
	return errors.Join(err, os.WriteFile(tmp, append(text, '\n'), 0o600), os.Rename(tmp, s.Dir.state()))
}

// clean removes what is left of a cluster whose processes have ended, except its logs.
func (s State) clean() error {
	return errors.Join(node.RemoveCgroup(s.Cgroup), os.RemoveAll(s.Sockets),
		os.RemoveAll(s.Dir.at("data")), os.RemoveAll(s.Dir.Kubeconfig()), os.RemoveAll(s.Dir.state()))
}

// Down stops the cluster in a folder, removes its data and keeps its logs. It returns whether there was a cluster.
func Down(ctx context.Context, d Dir) (bool, error) {
	s, err := Load(d)
	if errors.Is(err, errNoCluster) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	lock := d.lock()
	free, err := lock.TryLock()
	if err == nil && !free {
		// The pid is the keeper's as long as the lock is held.
		if err = syscall.Kill(s.Keeper, syscall.SIGTERM); err == nil || errors.Is(err, syscall.ESRCH) {
			_, err = lock.TryLockContext(ctx, 20*time.Millisecond)
		}
	}
	if err != nil {
		return true, fmt.Errorf("stop the cluster in %s: %w", d, err)
	}
	return true, errors.Join(s.clean(), lock.Unlock()) // again, in case that the keeper was killed
}
