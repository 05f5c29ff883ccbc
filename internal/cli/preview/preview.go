// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preview is the command preview, which shows what an edit would delete and stop.
//
//	preview.go   the command, and what it prints
//	manifest.go  schedules before and after a manifest is applied
//	cluster.go   those of a ClusterSnapshotSchedule
//	fields.go    which fields a manifest changes
package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
)

// previewOptions are the flags of preview.
type previewOptions struct {
	files        resource.FilenameOptions
	remove       string
	within       time.Duration
	failOnDelete bool
	failOnGaps   bool
	output       term.Output
}

// New returns the command preview.
func New(f *term.Factory) *cobra.Command {
	var o previewOptions
	cmd := &cobra.Command{
		Use:     "preview [NAME | -f FILE | --delete NAME]",
		GroupID: term.GroupShow,
		Short:   "Show which snapshots an edit, a new schedule or a deletion would delete, and what would stop",
		Long: "Show what would happen to the existing snapshots, and which PVCs would no longer be snapshotted: under the\n" +
			"present spec (NAME; by default, the only schedule in the namespace), under the spec of a manifest, edited or\n" +
			"new (-f), or if the schedule were deleted (--delete). Time is simulated with the operator's own decisions. The\n" +
			"simulation assumes that every snapshot is taken on time and is ready at once, and that nobody else changes\n" +
			"anything. Nothing is written.",
		Example: `  # What would this edit delete?
  kubectl snapsched preview -f nightly.yaml

  # The same in a pipeline: fail if a snapshot would be deleted that the present spec keeps longer, or if backups would stop
  kubectl snapsched preview -f nightly.yaml --fail-on-delete --fail-on-gaps

  # What would this edit of a ClusterSnapshotSchedule delete, in all namespaces?
  kubectl snapsched preview -f gold.yaml

  # Which snapshots will be deleted within the next week?
  kubectl snapsched preview nightly --within 1w

  # What is deleted with the schedule?
  kubectl snapsched preview --delete nightly`,
		Args:              term.NotEmpty(term.AtMostOne("NAME"), "filename", "delete"),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			name, err := term.OneSchedule(args)
			if err == nil && term.Given(name, strings.Join(o.files.Filenames, ""), o.remove) == 0 {
				name, err = view.OnlySchedule(ctx, f)
			}
			if err != nil {
				return err
			}
			return o.run(ctx, f, name)
		}),
	}
	term.Needs(cmd, `
get snapshotschedules
list snapshotschedules unless NAME --filename --delete
list persistentvolumeclaims volumesnapshots`)
	term.Ends(cmd, "--fail-on-delete or --fail-on-gaps has found something", "")
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files.Filenames, "filename", "f", nil,
		"Files, folders or URLs with the manifests of schedules and ClusterSnapshotSchedules; - is standard input. Other objects are ignored.")
	flags.BoolVarP(&o.files.Recursive, "recursive", "R", false, "Read folders of -f recursively.")
	flags.StringVar(&o.remove, "delete", "", "Name of a schedule that would be deleted.")
	term.AddDuration(flags, &o.within, "within", 30*term.Day, false, "How far to look ahead, such as 12h, 30d or 1y.")
	flags.BoolVar(&o.failOnDelete, "fail-on-delete", false, fmt.Sprintf("End with exit code %d if the change would delete a "+
		"snapshot that is kept longer without it. With NAME: if any snapshot would be deleted.", term.ExitFound))
	flags.BoolVar(&o.failOnGaps, "fail-on-gaps", false, fmt.Sprintf("End with exit code %d if no PVC would be selected, a PVC would get "+
		"no snapshots, or an edit would take snapshots at once for past slots.", term.ExitFound))
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("delete", f.CompleteSchedules())
	o.output.AddFlags(cmd, true, term.JSON, term.YAML, term.Names, term.Wide)
	return cmd
}

func (o *previewOptions) run(ctx context.Context, f *term.Factory, name string) error {
	if term.Given(name, strings.Join(o.files.Filenames, ""), o.remove) != 1 {
		return errors.New("specify exactly one of NAME, --filename and --delete")
	}
	changes, now, err := o.variants(ctx, f, name)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return errors.New("no namespace has a SnapshotSchedule of the ClusterSnapshotSchedule, and none gets one")
	}
	all, found := []*ahead.Preview{}, false
	for _, v := range changes {
		p, err := o.preview(ctx, f, v, now, now.Add(o.within))
		if err != nil {
			return err
		}
		all, found = append(all, p), found || o.failOnDelete && foundIn(p) || o.failOnGaps && p.Gaps()
	}
	if err := printPreviews(f.Out, &o.output, all, now, term.Span(o.within)); err != nil {
		return err
	}
	if found {
		return term.ErrFound
	}
	return nil
}

// variants returns the schedules before and after the change, and the time by the API server's clock.
func (o *previewOptions) variants(ctx context.Context, f *term.Factory, name string) (all []ahead.Variants, now time.Time, err error) {
	if len(o.files.Filenames) > 0 {
		return manifestVariants(ctx, f, &o.files)
	}
	if now, err = f.ServerTime(ctx); err != nil {
		return nil, now, err
	}
	s, err := view.ReadSchedule(ctx, f, cmp.Or(o.remove, name))
	if o.remove != "" {
		return []ahead.Variants{{Present: s}}, now, err
	}
	return []ahead.Variants{{Present: s, Future: s}}, now, err
}

// preview reads the series of a schedule and compares their lives.
func (o *previewOptions) preview(ctx context.Context, f *term.Factory, v ahead.Variants, now, until time.Time) (*ahead.Preview, error) {
	named := cmp.Or(v.Present, v.Future)
	of := []client.ListOption{view.Managed, view.OfSchedule(named.Name)}
	if v.Change() == ahead.Deleted { // the garbage collector asks for no labels
		of = nil
	}
	inv, err := view.ReadInventory(ctx, f, named.Namespace, labels.Everything(), of...)
	var origin []client.Object
	if err == nil && v.After == nil { // else the ClusterSnapshotSchedule that is edited has been read
		origin, err = view.ReadOrigin(ctx, f.Client, named)
	}
	if err != nil {
		return nil, err
	}
	v = v.Recorded(now, origin)
	if v.Future != nil {
		v.Steady, err = ahead.SteadyStateOf(&v.Future.Spec, now)
	}
	var p *ahead.Preview
	if err == nil {
		p, err = ahead.PreviewOf(v, inv, now, until)
	}
	if err != nil {
		return nil, fmt.Errorf("SnapshotSchedule %s: %w", named.Name, err)
	}
	warn(p, v)
	return p, nil
}

// foundIn returns whether --fail-on-delete has found something.
func foundIn(p *ahead.Preview) bool {
	if p.Change == ahead.Unchanged {
		return len(p.Deletes) > 0
	}
	return sooner(p) > 0
}

// sooner returns how many snapshots the present spec would keep longer.
func sooner(p *ahead.Preview) int { return count(p, func(d *ahead.Deletion) bool { return d.Sooner }) }

func count(p *ahead.Preview, of func(*ahead.Deletion) bool) (n int) {
	for i := range p.Deletes {
		if of(&p.Deletes[i]) {
			n++
		}
	}
	return n
}

// warn adds what a user should know before making the change.
func warn(p *ahead.Preview, v ahead.Variants) {
	say := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	future := v.Future
	if future == nil {
		switch {
		case len(p.Deletes) == 0:
		case v.Present.Spec.DeletionPolicy == v1alpha1.DeletionOrphan:
			say("the operator is still removing owner references: wait until status.observedGeneration is %d", v.Present.Generation)
		default:
			say("held snapshots are deleted with the schedule, too; " +
				"to keep all, set deletionPolicy: Orphan first and wait until it is observed")
		}
		return
	}
	for _, w := range p.Waiting {
		if w.Reason == v1alpha1.ReasonDeletionStuck {
			say("%s would be deleted, and would wait until the storage finishes other deletes", term.Plural(w.Snapshots, "snapshot"))
			continue
		}
		if w.Until == nil {
			say("%s would be deleted at once, and would be kept, because the spec differs from the template of "+
				"ClusterSnapshotSchedule %s", term.Plural(w.Snapshots, "snapshot"), future.Name)
			continue
		}
		why := "the spec changes (spec.retention.editDelay)"
		if w.Reason == v1alpha1.ReasonSnapshotsAdopted {
			why = "they are older than the schedule"
		}
		if w.Confirmation != "" {
			why += ": " + w.Confirmation
		}
		say("%s would be deleted at once, and would wait until %s, because %s",
			term.Plural(w.Snapshots, "snapshot"), term.Timestamp(w.Until.Time), why)
	}
	p.WarnOfStops(v, say)
	if p.Steady.Unlimited {
		say("the number of snapshots per PVC grows without limit: set snapshotTTL, retention.keep or retention.maxCount")
	}
	for _, misfit := range slices.Sorted(maps.Keys(p.Misfits)) { // what the storage has no place for
		say("%s: %s", term.Plural(p.Misfits[misfit], "PVC"), misfit)
	}
	if left := p.LeftBehind(v); left > 0 {
		say("%s of before the switch belong to no key of the new spec: of each PVC that exists, the newest ready ones "+
			"(retention.minReady) stay until somebody deletes them", term.Plural(left, "snapshot"))
	}
	if future.Spec.Suspend {
		say("the schedule is suspended: no snapshots are taken, and retention continues")
	}
	if p.Incomplete {
		say("the simulation ended early, because it would take too long: use a shorter --within")
	}
}

func printPreviews(w io.Writer, output *term.Output, all []*ahead.Preview, now time.Time, within string) error {
	if output.Structured() {
		return output.PrintStructured(w, map[string]any{"items": all})
	}
	for i, p := range all {
		if output.Format == term.Names {
			for _, d := range p.Deletes {
				fmt.Fprintln(w, d.Resource+"/"+d.Name)
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := printPreview(p, w, output, now, within); err != nil {
			return err
		}
	}
	return nil
}

func printPreview(p *ahead.Preview, w io.Writer, output *term.Output, now time.Time, within string) error {
	style := term.StyleOf(w)
	name := style.Bold(p.Namespace + "/" + p.Name)
	switch p.Change {
	case ahead.Unchanged:
		term.Say(w, name+" as it is: "+p.Present)
	case ahead.Created:
		term.Say(w, name+" would be created: "+p.Future)
	case ahead.Deleted:
		term.Say(w, name+" would be deleted: "+p.Present)
	default:
		term.Say(w, name+" would change: "+p.Present)
		printFields(w, style, p.Fields)
	}
	if len(p.Claims) > 0 {
		fmt.Fprintln(w)
		if err := output.PrintTable(w, claimTable(p, within)); err != nil {
			return err
		}
	}
	if shown := listed(p, output); len(shown) > 0 {
		fmt.Fprintln(w)
		if err := output.PrintTable(w, deleteTable(shown, now)); err != nil {
			return err
		}
		if more := len(p.Deletes) - len(shown); more > 0 {
			fmt.Fprintf(w, "… and %d more; -o wide lists all.\n", more)
		}
	}
	fmt.Fprintln(w)
	term.Say(w, conclusion(p, style, within))
	if p.Steady != nil {
		term.Say(w, "Steady state: "+p.Steady.Words()+".")
	}
	for _, warning := range p.Warnings {
		term.Say(w, style.Warn("Warning")+": "+warning+".")
	}
	return nil
}

// listed returns the deletes to list: the first ones that the change causes or, if
// there is no change, the first ones.
func listed(p *ahead.Preview, output *term.Output) []ahead.Deletion {
	if output.Format == term.Wide {
		return p.Deletes
	}
	var shown []ahead.Deletion
	for _, d := range p.Deletes {
		if len(shown) < term.Listed && (d.Sooner || p.Change == ahead.Unchanged) {
			shown = append(shown, d)
		}
	}
	return shown
}

// claimTable compares the PVCs. The columns say which policy they are about.
func claimTable(p *ahead.Preview, within string) *term.Table {
	table := term.NewTable("PVC", "SELECTED", "SNAPSHOTS", "DELETED NOW", "WITHIN "+within, "AT PRESENT", "+MAP KEY")
	for _, c := range p.Claims {
		selected := selectionWords(c.Before == view.StateSelected, c.After == view.StateSelected)
		table.Row(c.Name, selected, c.Snapshots, c.Now, c.Within, c.Otherwise, c.MapKey)
	}
	return table
}

func selectionWords(before, after bool) string {
	switch {
	case before && after:
		return "yes"
	case after:
		return "yes (added)"
	case before:
		return "no (removed)"
	}
	return "no"
}

func deleteTable(shown []ahead.Deletion, now time.Time) *term.Table {
	table := term.NewTable("SNAPSHOT", "+PVC", "DELETED", "REASON", "AT PRESENT")
	for _, d := range shown {
		present := "kept"
		if d.PresentTime != nil {
			present = term.Until(now, d.PresentTime.Time)
		}
		table.Row(d.Name, d.Claim, term.Until(now, d.Time.Time), d.Reason, present)
	}
	return table
}

func conclusion(p *ahead.Preview, style term.Style, within string) string {
	immediately := count(p, func(d *ahead.Deletion) bool { return d.Now })
	total := 0
	for _, c := range p.Claims {
		total += c.Snapshots
	}
	if len(p.Deletes) == 0 && sooner(p) == 0 {
		text := fmt.Sprintf("None of %s would be deleted within %s.", term.Plural(total, "existing snapshot"), within)
		if p.Incomplete || len(p.Waiting) > 0 {
			return text
		}
		return style.Good(text)
	}
	text := fmt.Sprintf("Of %s, %d would be deleted now and %d within %s",
		term.Plural(total, "existing snapshot"), immediately, len(p.Deletes), within)
	switch sooner := sooner(p); {
	case p.Change == ahead.Unchanged:
		return text + "."
	case sooner > 0:
		return text + style.Bad(fmt.Sprintf("; %d sooner than at present.", sooner))
	}
	return text + style.Good("; none sooner than at present.")
}
