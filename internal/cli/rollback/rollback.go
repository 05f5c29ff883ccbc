// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollback is the command rollback: it reads the cluster and takes the next step that internal/core names, until there is none.
//
//	rollback.go    the command, and its steps
//	observe.go     what is read before each step
//	goal.go        whether an unfinished rollback goes where this one would
//	unfinished.go  which rollbacks are unfinished, for coverage
//	storage.go     how the storage takes a snapshot of the data that a rollback replaces
package rollback

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// New returns the command rollback.
func New(f *term.Factory) *cobra.Command {
	r := &rollbackRun{Factory: f, told: steps.Told{}, targets: map[string]*snapshotv1.VolumeSnapshot{}, seen: map[string]bool{}}
	cmd := &cobra.Command{
		Use:     "rollback ([WORKLOAD] [--pvc PVC]) (--as-of TIME | --snapshot SNAPSHOT | --undo[=ID])",
		GroupID: term.GroupAct,
		Short:   "Put the data of an earlier snapshot under a PVC's own name",
		Long: `Put the data of an earlier snapshot under the PVC's own name: of all PVCs of a Deployment or StatefulSet, or of those
that --pvc names. Their workload is scaled to 0 meanwhile.

Nothing is deleted that holds the only copy of anything. The present data is kept twice: in a snapshot that belongs to no
schedule, and on the old PersistentVolume. The snapshots of the PVC stay with it. Whatever interrupts the command, run it
again, and it goes on where it stopped. --undo goes back to the old PersistentVolume, whether the rollback was finished or not.

It needs permission to patch PersistentVolumes. The workload and the PVC must not be controlled by something else, such as an
operator's own resource, and nothing else must use the PVC.`,
		Example: `  # What would be done
  kubectl snapsched rollback statefulset/db --as-of 2026-11-21T09:00:00Z --dry-run

  # All PVCs of a StatefulSet
  kubectl snapsched rollback statefulset/db --as-of 2026-11-21T09:00:00Z

  # One PVC, to one snapshot
  kubectl snapsched rollback --pvc pgdata --snapshot pgdata-20261121100928-46grgsginy

  # Back to the data from before the latest rollback
  kubectl snapsched rollback statefulset/db --undo`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: term.CompleteOne(f.CompleteWorkloads()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			r.workloadName = strings.Join(args, "")
			if err := r.checkFlags(ctx); err != nil {
				return err
			}
			return r.run(ctx)
		}),
	}
	cmd.Flags().StringSliceVar(&r.claims, "pvc", nil, "PVCs to roll back. If omitted, all of the workload.")
	cmd.Flags().StringVar(&r.time, "as-of", "", "Go back to the newest data of this time or earlier: "+term.AsOfForms+".")
	cmd.Flags().StringVar(&r.snapshot, "snapshot", "", "Go back to this snapshot of the PVC.")
	cmd.Flags().StringVar(&r.undo, "undo", "",
		"Go back to the data from before the latest rollback, finished or not, or from before the one with this ID.")
	cmd.Flags().Lookup("undo").NoOptDefVal = latestRollback
	cmd.Flags().BoolVar(&r.again, "again", false, "Go back to the same snapshot once more.")
	cmd.Flags().BoolVar(&r.skipSafety, "skip-safety-snapshot", false,
		"Take no snapshot of the present data, of which the old PersistentVolume is then the only copy.")
	cmd.Flags().BoolVar(&r.takeOver, "take-over", false,
		"Go on with an unfinished rollback of another user, whose last step is older than an hour.")
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "Only print what would be done.")
	cmd.Flags().BoolVarP(&r.yes, "yes", "y", false, "Do not ask.")
	cmd.Flags().DurationVar(&r.timeout, "timeout", 30*time.Minute, "How long to wait for one step, such as 90s.")
	cmd.Flags().StringVar(&r.image, "image", "registry.k8s.io/pause:3.10",
		"Image of the pod for a storage class that waits for a consumer. It need not be able to run.")
	_ = cmd.RegisterFlagCompletionFunc("pvc", f.CompleteClaims())
	_ = cmd.RegisterFlagCompletionFunc("snapshot", f.CompleteSnapshots())
	return cmd
}

// latestRollback is the value of --undo without an ID.
const latestRollback = "latest"

// rollbackRun is one run of rollback.
type rollbackRun struct {
	*term.Factory
	// The arguments, as they are written.
	workloadName, time, snapshot, undo, image string
	claims                                    []string
	again, skipSafety, takeOver, dryRun, yes  bool
	timeout                                   time.Duration

	// began is the API server's time when the run began, started the local one.
	began, started, asOf time.Time
	told                 steps.Told
	// newID is that of a rollback that begins, and user who runs it.
	newID, user string
	// What observations remember: the workload, the chosen snapshots by PVC, and the names of
	// volumes that matter.
	workload  *core.Workload
	targets   map[string]*snapshotv1.VolumeSnapshot
	seen      map[string]bool
	schedules []*v1alpha1.SnapshotSchedule
	origins   view.Origins
	// own is the lock that this run has. It was taken off if released is set.
	own              *core.Lock
	released, scaled bool
	last             int      // the number of the last step that was taken
	said             string   // the last step that was printed
	unlike           []string // the goals of an unfinished rollback that this run would not have chosen
	goesOn           string   // the ID of the rollback that has begun; empty if none has
}

func (r *rollbackRun) checkFlags(ctx context.Context) (err error) {
	switch {
	case r.workloadName == "" && len(r.claims) == 0:
		return errors.New("name a workload, such as statefulset/db, or PVCs with --pvc")
	case term.Given(r.time, r.snapshot, r.undo) != 1:
		return errors.New("specify exactly one of --as-of, --snapshot and --undo")
	case r.snapshot != "" && len(r.claims) != 1:
		return errors.New("--snapshot needs the one PVC that is rolled back: name it with --pvc")
	}
	if r.began, err = r.ServerTime(ctx); err != nil {
		return fmt.Errorf("read the API server's clock: %w", err)
	}
	r.started = r.Clock.Now()
	if r.time != "" {
		if r.asOf, err = r.AsOf(r.time, r.began); err != nil {
			return err
		}
	}
	r.newID, r.user = newRollbackID(), r.WhoAmI(ctx)
	return nil
}

func newRollbackID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// rollbackRights are what a rollback needs in any case.
var rollbackRights = []authorizationv1.ResourceAttributes{
	{Verb: "patch", Resource: "persistentvolumes"},
	{Verb: "list", Resource: "persistentvolumes"},
	{Verb: "create", Resource: "persistentvolumeclaims"},
	{Verb: "delete", Resource: "persistentvolumeclaims"},
	{Verb: "patch", Resource: "persistentvolumeclaims"},
	{Verb: "create", Group: snapshotv1.GroupName, Resource: "volumesnapshots"},
	{Verb: "patch", Group: snapshotv1.GroupName, Resource: "volumesnapshots"},
	{Verb: "delete", Group: snapshotv1.GroupName, Resource: "volumesnapshots"}, // a safety snapshot that is not cut
}

// checkRights asks first: a rollback that may not go on would leave the workload scaled to 0.
func (r *rollbackRun) checkRights(ctx context.Context, state *core.State) error {
	rights := slices.Clone(rollbackRights)
	if slices.ContainsFunc(state.Claims, func(c *core.Claim) bool { return len(c.Groups) > 0 }) {
		rights = append(rights, authorizationv1.ResourceAttributes{Verb: "patch", Group: groupv1.GroupName, Resource: "volumegroupsnapshots"})
	}
	if r.workload != nil {
		rights = append(rights, authorizationv1.ResourceAttributes{
			Verb: "patch", Group: appsv1.GroupName, Resource: strings.ToLower(r.workload.Kind) + "s", Name: r.workload.Object.GetName(),
		})
	}
	for i := range rights {
		if rights[i].Resource != "persistentvolumes" {
			rights[i].Namespace = r.Namespace
		}
	}
	missing, err := r.Lacking(ctx, rights)
	if err == nil && missing != nil {
		err = fmt.Errorf("a rollback needs permissions that you do not have: %s", strings.Join(missing, ", "))
	}
	return err
}

func (r *rollbackRun) run(ctx context.Context) error {
	state, err := r.observe(ctx)
	if err != nil {
		return err
	}
	if err := r.checkRights(ctx, state); err != nil {
		return err
	}
	step, err := core.Next(state)
	if err != nil {
		return err
	}
	if step.Number > 0 {
		term.Say(r.Out, core.Heading(state))
		for _, line := range core.Plan(state) {
			term.Say(r.Out, line)
		}
		if apart := core.Apart(state); apart != "" {
			r.Warn("the PVCs go back to different instants: %s", apart)
		}
		if err := r.agreed(); err != nil {
			return err
		}
		if r.dryRun {
			fmt.Fprintf(r.Out, "Nothing was done (dry run). The next step is %d.\n", step.Number)
			return nil
		}
		if !r.yes {
			if state, err = r.asked(ctx, state); err != nil {
				return err
			}
		}
	}
	return r.steps(ctx, state)
}

// unfinished says what to do after an error.
func (r *rollbackRun) unfinished(ctx context.Context, state *core.State, err error) error {
	switch {
	case r.goesOn == "": // nothing was done
		return err
	case errors.Is(err, core.ErrEnded):
		return errors.Join(err, r.dropUncut(ctx))
	}
	scaled := ", and nothing was scaled up"
	if r.last == 10 { // whether the request was executed may be unknown
		scaled = ""
	}
	return fmt.Errorf("%w\nThe rollback is unfinished%s. Run the command again to go on, or go back with: %s",
		errors.Join(err, r.dropUncut(ctx)), scaled, r.command(state, "--undo"))
}

// dropFor is how long the command takes to end after a signal.
const dropFor = 5 * time.Second

// dropUncut deletes the safety snapshots that hold no data: they would stop the PVC's backups, or be cut much later.
func (r *rollbackRun) dropUncut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropFor)
	defer cancel()
	list := &snapshotv1.VolumeSnapshotList{}
	if err := r.List(ctx, list, client.InNamespace(r.Namespace), client.MatchingLabels{v1alpha1.LabelRollback: r.goesOn}); err != nil {
		return fmt.Errorf("delete VolumeSnapshots that are not cut: %w", err)
	}
	var errs []error
	for i := range list.Items {
		if v := &list.Items[i]; recovery.OfRollback(v) && backup.Uncut(v) && v.DeletionTimestamp == nil {
			err := steps.Send(ctx, r.Factory, change.Change{Delete: v})
			if err == nil {
				term.Say(r.Out, fmt.Sprintf("VolumeSnapshot %s, which was not cut, is deleted", v.Name))
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// command returns a command line for the same PVCs, and their workload: without pods, they do not say whose they are.
func (r *rollbackRun) command(state *core.State, flags string) string {
	names, line := r.claims, term.Name+" rollback -n "+term.ShellWord(r.Namespace)
	if len(state.Claims) > 0 {
		names = nil
	}
	for _, c := range state.Claims {
		names = append(names, c.Name)
	}
	switch {
	case state.Workload != nil:
		line += " " + state.Workload.Name()
	case len(names) == 0:
		line += " " + term.ShellWord(r.workloadName)
	}
	if len(names) > 0 {
		line += " --pvc " + term.ShellWord(strings.Join(names, ","))
	}
	return line + " " + flags
}

// sameStep is how often a step may be repeated before it is given up: something undoes it.
const sameStep = 5

// steps takes one step after another. Each is decided from what the cluster holds then.
func (r *rollbackRun) steps(ctx context.Context, state *core.State) error {
	further, repeated, last := r.Clock.Now(), 0, ""
	var ended error
	for {
		step, err := core.Next(state)
		switch {
		case err != nil:
			return r.unfinished(ctx, state, errors.Join(ended, err))
		case step.Number == 0:
			r.finished(state, ended)
			return ended
		case step.Text != last:
			further, repeated, last = r.Clock.Now(), 0, step.Text
		case len(step.Changes) > 0:
			repeated++
		}
		if repeated > sameStep {
			return r.unfinished(ctx, state, fmt.Errorf("something undoes this step: %s", step.Text))
		}
		if lock := state.Lock(); lock != nil && !lock.Time.IsZero() { // this run, or an earlier one, has begun it
			r.goesOn = lock.ID
		}
		if err := r.take(ctx, state, step, r.Clock.Since(further) > r.timeout); err != nil {
			return r.unfinished(ctx, state, err)
		}
		if step.Ends != nil {
			if ended = step.Ends; !core.Untouched(state) {
				return r.unfinished(ctx, state, ended)
			}
			r.undo, r.newID, r.own, r.goesOn = state.Lock().ID, newRollbackID(), nil, "" // what was prepared is taken back
		}
		if state, err = r.observe(ctx); err != nil {
			return r.unfinished(ctx, &core.State{}, err)
		}
	}
}

// take takes a step, or waits.
func (r *rollbackRun) take(ctx context.Context, state *core.State, step core.Step, tooLong bool) error {
	text := fmt.Sprintf("[%d/10] %s", step.Number, step.Text)
	switch {
	case len(step.Changes) > 0:
		if text != r.said { // after a conflict it is decided again
			term.Say(r.Out, text)
		}
		r.said, r.last = text, step.Number
		return r.apply(ctx, state, step)
	case tooLong:
		return fmt.Errorf("%w after %s: %s", term.ErrTimeout, r.timeout, step.Text)
	}
	r.told.Once(r.ErrOut, text)
	err := r.apply(ctx, state, step)
	if step.For != nil {
		err = errors.Join(err, steps.ExplainWarnings(ctx, r.Factory, step.For, r.told))
	}
	return errors.Join(err, steps.Pause(ctx))
}

// apply sends the changes of a step. What has changed since it was read is decided again: then this run may have lost the lock.
func (r *rollbackRun) apply(ctx context.Context, state *core.State, step core.Step) error {
	lost := false
	for i, one := range slices.Concat(step.Renewals, step.Changes) {
		switch err := steps.Send(ctx, r.Factory, one); {
		case apierrors.IsConflict(err), one.Patch != nil && apierrors.IsNotFound(err):
			if lost = true; i < len(step.Renewals) {
				return nil
			}
		case err != nil && !apierrors.IsAlreadyExists(err):
			if !refused(err) { // it may have been carried out
				r.goesOn = state.Lock().ID
			}
			return fmt.Errorf("%s: %w", step.Text, err)
		default:
			r.scaled, r.goesOn = r.scaled || step.Scales, state.Lock().ID
		}
	}
	if !lost && len(step.Renewals)+len(step.Changes) > 0 {
		own := *state.Lock()
		own.User = r.user
		r.own, r.released = &own, step.Releases
	}
	return nil
}

// refused returns whether the API server has certainly not carried out a request. With any other error, such as a lost answer, it may
// have.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500
}

// finished says what the PVCs have now, and at last how to undo that.
func (r *rollbackRun) finished(state *core.State, ended error) {
	lines, undo := core.Result(state)
	for _, line := range lines {
		term.Say(r.Out, line)
	}
	if undo != "" && ended == nil {
		term.Say(r.Out, "To undo this: "+r.command(state, undo))
	}
}
