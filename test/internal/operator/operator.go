// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator runs the operator's program as a child process.
package operator

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

// Options describe how to start the operator.
type Options struct {
	// Command is the program, and what it is started by, if by another program.
	Command []string
	// Kubeconfig is the file it reads.
	Kubeconfig string
	// Flags are added to those of this package.
	Flags []string
	// Env is added to the environment of this process.
	Env []string
	// Dir receives the log, as the file <Name>.log.
	Dir, Name string
}

// Operator is one process of the operator's program.
type Operator struct{ *process.Process }

// Start starts the operator, with its probes on a free port, and does not wait for it. It is
// killed when the context ends.
func Start(ctx context.Context, o Options) (*Operator, error) {
	p, err := process.Start(ctx, process.Options{
		Name: "operator",
		// The last of two flags with the same name wins.
		Command: slices.Concat(o.Command, o.Flags, []string{"--health-probe-bind-address=127.0.0.1:0"}),
		Env:     append([]string{"KUBECONFIG=" + o.Kubeconfig}, o.Env...),
		Log:     filepath.Join(o.Dir, o.Name+".log"),
	})
	if err != nil {
		return nil, err
	}
	return &Operator{Process: p}, nil
}

// LogLine is one line of the operator's log.
type LogLine struct {
	Level, Msg, Error, Name, Addr string
}

// Lines returns what the operator has logged so far. Lines that are not JSON, such as those of a
// panic, have the level "raw" and are their own Msg.
func (o *Operator) Lines() ([]LogLine, error) {
	text, err := o.Log()
	var lines []LogLine
	for line := range strings.Lines(text) {
		var l LogLine
		if json.Unmarshal([]byte(line), &l) != nil {
			l = LogLine{Level: "raw", Msg: line}
		}
		lines = append(lines, l)
	}
	return lines, err
}

// Errors returns the lines at level error and those that are not JSON.
func (o *Operator) Errors() ([]LogLine, error) {
	lines, err := o.Lines()
	return slices.DeleteFunc(lines, func(l LogLine) bool { return l.Level != "error" && l.Level != "raw" }), err
}

// ProbeAddress returns the address of healthz and readyz, which the log names; it is empty until then.
func (o *Operator) ProbeAddress() (string, error) {
	lines, err := o.Lines()
	for _, l := range lines {
		if l.Msg == "starting server" && l.Name == "health probe" {
			return l.Addr, nil
		}
	}
	return "", err
}

// Probe returns the status code of healthz or readyz.
func (o *Operator) Probe(path string) (int, error) {
	address, err := o.ProbeAddress()
	if err != nil {
		return 0, err
	}
	answer, err := http.Get("http://" + address + "/" + path)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
