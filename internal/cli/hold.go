// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
	"mapcontroller.dev/snapshotschedule/internal/cli/restore"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// holding is one run of hold or unhold.
type holding struct {
	*term.Factory
	// Which snapshots, if none are named.
	all             bool
	claim, schedule string
	// The flags, as they are written.
	reason, until string
	overwrite     bool

	now, end time.Time
}

func newHoldCommand(f *term.Factory) *cobra.Command {
	h := &holding{Factory: f}
	cmd := &cobra.Command{
		Use:     "hold (SNAPSHOT... | --all | --pvc PVC | --schedule NAME)",
		GroupID: term.GroupAct,
		Short:   "Keep snapshots: retention does not delete them",
		Long: "Keep snapshots: retention does not delete a snapshot that is held. The schedule still counts it.\n" +
			"A hold does not outlive the schedule: to keep a snapshot that does, use release.\n\n" +
			"A snapshot may be held for several reasons. Each has an end of its own, or none, and the snapshot is kept\n" +
			"until the last of them ends. A hold never shortens another one, nor itself without --overwrite. What is not\n" +
			"cut yet holds no data, and cannot be held.",
		Example: `  # Keep the snapshot from before an upgrade, and say why
  kubectl snapsched hold pgdata-20261121100928-46grgsginy --reason "before the upgrade to 18"

  # Keep it for a week
  kubectl snapsched hold pgdata-20261121100928-46grgsginy --until 1w

  # In an incident: keep all that there is
  kubectl snapsched hold --all --reason incident`,
		Args:              h.checkTargets,
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE:              f.Connected(h.hold),
	}
	h.addFlags(cmd)
	cmd.Flags().StringVar(&h.until, "until", "", "When the hold ends: a time in RFC 3339, such as 2027-01-31T18:00:00Z, or after how long, "+
		"such as 12h or 7d. If omitted, never.")
	cmd.Flags().StringVar(&h.reason, "reason", "", "Why it is held: the name of the hold.")
	cmd.Flags().BoolVar(&h.overwrite, "overwrite", false, "Let the hold of this reason end earlier than it does at present.")
	return cmd
}

func newUnholdCommand(f *term.Factory) *cobra.Command {
	h := &holding{Factory: f}
	cmd := &cobra.Command{
		Use:     "unhold (SNAPSHOT... | --all | --pvc PVC | --schedule NAME)",
		GroupID: term.GroupAct,
		Short:   "End a hold: retention applies again",
		Long: "End a hold. Retention applies again: a snapshot that has expired is deleted within seconds.\n" +
			"'kubectl snapsched why' says what would become of it.\n\n" +
			"With --reason, only the hold of that reason ends. Without it, all end but those of rollbacks, which end with them.",
		Example: `  # End all holds of a snapshot
  kubectl snapsched unhold pgdata-20261121100928-46grgsginy

  # After an incident: end what was held for it, and nothing else
  kubectl snapsched unhold --all --reason incident`,
		Args:              h.checkTargets,
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE:              f.Connected(h.unhold),
	}
	h.addFlags(cmd)
	cmd.Flags().StringVar(&h.reason, "reason", "", "End only the hold of this reason.")
	return cmd
}

func (h *holding) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&h.all, "all", false, "All snapshots of the namespace.")
	cmd.Flags().StringVar(&h.claim, "pvc", "", "All snapshots of this PVC, which may be gone.")
	cmd.Flags().StringVar(&h.schedule, "schedule", "", "All snapshots of this schedule, which may be gone.")
	_ = cmd.RegisterFlagCompletionFunc("pvc", h.CompleteClaims())
	_ = cmd.RegisterFlagCompletionFunc("schedule", h.CompleteSchedules())
}

func (h *holding) checkTargets(cmd *cobra.Command, args []string) error {
	all := ""
	if h.all {
		all = "all"
	}
	if term.Given(strings.Join(args, ""), all, h.claim, h.schedule) != 1 {
		return fmt.Errorf("give SNAPSHOT, or one of --all, --pvc and --schedule: %s", cmd.UseLine())
	}
	return nil
}

// chosen returns the snapshots that no argument names.
func (h *holding) chosen(ctx context.Context) (found []client.Object, err error) {
	var opts []client.ListOption
	what := "in namespace " + h.Namespace
	if h.schedule != "" {
		opts, what = []client.ListOption{ofSchedule(h.schedule)}, "of SnapshotSchedule "+h.schedule
	}
	list := &snapshotv1.VolumeSnapshotList{}
	if err := h.List(ctx, list, append(opts, client.InNamespace(h.Namespace))...); err != nil {
		return nil, err
	}
	if h.claim != "" {
		claim, err := lookUp(ctx, h.Client, client.ObjectKey{Namespace: h.Namespace, Name: h.claim}, &corev1.PersistentVolumeClaim{})
		if err != nil {
			return nil, err
		}
		for _, v := range restore.OfClaim(list.Items, h.claim, claim) {
			found = append(found, v)
		}
		what = "of PersistentVolumeClaim " + h.claim
	} else {
		groups, _, err := readGroups(ctx, h.Factory, h.Namespace, opts...)
		if err != nil {
			return nil, err
		}
		if h.GroupsDenied != nil {
			h.Warn("%s: group snapshots are left out", h.GroupsDenied)
		}
		found = append(items(list), groups[h.Namespace]...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no snapshot %s", what)
	}
	return found, nil
}

// each does something with each snapshot that is named, or chosen, and returns all errors. unfit is why nothing can be done
// with one: an error if it was named.
func (h *holding) each(
	ctx context.Context, names []string, unfit func(client.Object) error, do func(context.Context, client.Object) error,
) error {
	var errs []error
	for _, name := range names {
		v, err := getSnapshot(ctx, h.Factory, name)
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
	for _, v := range found {
		if why := unfit(v); why != nil {
			h.Warn("%s", why)
			continue
		}
		errs = append(errs, do(ctx, v))
	}
	return errors.Join(errs...)
}

// hold adds an entry to each snapshot, or lengthens it.
func (h *holding) hold(ctx context.Context, names []string) (err error) {
	if holders.IsOwn(h.reason) {
		return fmt.Errorf("--reason: %q would pass for a rollback's or a copy's", h.reason)
	}
	if h.reason == "" {
		h.reason = holders.Nobody
	}
	if h.now, err = h.ServerTime(ctx); err != nil {
		return err
	}
	if h.end, err = endOfHold("--until", h.until, h.now); err != nil {
		return err
	}
	return h.each(ctx, names, unholdable, h.holdOne)
}

// unholdable returns why a snapshot cannot be held, or nil.
func unholdable(v client.Object) error {
	_, kind := resourceOf(v)
	switch {
	case v.GetDeletionTimestamp() != nil:
		return beingDeleted(v)
	case snapshots.Uncut(v):
		return fmt.Errorf("%s %s is not cut yet: it holds no data, and held it could stop the backups of its PVC", kind, v.GetName())
	}
	return nil
}

func (h *holding) holdOne(ctx context.Context, v client.Object) error {
	resource, kind := resourceOf(v)
	before, after, changed, err := h.change(ctx, v, func(now holders.Holders) (holders.Holders, error) {
		if err := unholdable(v); err != nil {
			return now, err
		}
		set := now.With
		if h.overwrite {
			set = now.Shortened
		}
		return set(h.reason, h.end, h.now)
	})
	if err != nil {
		return err
	}
	named := !h.all && h.claim == "" && h.schedule == ""
	if named && v.GetLabels()[v1alpha1.LabelMapKey] == "" && snapshots.LabeledMember(v) == "" {
		h.Warn("%s %s is not a schedule's, so only schedules that adopt it respect the hold", kind, v.GetName())
	}
	what := "held"
	if !changed {
		what = "unchanged: held"
	}
	what += untilWords(after.Until(h.reason))
	if !changed && h.end.Before(before.Until(h.reason)) {
		what += " already (--overwrite shortens that)"
	}
	if others := holderWords(after.Without(h.reason)); others != "" {
		what += ", and by " + others
	}
	h.Did(resource, v.GetName(), what)
	return nil
}

// unhold ends entries of each snapshot.
func (h *holding) unhold(ctx context.Context, names []string) error {
	return h.each(ctx, names, func(client.Object) error { return nil }, func(ctx context.Context, v client.Object) error {
		_, after, changed, err := h.change(ctx, v, func(now holders.Holders) (holders.Holders, error) {
			if h.reason != "" {
				return now.Without(h.reason), nil
			}
			return now.Rollbacks(), nil
		})
		if err != nil {
			return err
		}
		what := "unchanged"
		if changed {
			what = "no longer held"
			if h.reason != "" {
				what += fmt.Sprintf(" by %q", h.reason)
			}
		}
		if others := holderWords(after); others != "" {
			what += "; still held by " + others
		}
		resource, _ := resourceOf(v)
		h.Did(resource, v.GetName(), what)
		return nil
	})
}

// change changes who holds a snapshot, with one patch, unless somebody else has changed it meanwhile. Nothing is written if
// the holders stay the same.
func (h *holding) change(
	ctx context.Context, v client.Object, to func(now holders.Holders) (holders.Holders, error),
) (before, after holders.Holders, changed bool, err error) {
	changed, err = updateSnapshot(ctx, h.Factory, v, func() (_ []byte, err error) {
		before = holders.Of(v)
		if after, err = to(before); err != nil {
			return nil, fmt.Errorf("%s: %w", v.GetName(), err)
		}
		annotations := after.Changes(v)
		if annotations == nil {
			return nil, nil
		}
		return metadata(map[string]any{"resourceVersion": v.GetResourceVersion(), "annotations": annotations}), nil
	})
	return before, after, changed, err
}

// endOfHold returns when a hold ends, by the value of a flag.
func endOfHold(flag, until string, now time.Time) (time.Time, error) {
	if until == "" {
		return holders.Forever, nil
	}
	end, err := time.Parse(time.RFC3339, until)
	if err != nil {
		d, err := schedule.ParseDuration(until)
		if err != nil {
			return end, fmt.Errorf("%s: %q is neither a time in RFC 3339 nor a duration such as 12h or 7d", flag, until)
		}
		end = now.Add(d)
	}
	if !end.After(now) {
		return end, fmt.Errorf("%s: %s is not in the future", flag, until)
	}
	return end.UTC(), nil
}

// untilWords say when a hold ends.
func untilWords(end time.Time) string {
	if end.Equal(holders.Forever) {
		return ""
	}
	return " until " + term.Timestamp(end)
}

// holderWords say who holds a snapshot, and until when.
func holderWords(h holders.Holders) string {
	var all []string
	for _, name := range h.Names() {
		all = append(all, fmt.Sprintf("%q", name)+untilWords(h.Until(name)))
	}
	if more := len(all) - term.Listed; more > 0 {
		all = append(all[:term.Listed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}
