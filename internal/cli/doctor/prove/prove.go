// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prove proves a driver on the user's own storage, for the command doctor, as internal/core decides.
//
//	prove.go    the flags, what is asked before, and what is printed
//	setup.go    which classes, image and version are proven, and the rights
//	run.go      one run: its namespace, its mark, and its steps
//	observe.go  what there is of a run
//	left.go     what runs leave, and its removal
//	data.go     the command of its pods
package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/doctor/prove/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// Proof is what a user wants to have proven.
type Proof struct {
	// Image returns that of the pods for which the user names none.
	Image func(context.Context, *term.Factory) (string, error)

	image, storageClass                                   string
	wanted, groups, limits, annotate, allowRetain, answer bool
	timeout                                               time.Duration
}

// flags are those that need --prove.
var flags = []string{"storage-class", "image", "groups", "limits", "annotate", "allow-retain", "yes", "timeout"}

// AddTo adds the flags of a proof to a command, which runs it if it is wanted.
func (p *Proof) AddTo(cmd *cobra.Command, f *term.Factory, output *term.Output) {
	otherwise := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch err := p.check(cmd); {
		case err != nil:
			return err
		case !p.wanted:
			return otherwise(cmd, args)
		}
		return f.Connected(func(ctx context.Context, _ []string) error { return p.run(ctx, f, output) })(cmd, args)
	}
	cmd.Flags().BoolVar(&p.wanted, "prove", false,
		"Take snapshots, restore and delete them, in a namespace of its own, and say what the driver does.")
	cmd.Flags().StringVar(&p.storageClass, "storage-class", "", "Storage class whose driver is proven. If omitted, the default one.")
	cmd.Flags().StringVar(&p.image, "image", "", "Image of the pods, which must contain "+core.Program[0]+". If omitted, the operator's, "+
		"if its Deployment can be read, otherwise that of this release.")
	cmd.Flags().BoolVar(&p.groups, "groups", false, "Also prove that a group snapshot is cut at one instant.")
	cmd.Flags().BoolVar(&p.limits, "limits", false, "Also take up to 40 snapshots of one volume, until the driver refuses.")
	cmd.Flags().BoolVar(&p.annotate, "annotate", false,
		"Write the result into the annotation "+v1alpha1.AnnotationProven+" of the VolumeSnapshotClass.")
	cmd.Flags().BoolVar(&p.allowRetain, "allow-retain", false,
		"Use classes with the policy Retain: somebody has to delete the volumes and snapshots afterwards.")
	term.AddYes(cmd, &p.answer)
	term.AddTimeout(cmd.Flags(), &p.timeout, 30*time.Minute)
}

// check refuses flags that need --prove, and those that do not go with it.
func (p *Proof) check(cmd *cobra.Command) error {
	if p.wanted {
		if cmd.Flags().Changed("all-namespaces") {
			return errors.New("--prove uses its own namespace: omit --all-namespaces")
		}
		return nil
	}
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for --prove", name)
		}
	}
	return nil
}

// result is what is printed.
type result struct {
	StorageClass  string            `json:"storageClass"`
	SnapshotClass string            `json:"snapshotClass"`
	Driver        string            `json:"driver"`
	DriverVersion string            `json:"driverVersion"`
	Steps         []core.Row        `json:"steps"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	// Left is what could not be removed.
	Left []string `json:"left,omitempty"`
}

// run proves the driver, and returns an error if a step failed or was inconclusive, or if something stays.
func (p *Proof) run(ctx context.Context, f *term.Factory, output *term.Output) error {
	if err := p.checkRights(ctx, f); err != nil {
		return err
	}
	chosen, err := p.choose(ctx, f)
	if err != nil {
		return err
	}
	if !p.answer {
		question := fmt.Sprintf("Prove driver %s, with StorageClass %s and VolumeSnapshotClass %s, by volumes and snapshots in a namespace "+
			"that is deleted afterwards?", chosen.storage.Provisioner, chosen.storage.Name, chosen.class.Name)
		if err := f.Ask(ctx, report.Line(question)); err != nil {
			return err
		}
	}
	r := &run{f: f, timeout: p.timeout, started: f.Clock.Now(), proof: core.Proof{
		Image: chosen.image, StorageClass: chosen.storage.Name, Provisioner: chosen.storage.Provisioner,
		Retains: chosen.retains, Groups: p.groups, Limits: p.limits, Pending: chosen.pending, AsUser: !chosen.ownUsers,
	}}
	if err := removeDead(ctx, r.removal()); err != nil {
		return err
	}
	left, err := r.run(ctx)
	if len(r.proof.Rows) == 0 && err != nil {
		return err
	}
	res := &result{
		StorageClass: chosen.storage.Name, SnapshotClass: chosen.class.Name, Driver: chosen.storage.Provisioner, DriverVersion: chosen.version,
		Steps: r.proof.Rows, Left: left,
	}
	res.Annotations = r.proof.Suggested()
	if facts := r.proof.Facts(); len(facts) > 0 {
		res.Annotations[v1alpha1.AnnotationProven] = drivers.Proof{At: r.now(), Version: chosen.version, Facts: facts}.String()
		if p.annotate && ctx.Err() == nil {
			err = errors.Join(err, steps.Send(ctx, f, change.Mark(chosen.class, map[string]any{
				v1alpha1.AnnotationProven: res.Annotations[v1alpha1.AnnotationProven],
			})))
		}
	}
	printErr := res.print(f, output, p.annotate)
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, printErr, res.err())
}

// err returns how the command ends.
func (r *result) err() (err error) {
	is := func(state core.State) bool {
		return slices.ContainsFunc(r.Steps, func(row core.Row) bool { return row.State == state })
	}
	switch {
	case is(core.Failed):
		return term.ErrFound
	case is(core.Unknown):
		return fmt.Errorf("%w: not every step has shown something", term.ErrInconclusive)
	case len(r.Left) > 0:
		return fmt.Errorf("%w: not everything could be removed", term.ErrInconclusive)
	}
	return nil
}

func (r *result) print(f *term.Factory, output *term.Output, written bool) error {
	if output.Structured() {
		return output.PrintStructured(f.Out, r)
	}
	style := term.StyleOf(f.Out)
	paint := map[core.State]func(string) string{core.OK: style.Good, core.Failed: style.Bad, core.Unknown: style.Warn}
	table := term.TableOf(r.Steps,
		term.Col("STEP", func(row *core.Row) any { return row.Step }),
		term.Col("STATE", func(row *core.Row) any { return paint[row.State](string(row.State)) }),
		term.Col("TOOK", func(row *core.Row) any { return row.Took }),
		term.Col("WORDS", func(row *core.Row) any { return row.Words }))
	if err := output.PrintTable(f.Out, table); err != nil {
		return err
	}
	r.printRest(f.Out, written)
	return nil
}

// printRest prints what the classes are annotated with, and what stays.
func (r *result) printRest(w io.Writer, written bool) {
	for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
		if value := r.Annotations[key]; written && key == v1alpha1.AnnotationProven {
			fmt.Fprintf(w, "\nVolumeSnapshotClass %s has the annotation %s: %q\n", r.SnapshotClass, key, value)
		} else { // in one line, to be pasted
			overwrite := ""
			if key == v1alpha1.AnnotationProven { // a limit that the class states already may be a stricter one
				overwrite = " --overwrite"
			}
			fmt.Fprintf(w, "\nkubectl annotate%s volumesnapshotclass %s %s=%s\n", overwrite, r.SnapshotClass, key, term.Quoted(value))
		}
	}
	for i, what := range r.Left {
		if i == 0 {
			fmt.Fprintln(w, "\nThese could not be removed:")
		}
		term.Say(w, "  "+what)
	}
}
