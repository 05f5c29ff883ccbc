// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// previewOptions are the flags of preview.
type previewOptions struct {
	files        resource.FilenameOptions
	remove       string
	within       string
	failOnDelete bool
	driverLimit  int
	output       Output
}

func newPreviewCommand(f *Factory) *cobra.Command {
	var o previewOptions
	cmd := &cobra.Command{
		Use:     "preview (NAME | -f FILE | --delete NAME)",
		GroupID: GroupShow,
		Short:   "Show which snapshots an edit, a new schedule or a deletion would delete",
		Long: "Show what would happen to the snapshots that exist now, and to which PVCs: under the present spec\n" +
			"(NAME), under the spec of a manifest, edited or new (-f), or if the schedule was deleted (--delete).\n" +
			"Time is simulated with the operator's own decisions. It is assumed that every snapshot is taken on\n" +
			"time and is ready at once, and that nobody else changes anything. Nothing is written.",
		Example: `  # What would this edit delete?
  kubectl snapsched preview -f nightly.yaml

  # The same in a pipeline: fail if a snapshot would be deleted that the present spec keeps longer
  kubectl snapsched preview -f nightly.yaml --fail-on-delete

  # Which snapshots will be deleted within the next week?
  kubectl snapsched preview nightly --within 1w

  # What goes with the schedule?
  kubectl snapsched preview --delete nightly`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: CompleteOne(f.CompleteSchedules()),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files.Filenames, "filename", "f", nil,
		"Files, folders or URLs with the manifests of schedules; - is standard input. Other objects are ignored.")
	flags.BoolVarP(&o.files.Recursive, "recursive", "R", false, "Read folders of -f recursively.")
	flags.StringVar(&o.remove, "delete", "", "Name of a schedule that would be deleted.")
	flags.StringVar(&o.within, "within", "30d", "How far to look ahead, such as 12h, 30d or 1y.")
	flags.BoolVar(&o.failOnDelete, "fail-on-delete", false, fmt.Sprintf("End with exit code %d if the change would delete a "+
		"snapshot that is kept longer without it. With NAME: if any snapshot would be deleted.", ExitFound))
	flags.IntVar(&o.driverLimit, "driver-limit", 0, "Warn if a PVC gets more snapshots than this, the storage driver's limit per volume.")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("delete", f.CompleteSchedules())
	o.output.AddFlags(cmd, true, JSON, YAML, Names, Wide)
	return cmd
}

func (o *previewOptions) run(ctx context.Context, f *Factory, args []string) error {
	given := 0
	for _, is := range []bool{len(args) > 0, len(o.files.Filenames) > 0, o.remove != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New("give exactly one of NAME, --filename and --delete")
	}
	ahead, err := schedule.ParseDuration(o.within)
	if err != nil {
		return fmt.Errorf("--within: %w", err)
	}
	c, err := f.Client()
	if err != nil {
		return err
	}
	now := f.Clock.Now()
	changes, err := o.variants(ctx, f, c, args, now)
	if err != nil {
		return err
	}
	all := []*preview{}
	for _, v := range changes {
		p, err := o.preview(ctx, f, c, v, now, now.Add(ahead))
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	if err := printPreviews(f.Out, &o.output, all, now, o.within); err != nil {
		return err
	}
	for _, p := range all {
		if o.failOnDelete && p.found() {
			return ErrFound
		}
	}
	return nil
}

// variants returns the schedules before and after the change.
func (o *previewOptions) variants(ctx context.Context, f *Factory, c client.Reader, args []string, now time.Time) ([]variants, error) {
	if len(o.files.Filenames) > 0 {
		return f.manifestVariants(ctx, c, &o.files, now)
	}
	namespace, err := f.Namespace()
	if err != nil {
		return nil, err
	}
	name := o.remove
	if len(args) > 0 {
		name = args[0]
	}
	s, err := readSchedule(ctx, c, namespace, name)
	if err != nil {
		return nil, err
	}
	if o.remove != "" {
		return []variants{{present: s}}, nil
	}
	return []variants{{present: s, future: s}}, nil
}

// preview reads the series of a schedule and compares their lives.
func (o *previewOptions) preview(ctx context.Context, f *Factory, c client.Reader, v variants, now, until time.Time) (*preview, error) {
	named := cmp.Or(v.present, v.future)
	read, of := f.readInventory, []client.ListOption{client.MatchingLabels{v1alpha1.LabelSchedule: named.Name}}
	if v.change() == deleted { // the garbage collector asks for no labels
		read, of = f.readSnapshotsAnd, nil
	}
	inv, err := read(ctx, c, named.Namespace, labels.Everything(), of...)
	if err != nil {
		return nil, err
	}
	if inv.origin, err = readOrigin(ctx, c, named); err != nil {
		return nil, err
	}
	v = v.recorded(now, inv.origin)
	p, err := previewOf(v, inv, now, until)
	if err != nil {
		return nil, fmt.Errorf("SnapshotSchedule %s: %w", named.Name, err)
	}
	if v.future != nil {
		if p.Steady, err = steadyStateOf(&v.future.Spec, now); err != nil {
			return nil, err
		}
	}
	p.warn(v, o.driverLimit)
	return p, nil
}
