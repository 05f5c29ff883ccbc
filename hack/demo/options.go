/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
