// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// report is what a hunt has come to.
type report struct {
	Began time.Time `json:"began"`
	Took  string    `json:"took"`
	// Clean is the product as it is; nil if that was not run.
	Clean    *score   `json:"clean,omitempty"`
	Mutants  []*score `json:"mutants"`
	Survived int      `json:"survived"`
}

func newReport() *report { return &report{Began: time.Now()} }

func (r *report) finish() {
	r.Took = time.Since(r.Began).Round(time.Second).String()
	for _, s := range r.Mutants {
		if !s.Caught {
			r.Survived++
		}
	}
}

// err is why the hunt was failed; nil if it was not.
func (r *report) err() error {
	var errs []error
	if c := r.Clean; c != nil && (c.By != "" || c.Error != "") {
		errs = append(errs, errors.New("the product as it is was failed: "+c.verdict()))
	}
	if r.Survived > 0 {
		errs = append(errs, fmt.Errorf("%d of %d mutants survived", r.Survived, len(r.Mutants)))
	}
	return errors.Join(errs...)
}

func (s *score) verdict() string {
	in := fmt.Sprintf("%d runs, %.0f s", s.Runs, s.Seconds)
	switch {
	case s.Error != "":
		return fmt.Sprintf("could not be judged (%s): %s", in, s.Error)
	case s.Mutant == "" && s.By == "":
		return "nothing found in " + in
	case s.By == "":
		return "SURVIVED " + in
	case s.Mutant != "" && !s.Caught:
		return fmt.Sprintf("SURVIVED as what it is (%s): %s broke %s, which is not what should fall: %s", in, s.By, s.Guarantee, s.Message)
	case s.Mutant == "":
		return fmt.Sprintf("FALSE ALARM (%s): %s by %s: %s", in, s.Guarantee, s.By, s.Message)
	}
	return fmt.Sprintf("caught by %s by %s (%s): %s", s.Guarantee, s.By, in, s.Message)
}

// table is the report for people.
func (r *report) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "MUTANT\tCAUGHT\tBY\tPLAN OR SEED\tRUNS\tSECONDS\tBUILD")
	for _, s := range r.Mutants {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%.0f\t%.0f\n",
			s.Mutant, map[bool]string{true: "yes", false: "NO"}[s.Caught], s.Guarantee, s.By, s.Runs, s.Seconds, s.Build)
	}
	_ = w.Flush()
	_, _ = fmt.Fprintf(&b, "\n%d mutants in %s: %d caught, %d survived\n", len(r.Mutants), r.Took, len(r.Mutants)-r.Survived, r.Survived)
	if r.Clean != nil {
		_, _ = fmt.Fprintf(&b, "the product as it is, by the same plans and seeds: %s\n", r.Clean.verdict())
	}
	return b.String()
}

// The marks of this program's section of a page.
const (
	sectionBegins = "<!-- mutants: written by 'make test-mutants', don't edit -->"
	sectionEnds   = "<!-- /mutants -->"
)

const aboutMutants = `
## Does the campaign find anything?

A campaign that passes proves little if it is blind. So small defects, such as a maintainer may make, are put into copies of
the product one at a time (test/faults/mutants/patches, by 'go build -overlay': nothing in the tree changes, and no release
can contain one), and plans of the campaign or lives of the simulation must find each. The same plans and lives find nothing
in the product as it is.

    make test-mutants                     all of them
    make test-mutants MUTANT=<name>       one, or those that begin so
    go run ./test/faults/mutants --list   what there is
`

// markdown is the report as a section of a page of the documentation.
func (r *report) markdown(root string) string {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	line("%s%s", sectionBegins, aboutMutants)
	line("%s, commit %s: **%d mutants, %d survived**, in %s on %d cores.",
		r.Began.UTC().Format("2006-01-02"), commit(root), len(r.Mutants), r.Survived, r.Took, runtime.NumCPU())
	if r.Clean != nil {
		line("The product as it is: %s.", r.Clean.verdict())
	}
	line("\n| mutant | what is wrong | caught by | plan or seed | runs |\n| --- | --- | --- | --- | ---: |")
	for _, s := range r.Mutants {
		guarantee := s.Guarantee
		if !s.Caught {
			guarantee = "**survived**"
		}
		line("| %s | %s | %s | `%s` | %d |", s.Mutant, s.Breaks, guarantee, s.By, s.Runs)
	}
	line("%s", sectionEnds)
	return b.String()
}

func commit(root string) string {
	cmd := exec.Command("git", "rev-parse", "--short", "HEAD")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// writeSection puts a section in the place of the one that a page has, or at its
// end.
func writeSection(page, section string) error {
	text, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(page, []byte(withSection(string(text), section)), 0o644)
}

func withSection(page, section string) string {
	before, rest, has := strings.Cut(page, sectionBegins)
	if !has {
		return strings.TrimLeft(strings.TrimRight(page, "\n")+"\n\n"+section, "\n")
	}
	_, after, _ := strings.Cut(rest, sectionEnds)
	return before + strings.TrimSuffix(section, "\n") + after
}
