// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// results is what a run has measured.
type results struct {
	// group is the name of what is being measured.
	group string
	// config describes the run and its machine.
	config  []benchfmt.Config
	figures []*figure
	details []table
}

// figure is one row of the results.
type figure struct {
	group string
	// unit is "sec", "B", "/s", or empty for a count.
	what, unit string
	// measured has a value of each round, and bare those of the bare client in the same rounds, if it is compared.
	measured, bare []float64
	// bound is "≤", "≥", "=" or empty. The target is one of the ratio, if there is one.
	bound  string
	target float64
}

// add adds a row of what was measured once or in several rounds.
func (r *results) add(what, unit string, measured ...float64) *figure {
	f := &figure{group: r.group, what: what, unit: unit, measured: measured}
	r.figures = append(r.figures, f)
	return f
}

// compare adds a row of what was measured in the same rounds as the bare client.
func (r *results) compare(what, unit string, measured, bare []float64) *figure {
	f := r.add(what, unit, measured...)
	f.bare = bare
	return f
}

func (f *figure) must(bound string, target float64) { f.bound, f.target = bound, target }

// median returns the median and the smallest and largest value.
func median(values []float64) (center, least, most float64) {
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(sample, 0.95).Center, sample.Values[0], sample.Values[len(values)-1]
}

// ratio is the median of the ratios within a round, because the machine's speed drifts.
func (f *figure) ratio() float64 {
	ratios := slices.Clone(f.measured)
	for i, bare := range f.bare {
		ratios[i] /= bare
	}
	center, _, _ := median(ratios)
	return center
}

func (f *figure) met() bool {
	value, _, _ := median(f.measured)
	if f.bare != nil {
		value = f.ratio()
	}
	switch f.bound {
	case "≤":
		return value <= f.target
	case "≥":
		return value >= f.target
	}
	return f.bound == "" || value == f.target
}

// text formats values with their unit: the median, and the extremes if there are several.
func text(unit string, values ...float64) string {
	center, least, most := median(values)
	format := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	if unit != "" {
		scale := benchunit.CommonScale(values, benchunit.Decimal)
		format = func(v float64) string { return scale.Format(v) + strings.TrimSuffix(unit, "ec") }
	}
	if len(values) == 1 {
		return format(center)
	}
	return fmt.Sprintf("%s (%s–%s)", format(center), format(least), format(most))
}

func (f *figure) cells() []string {
	cells := []string{f.what, text(f.unit, f.measured...), "", "", "", ""}
	unit := f.unit
	if f.bare != nil {
		unit = " ×"
		cells[2], cells[3] = text(f.unit, f.bare...), fmt.Sprintf("%.2f ×", f.ratio())
	}
	if f.bound != "" {
		target := strconv.FormatFloat(f.target, 'g', 4, 64) + unit
		if f.bare == nil && unit != "" {
			target = text(unit, f.target)
		}
		cells[4], cells[5] = f.bound+" "+target, "yes"
		if !f.met() {
			cells[5] = "no"
		}
	}
	return cells
}

// table is text in columns.
type table struct {
	title  string
	header []string
	rows   [][]string
}

// markdown writes the table with columns that are also aligned in a terminal.
func (t table) markdown() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	rules := slices.Repeat([]string{"---"}, len(t.header))
	for _, row := range append([][]string{t.header, rules}, t.rows...) {
		_, _ = fmt.Fprintf(w, "| %s\t|\n", strings.Join(row, "\t| "))
	}
	_ = w.Flush() // a strings.Builder returns no errors
	return text.String()
}

// markdown is the text of the page and of the terminal.
func (r *results) markdown() string {
	var config []string
	for _, c := range r.config {
		config = append(config, c.Key+" "+string(c.Value))
	}
	t := table{header: []string{"what", "measured", "bare client", "ratio", "target", "met"}}
	missed := 0
	for _, f := range r.figures {
		t.rows = append(t.rows, f.cells())
		if !f.met() {
			missed++
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s. Targets missed: %d.\n\n%s\n", strings.Join(config, ", "), missed, t.markdown())
	for _, t := range r.details {
		fmt.Fprintf(&text, "### %s\n\n%s\n", t.title, t.markdown())
	}
	return text.String()
}

// The benchmarks write the text between these lines of a page.
const (
	begin = "<!-- begin: measured by go run ./test/bench --write -->"
	end   = "<!-- end: measured -->"
)

// intoPage replaces the text between the markers of a page by the results.
func (r *results) intoPage(page string) (string, error) {
	before, rest, ok := strings.Cut(page, begin)
	_, after, also := strings.Cut(rest, end)
	if !ok || !also {
		return "", fmt.Errorf("the page has no line %q with %q after it", begin, end)
	}
	return before + begin + "\n" + r.markdown() + end + after, nil
}

// benchmarks writes all values in the format of Go's benchmarks, which benchstat compares.
func (r *results) benchmarks(out io.Writer) error {
	w := benchfmt.NewWriter(out)
	for _, f := range r.figures {
		name := f.group + "/" + strings.ReplaceAll(f.what, " ", "_")
		for i, v := range append(slices.Clone(f.measured), f.bare...) {
			client := "/client=operator"
			if i >= len(f.measured) {
				client = "/client=bare"
			}
			err := w.Write(&benchfmt.Result{
				Config: r.config, Name: benchfmt.Name(name + client), Iters: 1,
				Values: []benchfmt.Value{{Value: v, Unit: cmp.Or(f.unit, "count")}},
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// describe names the run, the machine, and the commit of the sources.
func (r *results) describe(size string) {
	set := func(key, value string) {
		r.config = append(r.config, benchfmt.Config{Key: key, Value: []byte(value), File: true})
	}
	set("cores", strconv.Itoa(runtime.NumCPU()))
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
			set("cpu", cpus[0].ModelName)
		}
		if memory, err := fs.Meminfo(); err == nil && memory.MemTotalBytes != nil {
			set("memory", benchunit.Scale(float64(*memory.MemTotalBytes), benchunit.Binary)+"B")
		}
		if load, err := fs.LoadAvg(); err == nil {
			set("load-before", strconv.FormatFloat(load.Load1, 'f', 2, 64))
		}
	}
	set("go", runtime.Version())
	if commit, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output(); err == nil {
		set("commit", strings.TrimSpace(string(commit)))
	}
	set("date", time.Now().UTC().Format(time.DateOnly))
	set("size", size)
}
