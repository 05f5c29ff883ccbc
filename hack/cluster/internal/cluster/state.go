// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
)

// State is the content of cluster.json: what another run of this program needs to
// check and stop the cluster. It is written whenever a component starts, so that
// every process can always be found. The test suites read it too.
type State struct {
	// Recipe is the cache key of the versions.
	Recipe     string `json:"recipe"`
	Bin        string `json:"bin"`
	CSI        bool   `json:"csi"`
	Server     string `json:"server,omitempty"`
	Kubeconfig string `json:"kubeconfig"`
	Ready      bool   `json:"ready"`
	Stopping   bool   `json:"stopping,omitempty"`
	SocketDir  string `json:"socketDir,omitempty"`
	// Node is set if the cluster runs pods. The node is then the only component
	// here, because it contains the others.
	Node bool `json:"node,omitempty"`
	// Cgroup contains the node's pods. Containerd is its containerd socket.
	Cgroup     string      `json:"cgroup,omitempty"`
	Containerd string      `json:"containerd,omitempty"`
	Components []Component `json:"parts"`
}

// Component is one process of a cluster.
type Component struct {
	Name string `json:"name"`
	proc.Identity
	Port  int    `json:"port,omitempty"`
	Probe string `json:"probe"`
}

// ErrNoCluster means that no cluster was started in the folder.
var ErrNoCluster = errors.New("no cluster")

// Load reads the state of the cluster in a folder.
func Load(d Dir) (*State, error) {
	b, err := os.ReadFile(d.state())
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoCluster, d)
	}
	if err != nil {
		return nil, err
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s is corrupt (%w); stop the processes manually and remove the folder", d.state(), err)
	}
	return &s, nil
}

func (s *State) save(d Dir) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp := d.state() + ".tmp"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, d.state())
}

// set adds a component, or replaces an earlier attempt to start it.
func (s *State) set(c Component) {
	i := slices.IndexFunc(s.Components, func(other Component) bool { return other.Name == c.Name })
	if i < 0 {
		s.Components = append(s.Components, c)
		return
	}
	s.Components[i] = c
}
