// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

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
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// previewOptions are the flags of preview.
type previewOptions struct {
	files        resource.FilenameOptions
	remove       string
	within       string
	failOnDelete bool
	failOnGaps   bool
	driverLimit  int
	output       term.Output
}

func newPreviewCommand(f *term.Factory) *cobra.Command {
	var o previewOptions
	cmd := &cobra.Command{
		Use:     "preview (NAME | -f FILE | --delete NAME)",
		GroupID: term.GroupShow,
		Short:   "Show which snapshots an edit, a new schedule or a deletion would delete, and what would stop",
		Long: "Show what would happen to the snapshots that exist now, and of which PVCs none would be taken any\n" +
			"more: under the present spec (NAME), under the spec of a manifest, edited or new (-f), or if the\n" +
			"schedule was deleted (--delete).\n" +
			"Time is simulated with the operator's own decisions. It is assumed that every snapshot is taken on\n" +
			"time and is ready at once, and that nobody else changes anything. Nothing is written.",
		Example: `  # What would this edit delete?
  kubectl snapsched preview -f nightly.yaml

  # The same in a pipeline: fail if a snapshot would be deleted that the present spec keeps longer, or if backups would stop
  kubectl snapsched preview -f nightly.yaml --fail-on-delete --fail-on-gaps

  # What would this edit of a ClusterSnapshotSchedule delete, in all namespaces?
  kubectl snapsched preview -f gold.yaml

  # Which snapshots will be deleted within the next week?
  kubectl snapsched preview nightly --within 1w

  # What goes with the schedule?
  kubectl snapsched preview --delete nightly`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			return o.run(ctx, f, strings.Join(args, ""))
		}),
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files.Filenames, "filename", "f", nil,
		"Files, folders or URLs with the manifests of schedules and ClusterSnapshotSchedules; - is standard input. Other objects are ignored.")
	flags.BoolVarP(&o.files.Recursive, "recursive", "R", false, "Read folders of -f recursively.")
	flags.StringVar(&o.remove, "delete", "", "Name of a schedule that would be deleted.")
	flags.StringVar(&o.within, "within", "30d", "How far to look ahead, such as 12h, 30d or 1y.")
	flags.BoolVar(&o.failOnDelete, "fail-on-delete", false, fmt.Sprintf("End with exit code %d if the change would delete a "+
		"snapshot that is kept longer without it. With NAME: if any snapshot would be deleted.", term.ExitFound))
	flags.BoolVar(&o.failOnGaps, "fail-on-gaps", false, fmt.Sprintf("End with exit code %d if no PVC would be selected, no snapshots "+
		"would be taken of one, or an edit has some taken at once for slots that have passed.", term.ExitFound))
	flags.IntVar(&o.driverLimit, "driver-limit", 0, "Warn if a PVC gets more snapshots than this, the storage driver's limit per volume.")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("delete", f.CompleteSchedules())
	o.output.AddFlags(cmd, true, term.JSON, term.YAML, term.Names, term.Wide)
	return cmd
}

func (o *previewOptions) run(ctx context.Context, f *term.Factory, name string) error {
	if term.Given(name, strings.Join(o.files.Filenames, ""), o.remove) != 1 {
		return errors.New("give exactly one of NAME, --filename and --delete")
	}
	ahead, err := schedule.ParseDuration(o.within)
	if err != nil {
		return fmt.Errorf("--within: %w", err)
	}
	now := f.Clock.Now()
	changes, err := o.variants(ctx, f, name, now)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return errors.New("no namespace has a SnapshotSchedule of the ClusterSnapshotSchedule, and none gets one")
	}
	all, found := []*preview{}, false
	for _, v := range changes {
		p, err := o.preview(ctx, f, v, now, now.Add(ahead))
		if err != nil {
			return err
		}
		all, found = append(all, p), found || o.failOnDelete && p.found() || o.failOnGaps && p.gaps()
	}
	if err := printPreviews(f.Out, &o.output, all, now, o.within); err != nil {
		return err
	}
	if found {
		return term.ErrFound
	}
	return nil
}

// variants returns the schedules before and after the change.
func (o *previewOptions) variants(ctx context.Context, f *term.Factory, name string, now time.Time) ([]variants, error) {
	if len(o.files.Filenames) > 0 {
		return manifestVariants(ctx, f, &o.files, now)
	}
	s, err := readSchedule(ctx, f, cmp.Or(o.remove, name))
	if o.remove != "" {
		return []variants{{present: s}}, err
	}
	return []variants{{present: s, future: s}}, err
}

// preview reads the series of a schedule and compares their lives.
func (o *previewOptions) preview(ctx context.Context, f *term.Factory, v variants, now, until time.Time) (*preview, error) {
	named := cmp.Or(v.present, v.future)
	of := []client.ListOption{managed, ofSchedule(named.Name)}
	if v.change() == deleted { // the garbage collector asks for no labels
		of = nil
	}
	inv, err := readInventory(ctx, f, named.Namespace, labels.Everything(), of...)
	var origin []client.Object
	if err == nil {
		origin, err = readOrigin(ctx, f.Client, named)
	}
	if err != nil {
		return nil, err
	}
	v = v.recorded(now, origin)
	if v.future != nil {
		v.steady, err = steadyStateOf(&v.future.Spec, now)
	}
	var p *preview
	if err == nil {
		p, err = previewOf(v, inv, now, until)
	}
	if err != nil {
		return nil, fmt.Errorf("SnapshotSchedule %s: %w", named.Name, err)
	}
	p.warn(v, o.driverLimit)
	return p, nil
}

// found returns whether --fail-on-delete has found something.
func (p *preview) found() bool {
	if p.Change == unchanged {
		return len(p.Deletes) > 0
	}
	return p.sooner() > 0
}

// sooner returns how many snapshots the present spec would keep longer.
func (p *preview) sooner() int { return p.count(func(d *deletion) bool { return d.Sooner }) }

func (p *preview) count(of func(*deletion) bool) (n int) {
	for i := range p.Deletes {
		if of(&p.Deletes[i]) {
			n++
		}
	}
	return n
}

// warn adds what a user should know before making the change.
func (p *preview) warn(v variants, driverLimit int) {
	say := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	future := v.future
	if future == nil {
		switch {
		case len(p.Deletes) == 0:
		case v.present.Spec.DeletionPolicy == v1alpha1.DeletionOrphan:
			say("the operator is still removing owner references: wait until status.observedGeneration is %d", v.present.Generation)
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
			say("%s would be deleted at once, and would be kept, because the spec is not that of the template of "+
				"ClusterSnapshotSchedule %s", term.Plural(w.Snapshots, "snapshot"), future.Name)
			continue
		}
		why := "the spec changes (spec.retention.editDelay)"
		if w.Reason == v1alpha1.ReasonSnapshotsAdopted {
			why = "they are older than the schedule"
		}
		if w.confirmation != "" {
			why += ": " + w.confirmation
		}
		say("%s would be deleted at once, and would wait until %s, because %s",
			term.Plural(w.Snapshots, "snapshot"), term.Timestamp(w.Until.Time), why)
	}
	p.warnOfStops(v, say)
	p.warnOfPlaces(driverLimit, say)
	if left := p.leftBehind(v); left > 0 {
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

// warnOfPlaces says what the storage has no place for.
func (p *preview) warnOfPlaces(driverLimit int, say func(format string, args ...any)) {
	if p.Steady.Unlimited {
		say("the number of snapshots per PVC grows without limit: set snapshotTTL, retention.keep or retention.maxCount")
	}
	if driverLimit > 0 && (p.Steady.Unlimited || p.Steady.Snapshots+1 > driverLimit) {
		say("the steady state exceeds the driver's limit of %s per volume: %s, and one more while a new one is taken",
			term.Plural(driverLimit, "snapshot"), p.Steady.words())
	}
	for _, misfit := range slices.Sorted(maps.Keys(p.misfits)) {
		say("%s: %s", term.Plural(p.misfits[misfit], "PVC"), misfit)
	}
}

func (s *steadyState) words() string {
	about := ""
	switch {
	case s.Unlimited:
		return "no limit"
	case s.Estimated:
		about = "about "
	}
	return fmt.Sprintf("at most %s%s per PVC", about, term.Plural(s.Snapshots, "snapshot"))
}

func printPreviews(w io.Writer, output *term.Output, all []*preview, now time.Time, within string) error {
	if output.Structured() {
		return output.PrintStructured(w, map[string]any{"items": all})
	}
	for i, p := range all {
		if output.Format == term.Names {
			for _, d := range p.Deletes {
				fmt.Fprintln(w, d.resource+"/"+d.Name)
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := p.print(w, output, now, within); err != nil {
			return err
		}
	}
	return nil
}

func (p *preview) print(w io.Writer, output *term.Output, now time.Time, within string) error {
	style := term.StyleOf(w)
	name := style.Bold(p.Namespace + "/" + p.Name)
	switch p.Change {
	case unchanged:
		term.Say(w, name+" as it is: "+p.Present)
	case created:
		term.Say(w, name+" would be created: "+p.Future)
	case deleted:
		term.Say(w, name+" would be deleted: "+p.Present)
	default:
		term.Say(w, name+" would change: "+p.Present)
		printFields(w, style, p.Fields)
	}
	if len(p.Claims) > 0 {
		fmt.Fprintln(w)
		if err := output.PrintTable(w, p.claimTable(within)); err != nil {
			return err
		}
	}
	if shown := p.listed(output); len(shown) > 0 {
		fmt.Fprintln(w)
		if err := output.PrintTable(w, p.deleteTable(shown, now)); err != nil {
			return err
		}
		if more := len(p.Deletes) - len(shown); more > 0 {
			fmt.Fprintf(w, "… and %d more; -o wide lists all.\n", more)
		}
	}
	fmt.Fprintln(w)
	term.Say(w, p.conclusion(style, within))
	if p.Steady != nil {
		term.Say(w, "Steady state: "+p.Steady.words()+p.Steady.fillWords()+".")
	}
	for _, warning := range p.Warnings {
		term.Say(w, style.Warn("Warning")+": "+warning+".")
	}
	return nil
}

// listed returns the deletes to list: the first ones that the change causes or, if
// there is no change, the first ones.
func (p *preview) listed(output *term.Output) []deletion {
	if output.Format == term.Wide {
		return p.Deletes
	}
	var shown []deletion
	for _, d := range p.Deletes {
		if len(shown) < term.Listed && (d.Sooner || p.Change == unchanged) {
			shown = append(shown, d)
		}
	}
	return shown
}

// claimTable compares the PVCs. The columns say which policy they are about.
func (p *preview) claimTable(within string) *term.Table {
	table := term.NewTable("PVC", "SELECTED", "SNAPSHOTS", "DELETED NOW", "WITHIN "+within, "AT PRESENT", "+MAP KEY")
	for _, c := range p.Claims {
		selected := selectionWords(c.Before == stateSelected, c.After == stateSelected)
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

func (p *preview) deleteTable(shown []deletion, now time.Time) *term.Table {
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

func (p *preview) conclusion(style term.Style, within string) string {
	immediately := p.count(func(d *deletion) bool { return d.Now })
	total := 0
	for _, c := range p.Claims {
		total += c.Snapshots
	}
	text := fmt.Sprintf("Of %s, %d would be deleted now and %d within %s",
		term.Plural(total, "existing snapshot"), immediately, len(p.Deletes), within)
	switch sooner := p.sooner(); {
	case p.Change == unchanged:
		return text + "."
	case sooner > 0:
		return text + style.Bad(fmt.Sprintf("; %d sooner than at present.", sooner))
	}
	return text + style.Good("; none sooner than at present.")
}

// fillWords say how long it takes until the TTL and the tiers are full.
func (s *steadyState) fillWords() string {
	text, before := "", "; "
	for _, f := range s.Fills {
		text += fmt.Sprintf("%s%s is full after %s", before, f.Field, duration.HumanDuration(f.After.Duration))
		before = ", "
	}
	return text
}
