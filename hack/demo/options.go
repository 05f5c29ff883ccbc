// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
)

type options struct {
	keep, down bool
	output     string
}

const usage = `Plays SnapshotSchedule on a local cluster of its own, and checks what it shows.

  make demo            play, then remove everything
  make demo KEEP=1     play, then leave the cluster and the operator running

Flags of go run ./hack/demo:
`

func parse(args []string, errors io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(errors)
	f.Usage = func() {
		_, _ = fmt.Fprint(errors, usage)
		f.PrintDefaults()
	}
	f.BoolVar(&o.keep, "keep", false, "leave the cluster and the operator running, and say how to use them")
	f.BoolVar(&o.down, "down", false, "stop and remove what --keep has left; play nothing")
	f.StringVar(&o.output, "o", "", "json: at the end, print the checks as JSON to standard output;\nthe play goes to standard error")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.output != "" && o.output != "json":
		return o, fmt.Errorf("unknown output format %q; use json or leave it out", o.output)
	case o.keep && o.down:
		return o, fmt.Errorf("--keep and --down exclude each other")
	}
	return o, nil
}
