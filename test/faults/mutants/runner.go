// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/campaign"
)

const (
	// mutantTimeout limits the time for one mutant: its defect may be that something
	// never ends.
	mutantTimeout = 15 * time.Minute
	// idleTime is how long the campaign observes end states in class idle: longer than
	// the time between two actions of a mutant that is not idle.
	idleTime = 12 * time.Second
)

// runner runs the campaign and the simulation on programs that it builds.
type runner struct {
	root, dir string
	parallel  int
	verbose   bool
	log       io.Writer
	// campaign is the campaign's program, once it is built.
	campaign string
}

func (r *runner) logf(format string, args ...any) { _, _ = fmt.Fprintf(r.log, format+"\n", args...) }

// outcome is the result of running plans or simulations on a program.
type outcome struct {
	Mutant     string   `json:"mutant,omitempty"`
	Defect     string   `json:"defect,omitempty"`
	Guarantees []string `json:"guarantees,omitempty"`
	Caught     bool     `json:"caught"`
	violation
	// Runs counts the runs, or simulations, up to the violation.
	Runs int `json:"runs"`
	// Seconds is the time of the runs, Build that of the build.
	Seconds float64 `json:"seconds"`
	Build   float64 `json:"buildSeconds"`
	// Error says why the runs could not be judged.
	Error string `json:"error,omitempty"`
}

// violation is a violated guarantee, and the plan or seed that showed it.
type violation struct {
	By        string `json:"by,omitempty"`
	Guarantee string `json:"guarantee,omitempty"`
	Message   string `json:"message,omitempty"`
}

// baseline runs the plans and simulations of all mutants on the product as it is.
func (r *runner) baseline(ctx context.Context, mutants []*mutant) (*outcome, error) {
	plans, simulations := &mutant{Name: "baseline"}, &mutant{Name: "baseline"}
	for _, m := range mutants {
		for _, p := range m.Plans {
			if !slices.Contains(plans.Plans, p) {
				plans.Plans = append(plans.Plans, p)
			}
		}
		simulations.Simulations = max(simulations.Simulations, m.Simulations)
	}
	sum := &outcome{}
	for _, what := range []*mutant{plans, simulations} {
		if len(what.Plans) == 0 && what.Simulations == 0 {
			continue
		}
		o, err := r.try(ctx, what, nil)
		if err != nil {
			return nil, err
		}
		sum.Runs += o.Runs
		sum.Seconds += o.Seconds
		sum.Build += o.Build
		if sum.By == "" && sum.Error == "" {
			sum.violation, sum.Error = o.violation, o.Error
		}
	}
	return sum, nil
}

// run runs what must find a mutant. The error is about all mutants; what goes wrong
// with this one is in its outcome.
func (r *runner) run(ctx context.Context, m *mutant) (*outcome, error) {
	o, err := r.try(ctx, m, m)
	if err != nil {
		return nil, err
	}
	o.Mutant, o.Defect, o.Guarantees = m.Name, m.Defect, m.Guarantees
	o.Caught = slices.Contains(m.Guarantees, o.Guarantee)
	return o, nil
}

// try runs the plans or simulations of a mutant on the product with another mutant
// or, for nil, without.
func (r *runner) try(ctx context.Context, what, in *mutant) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, mutantTimeout)
	defer cancel()
	dir, err := os.MkdirTemp(r.dir, what.Name+"-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	pkg := simulationsPackage
	if len(what.Plans) > 0 {
		pkg = operatorPackage
		if err := r.buildCampaign(ctx); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	program, err := build(ctx, r.root, dir, pkg, in)
	o := &outcome{Build: time.Since(began).Seconds()}
	switch {
	case err != nil && in == nil:
		return nil, err
	case err != nil:
		o.Error = err.Error()
		return o, nil
	}
	began = time.Now()
	var found []violation
	if len(what.Plans) > 0 {
		found, err = r.runPlans(ctx, o, program, what.Plans)
	} else {
		found, err = r.runSimulations(ctx, o, program, what)
	}
	o.Seconds = time.Since(began).Seconds()
	if err != nil {
		o.Error = err.Error()
	}
	if len(found) > 0 {
		// Several guarantees may be violated: prefer one that the mutant must violate.
		i := slices.IndexFunc(found, func(v violation) bool { return slices.Contains(what.Guarantees, v.Guarantee) })
		o.violation = found[max(0, i)]
	}
	return o, nil
}

func (r *runner) buildCampaign(ctx context.Context) (err error) {
	if r.campaign == "" {
		r.logf("Building the campaign")
		r.campaign, err = build(ctx, r.root, r.dir, campaignPackage, nil)
	}
	return err
}

// runPlans runs the campaign, which stops at the first violation.
func (r *runner) runPlans(ctx context.Context, o *outcome, operator string, plans []string) ([]violation, error) {
	args := []string{
		"--operator", operator, "--plan", strings.Join(plans, ","), "--first", "-o", "json",
		"--idle", idleTime.String(), "--parallel", fmt.Sprint(r.parallel),
	}
	out, stderr, err := r.output(ctx, r.campaign, args)
	var report campaign.Report
	if json.Unmarshal(out, &report) != nil {
		return nil, fmt.Errorf("the campaign printed no report: %w: %s", err, tail(stderr))
	}
	for _, row := range report.Rows {
		o.Runs += row.Plans + row.Missed
	}
	var found []violation
	var errs []error
	for _, f := range report.Failures {
		for _, v := range f.Violations {
			guarantee, message, _ := strings.Cut(v, ": ")
			found = append(found, violation{By: f.Plan, Guarantee: guarantee, Message: message})
		}
		if f.Error != "" {
			errs = append(errs, fmt.Errorf("%s: %s", f.Plan, f.Error))
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case err != nil && len(errs) == 0:
		errs = append(errs, fmt.Errorf("the campaign: %w: %s", err, tail(stderr)))
	case report.Done == report.Missed:
		errs = append(errs, errors.New("no plan reached its point, so nothing was tested"))
	}
	return nil, errors.Join(errs...)
}

// runSimulations runs simulations until one violates a guarantee that the mutant must
// violate.
func (r *runner) runSimulations(ctx context.Context, o *outcome, program string, what *mutant) ([]violation, error) {
	args := []string{"--n", fmt.Sprint(what.Simulations), "--until", strings.Join(what.Guarantees, ",")}
	out, stderr, err := r.output(ctx, program, args)
	var found []violation
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var simulation struct {
			Seed                uint64
			Oracles, Violations []string
		}
		if err := json.Unmarshal(lines.Bytes(), &simulation); err != nil {
			return nil, err
		}
		o.Runs++
		for i, v := range simulation.Violations {
			guarantee := simulation.Oracles[i]
			found = append(found, violation{
				By: fmt.Sprintf("seed %d", simulation.Seed), Guarantee: guarantee, Message: strings.TrimPrefix(v, guarantee+": "),
			})
		}
	}
	if len(found) == 0 && err != nil {
		return nil, fmt.Errorf("the simulation: %w: %s", err, tail(stderr))
	}
	return found, nil
}

// output runs a program, and stops it with this one.
func (r *runner) output(ctx context.Context, program string, args []string) (stdout []byte, stderr string, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = r.root
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if r.verbose {
		cmd.Stderr = io.MultiWriter(&errs, r.log)
	}
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s was stopped: %w", filepath.Base(program), ctx.Err())
	}
	return out.Bytes(), errs.String(), err
}

// tail returns the end of a program's output.
func tail(text string) string {
	const most = 600
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-most):]
}
