// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suspend is the commands suspend and resume, which stop the snapshots of a schedule and start them again.
package suspend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// switching is one run of suspend or resume.
type switching struct {
	f *term.Factory
	// suspend is false for resume.
	suspend bool
	cluster string
	output  term.Output
	// now is the API server's time, which only resume reads.
	now time.Time
}

// New returns the command suspend.
func New(f *term.Factory) *cobra.Command {
	r := &switching{f: f, suspend: true}
	return r.command("suspend", "Stop taking the scheduled snapshots of a schedule",
		"Set spec.suspend: the schedule takes no snapshots at its slots. It still takes them on request, and retention\n"+
			"continues. 'kubectl snapsched coverage' shows the PVCs that no other schedule protects as gaps.",
		`  # Before maintenance of the storage
  kubectl snapsched suspend nightly

  # The same in all namespaces of a ClusterSnapshotSchedule
  kubectl snapsched suspend --cluster-schedule gold`)
}

// NewResume returns the command resume.
func NewResume(f *term.Factory) *cobra.Command {
	r := &switching{f: f}
	return r.command("resume", "Take the scheduled snapshots of a suspended schedule again",
		"Set spec.suspend to false. A PVC whose latest slot has passed without a snapshot gets one at once. The command first\n"+
			"names these PVCs, and says how many snapshots retention then deletes.",
		`  # What would be taken at once?
  kubectl snapsched resume nightly --dry-run

  kubectl snapsched resume nightly`)
}

func (r *switching) command(name, short, long, example string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " (NAME | --cluster-schedule NAME)", GroupID: term.GroupAct, Short: short, Long: long, Example: example,
		Args: term.AtMostOne("NAME"), ValidArgsFunction: term.CompleteOne(r.f.CompleteSchedules()),
		RunE: r.f.Connected(func(ctx context.Context, args []string) error {
			schedule, err := term.OneSchedule(args)
			switch {
			case err != nil:
				return err
			case term.Given(schedule, r.cluster) != 1:
				return errors.New("specify exactly one of NAME and --cluster-schedule")
			case r.cluster != "":
				return r.ofCluster(ctx)
			}
			return r.ofSchedule(ctx, schedule)
		}),
	}
	cmd.Flags().StringVar(&r.cluster, "cluster-schedule", "", "Name of a ClusterSnapshotSchedule, whose template is changed.")
	needs := `
get patch snapshotschedules if NAME
get patch clustersnapshotschedules if --cluster-schedule`
	if !r.suspend { // it says what happens at once
		needs += `
list snapshotschedules if --cluster-schedule
get namespaces if --cluster-schedule
list persistentvolumeclaims volumesnapshots`
	}
	term.Needs(cmd, needs)
	r.f.AddDryRun(cmd, false)
	r.output.AddFlags(cmd, false, term.JSON, term.YAML, term.Names)
	return cmd
}

// ofSchedule changes a schedule.
func (r *switching) ofSchedule(ctx context.Context, name string) error {
	s, err := view.ReadSchedule(ctx, r.f, name)
	if err != nil {
		return err
	}
	origin, err := view.Standalone(ctx, r.f, s, map[bool]string{true: "suspend", false: "resume"}[r.suspend])
	if err != nil {
		return err
	}
	if s.Spec.Suspend && !r.suspend {
		if r.now, err = r.f.ServerTime(ctx); err != nil {
			return err
		}
		resumed := s.DeepCopy()
		resumed.Spec.Suspend = false
		resumed.Generation++
		found, err := r.atOnce(ctx, s, resumed, origin, origin)
		if err != nil {
			return err
		}
		r.say(found)
	}
	return r.write(ctx, term.ScheduleResource, s, &s.Spec.Suspend, func(suspend bool) map[string]any {
		return map[string]any{"suspend": suspend}
	})
}

// ofCluster changes the template of a ClusterSnapshotSchedule.
func (r *switching) ofCluster(ctx context.Context) error {
	fleet := &v1alpha1.ClusterSnapshotSchedule{}
	err := r.f.Client.Get(ctx, client.ObjectKey{Name: r.cluster}, fleet)
	if err != nil {
		return err
	}
	if fleet.Spec.Template.Spec.Suspend && !r.suspend {
		if r.now, err = r.f.ServerTime(ctx); err != nil {
			return err
		}
		resumed := fleet.DeepCopy()
		resumed.Spec.Template.Spec.Suspend = false
		resumed.Generation++
		var all effects
		err = view.EachChild(ctx, r.f, fleet, func(s *v1alpha1.SnapshotSchedule, namespace client.Object) error {
			found, err := r.atOnce(ctx, s, s, []client.Object{fleet, namespace}, []client.Object{resumed, namespace})
			all.add(found, s.Namespace+"/")
			return err
		})
		if err != nil {
			return err
		}
		r.say(all)
	}
	return r.write(ctx, term.ClusterScheduleResource, fleet, &fleet.Spec.Template.Spec.Suspend, func(suspend bool) map[string]any {
		return map[string]any{"template": map[string]any{"spec": map[string]any{"suspend": suspend}}}
	})
}

// effects are what the operator does at once with a schedule that is resumed.
type effects struct {
	// claims are the PVCs, or groups, of which a snapshot is taken, and latest is the latest slot that one is for.
	claims  []string
	latest  time.Time
	deleted int
	invalid error
}

func (e *effects) add(one effects, prefix string) {
	for _, name := range one.claims {
		e.claims = append(e.claims, prefix+name)
	}
	if one.latest.After(e.latest) {
		e.latest = one.latest
	}
	e.deleted += one.deleted
	if one.invalid != nil {
		e.invalid = one.invalid
	}
}

// atOnce decides as the operator does, before and after the change.
func (r *switching) atOnce(
	ctx context.Context, s, resumed *v1alpha1.SnapshotSchedule, before, after []client.Object,
) (found effects, err error) {
	inv, err := view.ReadInventory(ctx, r.f, s.Namespace, labels.Everything(), view.Managed, view.OfSchedule(s.Name))
	if err != nil {
		return found, err
	}
	deleted := map[string]bool{} // what is deleted anyway is no effect of the change
	for i, variant := range []*v1alpha1.SnapshotSchedule{s, resumed} {
		inv.Origins = view.OriginsOf(s, [][]client.Object{before, after}[i])
		_, judged, err := inv.Judged(snapshots.Recorded(variant, r.now, inv.Origins.Of(s)...), r.now)
		if err != nil {
			return effects{invalid: fmt.Errorf("SnapshotSchedule %s: %w", s.Name, err)}, nil
		}
		for of, d := range judged {
			for _, v := range d.Delete {
				key := of.MapKey + "/" + v.Object.GetName()
				if i > 0 && !deleted[key] {
					found.deleted++
				}
				deleted[key] = true
			}
			if i == 0 || len(d.Create) == 0 {
				continue
			}
			found.add(effects{claims: []string{of.Name()}, latest: d.Slots.Current}, "")
		}
	}
	slices.Sort(found.claims)
	return found, nil
}

// say says what happens at once, where programs do not read it.
func (r *switching) say(found effects) {
	line := "no snapshot is due at once"
	if n := len(found.claims); n > 0 {
		names := found.claims[:min(n, term.Listed)]
		line = fmt.Sprintf("%s due at once (the latest slot is %s): %s", areOf(n), term.Timestamp(found.latest), strings.Join(names, ", "))
		if more := n - len(names); more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
	}
	if found.deleted > 0 {
		line += fmt.Sprintf("; %s will be deleted at once", term.Plural(found.deleted, "snapshot"))
	}
	term.Say(r.f.ErrOut, line)
	if found.invalid != nil {
		r.f.Warn("%s: nothing is taken until the spec is valid", found.invalid)
	}
}

func areOf(n int) string {
	if n == 1 {
		return "1 snapshot is"
	}
	return fmt.Sprintf("%d snapshots are", n)
}

// write sets the field, unless it is set, and prints it. Nothing else of the object changes. What was said of the effects is true of
// the generation that was read only.
func (r *switching) write(
	ctx context.Context, resource string, o client.Object, suspended *bool, spec func(suspend bool) map[string]any,
) error {
	shown := o.GetGeneration()
	changed, err := steps.Update(ctx, r.f, o, func() ([]byte, error) {
		switch {
		case *suspended == r.suspend:
			return nil, nil
		case !r.suspend && o.GetGeneration() != shown:
			return nil, fmt.Errorf("%s was edited meanwhile: nothing was done", o.GetName())
		}
		return change.Merge(o, nil, spec(r.suspend)), nil
	})
	if err != nil {
		return err
	}
	what := map[bool]string{true: "suspended", false: "resumed"}[r.suspend]
	if !changed {
		what = "unchanged: it is " + map[bool]string{true: "suspended", false: "not suspended"}[r.suspend] + " already"
	}
	return r.f.Done(&r.output, o, resource, what)
}
