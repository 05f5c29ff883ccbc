// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"
)

// Report is the health of a cluster.
type Report struct {
	Dir        Dir
	Healthy    bool
	Components []ComponentReport
}

// ComponentReport is the health of one component.
type ComponentReport struct {
	Component
	State  string
	Detail string
}

// States of a component.
const (
	Healthy   = "healthy"
	Unhealthy = "unhealthy"
	Stopped   = "stopped"
)

// Check probes every component.
func Check(ctx context.Context, d Dir, s *State) Report {
	r := Report{Dir: d, Healthy: s.Ready && !s.Stopping}
	probe := newProber(d)
	for _, c := range s.Components {
		one := ComponentReport{Component: c, State: Stopped}
		if c.Alive() {
			one.State = Healthy
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
	for _, c := range r.Components {
		if c.State != Healthy {
			bad = append(bad, c.Name+" "+c.State)
		}
	}
	if len(bad) == 0 {
		return "it was never ready"
	}
	return strings.Join(bad, ", ")
}
