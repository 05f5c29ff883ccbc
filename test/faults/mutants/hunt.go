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

// longest is how long one mutant may take: a defect may be that something never
// ends.
const longest = 15 * time.Minute

// idle is how long the campaign watches the ends of runs in class idle: longer than
// what a mutant may take between two things that it should not do.
const idle = 12 * time.Second

// hunter runs the campaign and the simulation on programs that it builds.
type hunter struct {
	root, dir string
	parallel  int
	verbose   bool
	told      io.Writer
	// campaign is the campaign's program, once it is built.
	campaign string
}

func (h *hunter) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(h.told, format+"\n", args...)
}

// score is what came of running some plans, or some lives, on a program.
type score struct {
	Mutant string   `json:"mutant,omitempty"`
	Breaks string   `json:"breaks,omitempty"`
	Falls  []string `json:"falls,omitempty"`
	Caught bool     `json:"caught"`
	// By is the plan or the life that broke a guarantee, Guarantee is that one, and
	// Message says what happened.
	By        string `json:"by,omitempty"`
	Guarantee string `json:"guarantee,omitempty"`
	Message   string `json:"message,omitempty"`
	// Runs are how many runs, or lives, there were, up to and with that one.
	Runs int `json:"runs"`
	// Seconds are those of the runs; Build is the time to compile.
	Seconds float64 `json:"seconds"`
	Build   float64 `json:"buildSeconds"`
	// Error says that the runs could not be judged.
	Error string `json:"error,omitempty"`
}

// finding is one breach of a guarantee.
type finding struct{ by, guarantee, message string }

// clean runs everything that any mutant is given on the product as it is.
func (h *hunter) clean(ctx context.Context, mutants []*mutant) (*score, error) {
	all := &mutant{Name: "none"}
	for _, m := range mutants {
		for _, p := range m.Plans {
			if !slices.Contains(all.Plans, p) {
				all.Plans = append(all.Plans, p)
			}
		}
		all.Lives = max(all.Lives, m.Lives)
	}
	var sum *score
	if len(all.Plans) > 0 {
		s, err := h.try(ctx, &mutant{Name: all.Name, Plans: all.Plans}, nil)
		if err != nil {
			return nil, err
		}
		sum = s
	}
	if all.Lives > 0 {
		s, err := h.try(ctx, &mutant{Name: all.Name, Lives: all.Lives}, nil)
		if err != nil {
			return nil, err
		}
		sum = s.plus(sum)
	}
	return sum, nil
}

// plus adds what an earlier score has found.
func (s *score) plus(earlier *score) *score {
	if earlier == nil {
		return s
	}
	sum := *earlier
	sum.Runs += s.Runs
	sum.Seconds += s.Seconds
	sum.Build += s.Build
	if sum.By == "" && sum.Error == "" {
		sum.By, sum.Guarantee, sum.Message, sum.Error = s.By, s.Guarantee, s.Message, s.Error
	}
	return &sum
}

// hunt runs what should find a mutant. An error ends everything; what went wrong
// with one mutant alone is in its score.
func (h *hunter) hunt(ctx context.Context, m *mutant) (*score, error) {
	s, err := h.try(ctx, m, m)
	if err != nil {
		return nil, err
	}
	s.Mutant, s.Breaks, s.Falls = m.Name, m.Breaks, m.Falls
	s.Caught = slices.Contains(m.Falls, s.Guarantee)
	return s, nil
}

// try runs the plans or lives of one mutant on the product with another in it; nil:
// none.
func (h *hunter) try(ctx context.Context, what, in *mutant) (*score, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	dir, err := os.MkdirTemp(h.dir, what.Name+"-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	pkg := operatorPackage
	if len(what.Plans) == 0 {
		pkg = livesPackage
	} else if err := h.needCampaign(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	program, err := build(ctx, h.root, dir, pkg, in)
	s := &score{Build: time.Since(began).Seconds()}
	switch {
	case err != nil && in == nil:
		return nil, err
	case err != nil:
		s.Error = err.Error()
		return s, nil
	}
	began = time.Now()
	var found []finding
	if len(what.Plans) > 0 {
		found, err = h.runPlans(ctx, s, program, what.Plans)
	} else {
		found, err = h.runLives(ctx, s, program, what)
	}
	s.Seconds = time.Since(began).Seconds()
	if err != nil {
		s.Error = err.Error()
	}
	if len(found) > 0 {
		f := found[0]
		// The guarantee that should fall, if it is among those that did.
		for _, other := range found {
			if slices.Contains(what.Falls, other.guarantee) {
				f = other
				break
			}
		}
		s.By, s.Guarantee, s.Message = f.by, f.guarantee, f.message
	}
	return s, nil
}

func (h *hunter) needCampaign(ctx context.Context) (err error) {
	if h.campaign == "" {
		h.tell("building the campaign")
		h.campaign, err = build(ctx, h.root, h.dir, campaignPackage, nil)
	}
	return err
}

// runPlans runs a process of the campaign, which ends at the first violation.
func (h *hunter) runPlans(ctx context.Context, s *score, operator string, plans []string) ([]finding, error) {
	args := []string{
		"--operator", operator, "--plan", strings.Join(plans, ","), "--first", "-o", "json",
		"--idle", idle.String(), "--parallel", fmt.Sprint(h.parallel),
	}
	out, told, err := h.output(ctx, h.campaign, args)
	var r campaign.Report
	if json.Unmarshal(out, &r) != nil {
		return nil, fmt.Errorf("the campaign gave no report: %w: %s", err, tail(told))
	}
	for _, row := range r.Rows {
		s.Runs += row.Plans + row.Missed
	}
	var found []finding
	var errs []error
	for _, f := range r.Failures {
		for _, v := range f.Violations {
			guarantee, message, _ := strings.Cut(v, ": ")
			found = append(found, finding{by: f.Plan, guarantee: guarantee, message: message})
		}
		if f.Error != "" {
			errs = append(errs, fmt.Errorf("%s: %s", f.Plan, f.Error))
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case err != nil && len(errs) == 0:
		errs = append(errs, fmt.Errorf("the campaign: %w: %s", err, tail(told)))
	case r.Done == r.Missed:
		errs = append(errs, errors.New("no plan came to its point, so that nothing was tried"))
	}
	return nil, errors.Join(errs...)
}

// runLives runs lives until one breaks a guarantee that the mutant should.
func (h *hunter) runLives(ctx context.Context, s *score, program string, what *mutant) ([]finding, error) {
	out, told, err := h.output(ctx, program, []string{"--n", fmt.Sprint(what.Lives), "--until", strings.Join(what.Falls, ",")})
	var found []finding
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var life struct {
			Seed                uint64
			Oracles, Violations []string
		}
		if err := json.Unmarshal(lines.Bytes(), &life); err != nil {
			return nil, err
		}
		s.Runs++
		for i, v := range life.Violations {
			found = append(found, finding{
				by: fmt.Sprintf("seed %d", life.Seed), guarantee: life.Oracles[i],
				message: strings.TrimPrefix(v, life.Oracles[i]+": "),
			})
		}
	}
	if len(found) == 0 && err != nil {
		return nil, fmt.Errorf("the simulation: %w: %s", err, tail(told))
	}
	return found, nil
}

// output runs a program of ours, and ends it with this one.
func (h *hunter) output(ctx context.Context, program string, args []string) (out []byte, told string, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = h.root
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if h.verbose {
		cmd.Stderr = io.MultiWriter(&stderr, h.told)
	}
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s was ended: %w", filepath.Base(program), ctx.Err())
	}
	return stdout.Bytes(), stderr.String(), err
}

// tail is the end of what a program told.
func tail(text string) string {
	const most = 600
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-most):]
}
