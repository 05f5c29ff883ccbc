// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hold is the commands hold, unhold and release, which keep snapshots.
package hold

import (
	"context"
	"errors"
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// holdRun is one run of hold or unhold.
type holdRun struct {
	holding steps.Holding
	// Which snapshots, if none are named.
	all             bool
	claim, schedule string
	// until is a flag, as it is written.
	until string
}

// New returns the command hold.
func New(f *term.Factory) *cobra.Command {
	h := &holdRun{holding: steps.Holding{Factory: f}}
	cmd := h.command("hold", "Keep snapshots: retention does not delete them",
		"Keep snapshots: retention does not delete a snapshot that is held. The schedule still counts it.\n"+
			"A hold does not protect a snapshot when its schedule is deleted: use release for that.\n\n"+
			"A snapshot may be held for several reasons. Each has its own end, or none, and the snapshot is kept until the\n"+
			"last of them ends. A hold never shortens another one, and shortens itself only with --overwrite. A snapshot\n"+
			"that is not cut yet has no data, and cannot be held.",
		`  # Keep the snapshot from before an upgrade, and say why
  kubectl snapsched hold pgdata-20261121100928-46grgsginy --reason "before the upgrade to 18"

  # Keep it for a week
  kubectl snapsched hold pgdata-20261121100928-46grgsginy --until 1w

  # In an incident: keep all that there is
  kubectl snapsched hold --all --reason incident`,
		"Why it is held: the name of the hold.", h.hold)
	cmd.Flags().StringVar(&h.until, "until", "", "When the hold ends: a time in RFC 3339, such as 2027-01-31T18:00:00Z, or after how long, "+
		"such as 12h or 7d. If omitted, never.")
	cmd.Flags().BoolVar(&h.holding.Overwrite, "overwrite", false, "Let the hold of this reason end earlier than it does now.")
	return cmd
}

// NewUnhold returns the command unhold.
func NewUnhold(f *term.Factory) *cobra.Command {
	h := &holdRun{holding: steps.Holding{Factory: f}}
	return h.command("unhold", "End a hold: retention applies again",
		"End a hold. Retention applies again: a snapshot that has expired is deleted within seconds.\n"+
			"'kubectl snapsched why' says what would happen to it.\n\n"+
			"With --reason, only the hold of that reason ends. Without it, all holds end except those of rollbacks, which end\n"+
			"with their rollback.",
		`  # End all holds of a snapshot
  kubectl snapsched unhold pgdata-20261121100928-46grgsginy

  # After an incident: end what was held for it, and nothing else
  kubectl snapsched unhold --all --reason incident`,
		"End only the hold of this reason.", h.unhold)
}

// command returns a command with what hold and unhold share.
func (h *holdRun) command(
	name, short, long, example, reason string, run func(context.Context, []string) error,
) *cobra.Command {
	f := h.holding.Factory
	cmd := &cobra.Command{
		Use: name + " (SNAPSHOT... | --all | --pvc PVC | --schedule NAME)", GroupID: term.GroupAct, Short: short, Long: long, Example: example,
		Args: h.checkTargets, ValidArgsFunction: f.CompleteSnapshots(), RunE: f.Connected(run),
	}
	term.Needs(cmd, `
get volumesnapshots if SNAPSHOT
list volumesnapshots unless SNAPSHOT
get persistentvolumeclaims if --pvc
patch volumesnapshots`)
	cmd.Flags().BoolVar(&h.all, "all", false, "All snapshots of the namespace.")
	cmd.Flags().StringVar(&h.claim, "pvc", "", "All snapshots of this PVC, which may be gone.")
	cmd.Flags().StringVar(&h.schedule, "schedule", "", "All snapshots of this schedule, which may be gone.")
	cmd.Flags().StringVar(&h.holding.Reason, "reason", "", reason)
	f.AddDryRun(cmd, false)
	h.holding.Output = &term.Output{}
	h.holding.Output.AddFlags(cmd, false, term.JSON, term.YAML, term.Names)
	return cmd
}

func (h *holdRun) checkTargets(cmd *cobra.Command, args []string) error {
	all := ""
	if h.all {
		all = "all"
	}
	if term.Given(strings.Join(args, ""), all, h.claim, h.schedule) != 1 {
		return fmt.Errorf("specify SNAPSHOT, or one of --all, --pvc and --schedule: %s", cmd.UseLine())
	}
	return nil
}

// chosen returns the snapshots that no argument names.
func (h *holdRun) chosen(ctx context.Context) (found []client.Object, err error) {
	var opts []client.ListOption
	what := "in namespace " + h.holding.Factory.Namespace
	if h.schedule != "" {
		opts, what = []client.ListOption{view.OfSchedule(h.schedule)}, "of SnapshotSchedule "+h.schedule
	}
	list := &snapshotv1.VolumeSnapshotList{}
	if err := h.holding.Factory.List(ctx, list, append(opts, client.InNamespace(h.holding.Factory.Namespace))...); err != nil {
		return nil, err
	}
	if h.claim != "" {
		key := client.ObjectKey{Namespace: h.holding.Factory.Namespace, Name: h.claim}
		claim, err := view.LookUp(ctx, h.holding.Factory.Client, key, &corev1.PersistentVolumeClaim{})
		if err != nil {
			return nil, err
		}
		for _, v := range recovery.OfClaim(list.Items, h.claim, claim) {
			found = append(found, v)
		}
		what = "of PersistentVolumeClaim " + h.claim
	} else {
		groups, _, err := view.ReadGroups(ctx, h.holding.Factory, h.holding.Factory.Namespace, opts...)
		if err != nil {
			return nil, err
		}
		if h.holding.Factory.GroupsDenied != nil {
			h.holding.Factory.Warn("%s: group snapshots are left out", h.holding.Factory.GroupsDenied)
		}
		found = append(view.Items(list), groups[h.holding.Factory.Namespace]...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no snapshot %s", what)
	}
	return found, nil
}

// each does something with each snapshot that is named, or chosen, and returns all errors. unfit is why nothing can be done
// with one: an error if it was named.
func (h *holdRun) each(
	ctx context.Context, names []string, unfit func(client.Object) error, do func(context.Context, client.Object) error,
) error {
	if err := h.holding.Factory.DryRun.OneWrite(len(names)); err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		v, err := view.GetSnapshot(ctx, h.holding.Factory, name)
		if err == nil {
			err = do(ctx, v)
		}
		errs = append(errs, err)
	}
	if len(names) > 0 {
		return errors.Join(errs...)
	}
	found, err := h.chosen(ctx)
	if err != nil {
		return err
	}
	if err := h.holding.Factory.DryRun.OneWrite(len(found)); err != nil {
		return err
	}
	for _, v := range found {
		if why := unfit(v); why != nil {
			h.holding.Factory.Warn("%s", why)
			continue
		}
		errs = append(errs, do(ctx, v))
	}
	return errors.Join(errs...)
}

// hold adds an entry to each snapshot, or lengthens it.
func (h *holdRun) hold(ctx context.Context, names []string) (err error) {
	if holders.IsOwn(h.holding.Reason) {
		return fmt.Errorf("--reason: %q would pass for a rollback's or a copy's", h.holding.Reason)
	}
	if h.holding.Reason == "" {
		h.holding.Reason = holders.Nobody
	}
	if h.holding.Now, err = h.holding.Factory.ServerTime(ctx); err != nil {
		return err
	}
	if h.holding.End, err = steps.EndOfHold("--until", h.until, h.holding.Now); err != nil {
		return err
	}
	h.holding.Named = len(names) > 0
	return h.each(ctx, names, steps.Unholdable, h.holding.HoldOne)
}

// unhold ends entries of each snapshot.
func (h *holdRun) unhold(ctx context.Context, names []string) error {
	return h.each(ctx, names, func(client.Object) error { return nil }, func(ctx context.Context, v client.Object) error {
		_, after, changed, err := h.holding.Change(ctx, v, func(now holders.Holders) (holders.Holders, error) {
			if h.holding.Reason != "" {
				return now.Without(h.holding.Reason), nil
			}
			return now.Rollbacks(), nil
		})
		if err != nil {
			return err
		}
		what := "unchanged"
		if changed {
			what = "no longer held"
			if h.holding.Reason != "" {
				what += fmt.Sprintf(" by %q", h.holding.Reason)
			}
		}
		if others := steps.HolderWords(after); others != "" {
			what += "; still held by " + others
		}
		resource, _ := view.ResourceOf(v)
		return h.holding.Factory.Done(h.holding.Output, v, resource, what)
	})
}
