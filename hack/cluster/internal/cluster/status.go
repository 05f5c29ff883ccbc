// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Report is the health of a cluster.
type Report struct {
	Dir        string       `json:"dir"`
	Healthy    bool         `json:"healthy"`
	Kubeconfig string       `json:"kubeconfig"`
	Server     string       `json:"server"`
	CSI        bool         `json:"csi"`
	Parts      []PartReport `json:"parts"`
}

// PartReport is the health of one part.
type PartReport struct {
	Name   string `json:"name"`
	Pid    int    `json:"pid"`
	Port   int    `json:"port,omitempty"`
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
	Uptime string `json:"uptime,omitempty"`
}

// The states of a part.
const (
	Healthy   = "healthy"
	Unhealthy = "unhealthy"
	Stopped   = "stopped"
)

// Check asks every part. A process that has a part's pid but started at
// another time is not that part.
func Check(ctx context.Context, d Dir, s *State) Report {
	r := Report{Dir: string(d), Kubeconfig: s.Kubeconfig, Server: s.Server, CSI: s.CSI, Healthy: s.Ready && !s.Stopping}
	probe := newProber(d)
	for _, p := range s.Parts {
		one := PartReport{Name: p.Name, Pid: p.Pid, Port: p.Port, State: Stopped}
		if p.Alive() {
			one.State, one.Uptime = Healthy, time.Since(p.Started).Round(time.Second).String()
			if err := probe.check(ctx, p.Probe); err != nil {
				one.State, one.Detail = Unhealthy, err.Error()
			}
		}
		r.Healthy = r.Healthy && one.State == Healthy
		r.Parts = append(r.Parts, one)
	}
	return r
}

// Reason says in a few words what is wrong.
func (r Report) Reason() string {
	var bad []string
	stopped := 0
	for _, p := range r.Parts {
		if p.State == Stopped {
			stopped++
		}
		if p.State != Healthy {
			bad = append(bad, fmt.Sprintf("%s %s", p.Name, p.State))
		}
	}
	switch {
	case len(bad) == 0 && !r.Healthy:
		return "it never came up wholly"
	case stopped == len(r.Parts):
		return "all parts stopped"
	}
	return strings.Join(bad, ", ")
}
