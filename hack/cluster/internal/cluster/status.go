// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"
	"time"
)

// Report is the health of a cluster.
type Report struct {
	Dir        string            `json:"dir"`
	Healthy    bool              `json:"healthy"`
	Kubeconfig string            `json:"kubeconfig"`
	Server     string            `json:"server"`
	CSI        bool              `json:"csi"`
	Components []ComponentReport `json:"components"`
}

// ComponentReport is the health of one component.
type ComponentReport struct {
	Name   string `json:"name"`
	Pid    int    `json:"pid"`
	Port   int    `json:"port,omitempty"`
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
	Uptime string `json:"uptime,omitempty"`
}

// States of a component.
const (
	Healthy   = "healthy"
	Unhealthy = "unhealthy"
	Stopped   = "stopped"
)

// Check probes every component.
func Check(ctx context.Context, d Dir, s *State) Report {
	r := Report{Dir: string(d), Kubeconfig: s.Kubeconfig, Server: s.Server, CSI: s.CSI, Healthy: s.Ready && !s.Stopping}
	probe := newProber(d)
	for _, c := range s.Components {
		one := ComponentReport{Name: c.Name, Pid: c.Pid, Port: c.Port, State: Stopped}
		if c.Alive() {
			one.State, one.Uptime = Healthy, time.Since(c.Started).Round(time.Second).String()
			if err := probe.check(ctx, c.Probe); err != nil {
				one.State, one.Detail = Unhealthy, err.Error()
			}
		}
		r.Healthy = r.Healthy && one.State == Healthy
		r.Components = append(r.Components, one)
	}
	return r
}

// Reason summarizes why the cluster is not healthy.
func (r Report) Reason() string {
	var bad []string
	stopped := 0
	for _, c := range r.Components {
		if c.State == Stopped {
			stopped++
		}
		if c.State != Healthy {
			bad = append(bad, c.Name+" "+c.State)
		}
	}
	switch {
	case len(bad) == 0 && !r.Healthy:
		return "it was never ready"
	case stopped == len(r.Components):
		return "all components stopped"
	}
	return strings.Join(bad, ", ")
}
