// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package confirm is the command confirm, which deletes now what waits for a delay.
package confirm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// New returns the command confirm.
func New(f *term.Factory) *cobra.Command {
	var cluster string
	var output term.Output
	cmd := &cobra.Command{
		Use:     "confirm (NAME | --cluster-schedule NAME)",
		GroupID: term.GroupAct,
		Short:   "Delete now what an edit, or a new schedule, would delete later",
		Long: "Confirm the present spec of a schedule: retention deletes at once what waits for spec.retention.editDelay\n" +
			"or for the first hour of the schedule. The command first counts what will be deleted. If the spec is edited meanwhile,\n" +
			"nothing is confirmed. 'kubectl snapsched preview' shows what waits, and confirms nothing.",
		Example: `  # The edit of nightly is what was meant
  kubectl snapsched confirm nightly

  # The same for the template of a ClusterSnapshotSchedule, in all namespaces
  kubectl snapsched confirm --cluster-schedule gold`,
		Args:              term.AtMostOne("NAME"),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			name, err := term.OneSchedule(args)
			switch {
			case err != nil:
				return err
			case term.Given(name, cluster) != 1:
				return errors.New("specify exactly one of NAME and --cluster-schedule")
			case cluster != "":
				return confirmCluster(ctx, f, &output, cluster)
			}
			return confirmSchedule(ctx, f, &output, name)
		}),
	}
	cmd.Flags().StringVar(&cluster, "cluster-schedule", "", "Name of a ClusterSnapshotSchedule.")
	term.Needs(cmd, `
get patch snapshotschedules if NAME
get patch clustersnapshotschedules if --cluster-schedule
list snapshotschedules if --cluster-schedule
get namespaces if --cluster-schedule
list persistentvolumeclaims volumesnapshots`)
	f.AddDryRun(cmd, false)
	output.AddFlags(cmd, false, term.JSON, term.YAML, term.Names)
	return cmd
}

func confirmSchedule(ctx context.Context, f *term.Factory, output *term.Output, name string) error {
	s, err := view.ReadSchedule(ctx, f, name)
	if err != nil {
		return err
	}
	if _, err := view.Standalone(ctx, f, s, "confirm"); err != nil {
		return err
	}
	now, err := f.ServerTime(ctx)
	if err != nil {
		return err
	}
	confirmed := s.DeepCopy()
	confirm(confirmed)
	n, err := deletedAtOnce(ctx, f, now, confirmed)
	if err != nil {
		return err
	}
	fmt.Fprintf(words(f, output), "%s will be deleted at once\n", term.Plural(n, "snapshot"))
	return confirmShown(ctx, f, output, term.ScheduleResource, s)
}

func confirmCluster(ctx context.Context, f *term.Factory, output *term.Output, name string) error {
	fleet := &v1alpha1.ClusterSnapshotSchedule{}
	if err := f.Client.Get(ctx, client.ObjectKey{Name: name}, fleet); err != nil {
		return err
	}
	now, err := f.ServerTime(ctx)
	if err != nil {
		return err
	}
	confirmed := fleet.DeepCopy()
	confirm(confirmed)
	total := 0
	err = view.EachChild(ctx, f, fleet, func(s *v1alpha1.SnapshotSchedule, namespace client.Object) error {
		n, err := deletedAtOnce(ctx, f, now, s, confirmed, namespace)
		if total += n; n > 0 {
			fmt.Fprintf(words(f, output), "%s: %s\n", s.Namespace, term.Plural(n, "snapshot"))
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(words(f, output), "%s will be deleted at once\n", term.Plural(total, "snapshot"))
	return confirmShown(ctx, f, output, term.ClusterScheduleResource, fleet)
}

// words is where people read what will be deleted: programs read the object.
func words(f *term.Factory, output *term.Output) io.Writer {
	if output.Format != "" {
		return f.ErrOut
	}
	return f.Out
}

// confirm confirms the generation of a schedule that was read.
func confirm(o client.Object) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationConfirmGeneration] = strconv.FormatInt(o.GetGeneration(), 10)
	o.SetAnnotations(annotations)
}

// deletedAtOnce returns how many snapshots of a schedule the operator would delete now, if
// origin is what it is made of.
func deletedAtOnce(
	ctx context.Context, f *term.Factory, now time.Time, s *v1alpha1.SnapshotSchedule, origin ...client.Object,
) (n int, err error) {
	inv, err := view.ReadInventory(ctx, f, s.Namespace, labels.Everything(), view.Managed, view.OfSchedule(s.Name))
	if err != nil {
		return 0, err
	}
	inv.Origins = view.OriginsOf(s, origin)
	_, judged, err := inv.Judged(snapshots.Recorded(s, now, origin...), now)
	if err != nil {
		return 0, fmt.Errorf("SnapshotSchedule %s: %w", s.Name, err)
	}
	for _, d := range judged {
		n += len(d.Delete)
	}
	return n, nil
}

// confirmShown sets the annotation, unless the spec is no longer what was shown.
func confirmShown(ctx context.Context, f *term.Factory, output *term.Output, resource string, o client.Object) error {
	shown := o.GetGeneration()
	value := strconv.FormatInt(shown, 10)
	changed, err := steps.Update(ctx, f, o, func() ([]byte, error) {
		switch {
		case o.GetGeneration() != shown:
			return nil, fmt.Errorf("%s was edited meanwhile: nothing is confirmed", o.GetName())
		case o.GetAnnotations()[v1alpha1.AnnotationConfirmGeneration] == value:
			return nil, nil
		}
		return change.Annotate(o, map[string]any{v1alpha1.AnnotationConfirmGeneration: value}).Patch, nil
	})
	if err != nil {
		return err
	}
	what := "unchanged"
	if changed {
		what = "confirmed, generation " + value
	}
	return f.Done(output, o, resource, what)
}
