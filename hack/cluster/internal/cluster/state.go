// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
)

// State is what cluster.json holds: enough for another run of this program to
// check and to stop the cluster. It is written each time a part starts, so
// that whatever happens, every process can be found.
type State struct {
	Recipe     string `json:"recipe"`
	Bin        string `json:"bin"`
	CSI        bool   `json:"csi"`
	Server     string `json:"server,omitempty"`
	Kubeconfig string `json:"kubeconfig"`
	Ready      bool   `json:"ready"`
	Stopping   bool   `json:"stopping,omitempty"`
	SocketDir  string `json:"socketDir,omitempty"`
	// Node says that the cluster runs pods. Its only part is then the node, which holds the others.
	Node bool `json:"node,omitempty"`
	// Cgroup is what the node's pods are in, and Containerd the socket that images are loaded through.
	Cgroup     string    `json:"cgroup,omitempty"`
	Containerd string    `json:"containerd,omitempty"`
	Started    time.Time `json:"started"`
	Parts      []Part    `json:"parts"`
}

// Part is one process of a cluster, in the order of starting.
type Part struct {
	Name string `json:"name"`
	proc.Identity
	Port    int       `json:"port,omitempty"`
	Probe   string    `json:"probe"`
	Log     string    `json:"log"`
	Started time.Time `json:"started"`
}

// ErrNoCluster says that the folder has no cluster, up or half down.
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
		return nil, fmt.Errorf("%s is damaged (%w); stop its processes by hand and remove the folder", d.state(), err)
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

// set records a part, in the place of an earlier try at the same part.
func (s *State) set(p Part) {
	for i := range s.Parts {
		if s.Parts[i].Name == p.Name {
			s.Parts[i] = p
			return
		}
	}
	s.Parts = append(s.Parts, p)
}
