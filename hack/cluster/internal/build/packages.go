// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// packages reads the events of "go build -json -v", which begin with the import path of each package that is compiled, and
// reports how many of all packages are done. It counts one as done when a package that imports it is compiled, because go is silent
// about those in its cache.
type packages struct {
	imports map[string][]string // of every package
	done    map[string]bool
	report  func(string)
	rest    []byte       // of a line
	output  bytes.Buffer // of compilers and linkers
}

// newPackages returns the packages of a list: in each line a package, followed by its imports.
func newPackages(list string, report func(string)) *packages {
	p := &packages{imports: map[string][]string{}, done: map[string]bool{}, report: report}
	for line := range strings.Lines(list) {
		if words := strings.Fields(line); len(words) > 0 {
			p.imports[words[0]] = words[1:]
		}
	}
	return p
}

// Write reads events, one a line.
func (p *packages) Write(text []byte) (int, error) {
	p.rest = append(p.rest, text...)
	for {
		line, rest, found := bytes.Cut(p.rest, []byte("\n"))
		if !found {
			return len(text), nil
		}
		p.rest = rest
		var event struct{ ImportPath, Output string }
		if json.Unmarshal(line, &event) != nil {
			event.Output = string(line) + "\n"
		}
		if imports, known := p.imports[event.ImportPath]; known && strings.TrimSpace(event.Output) == event.ImportPath {
			p.finish(imports)
			p.report(fmt.Sprintf("%d of %d packages, %s", len(p.done), len(p.imports), event.ImportPath))
		} else {
			p.output.WriteString(event.Output)
		}
	}
}

func (p *packages) finish(imports []string) {
	for _, i := range imports {
		if _, known := p.imports[i]; known && !p.done[i] {
			p.done[i] = true
			p.finish(p.imports[i])
		}
	}
}
