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
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
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
	r := &rollbackRun{f: f, printed: steps.Printed{}, targets: map[string]*snapshotv1.VolumeSnapshot{}, seen: map[string]bool{}}
	cmd := &cobra.Command{
		Use:     "rollback ([WORKLOAD] [--pvc PVC]) (--as-of TIME | --snapshot SNAPSHOT | --undo[=ID])",
		GroupID: term.GroupAct,
		Short:   "Put the data of an earlier snapshot under a PVC's own name",
		Long: `Put the data of an earlier snapshot under the PVC's own name: of all PVCs of a Deployment or StatefulSet, or of those
that --pvc names. Their workload is scaled to 0 meanwhile.

The only copy of any data is never deleted. The present data is kept twice: in a snapshot that belongs to no schedule, and on
the old PersistentVolume. The PVC keeps its snapshots. If anything interrupts the command, run it again: it continues where it
stopped. --undo goes back to the old PersistentVolume, whether the rollback was finished or not.

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
		Args:              term.NotEmpty(cobra.MaximumNArgs(1), "pvc"),
		ValidArgsFunction: term.CompleteOne(f.CompleteWorkloads()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			r.workloadName = strings.Join(args, "")
			if err := r.checkFlags(ctx); err != nil {
				return err
			}
			return r.run(ctx)
		}),
	}
	term.Needs(cmd, `
get list patch persistentvolumes
list create patch delete persistentvolumeclaims volumesnapshots
list pods`)
	cmd.Flags().StringSliceVar(&r.claims, "pvc", nil, "PVCs to roll back. If omitted, all of the workload.")
	cmd.Flags().StringVar(&r.time, "as-of", "", "Go back to the newest data of this time or earlier: "+term.AsOfForms+".")
	cmd.Flags().StringVar(&r.snapshot, "snapshot", "", "Go back to this snapshot of the PVC.")
	cmd.Flags().StringVar(&r.undo, "undo", "",
		"Go back to the data from before the latest rollback, finished or not, or from before the one with this ID.")
	cmd.Flags().Lookup("undo").NoOptDefVal = latestRollback
	cmd.Flags().BoolVar(&r.again, "again", false, "Go back to the same snapshot once more.")
	cmd.Flags().BoolVar(&r.skipSafety, "skip-safety-snapshot", false,
		"Take no snapshot of the present data. The old PersistentVolume is then its only copy.")
	cmd.Flags().BoolVar(&r.takeOver, "take-over", false,
		"Continue an unfinished rollback of another user, whose last step is more than an hour old.")
	f.AddDryRun(cmd, true)
	term.Ends(cmd, "", "the timeout passed: run the command again to continue")
	term.AddYes(cmd, &r.yes)
	term.AddTimeout(cmd.Flags(), &r.timeout, time.Hour)
	cmd.Flags().StringVar(&r.image, "image", "registry.k8s.io/pause:3.10",
		"Image of the pod for a storage class that waits for a consumer. It need not be able to run.")
	return cmd
}

// latestRollback is the value of --undo without an ID.
const latestRollback = "latest"

// rollbackRun is one run of rollback.
type rollbackRun struct {
	f *term.Factory
	// The arguments, as they are written.
	workloadName, time, snapshot, undo, image string
	claims                                    []string
	again, skipSafety, takeOver, yes          bool
	timeout                                   time.Duration

	// began is the API server's time when the run began, started the local one.
	began, started, asOf time.Time
	acts                 time.Time // when the timeout began
	printed              steps.Printed
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
	// first is what the first step is decided by. Nobody was waited for since it was observed, and what has happened nevertheless fails the
	// step, as after any other observation.
	first  *core.State
	state  *core.State // as it was observed last
	ended  error       // why the rollback is given up, which this run takes back
	last   int         // the number of the last step that was taken
	unlike []string    // the goals of an unfinished rollback that this run would not have chosen
	goesOn string      // the ID of the rollback that has begun; empty if none has
}

func (r *rollbackRun) checkFlags(ctx context.Context) (err error) {
	switch {
	case r.workloadName == "" && len(r.claims) == 0:
		return errors.New("specify a workload, such as statefulset/db, or PVCs with --pvc")
	case term.Given(r.time, r.snapshot, r.undo) != 1:
		return errors.New("specify exactly one of --as-of, --snapshot and --undo")
	case r.snapshot != "" && len(r.claims) != 1:
		return errors.New("--snapshot needs the one PVC that is rolled back: name it with --pvc")
	}
	if r.began, err = r.f.ServerTime(ctx); err != nil {
		return fmt.Errorf("read the API server's clock: %w", err)
	}
	r.started = r.f.Clock.Now()
	if r.time != "" {
		if r.asOf, err = r.f.AsOf(r.time, r.began); err != nil {
			return err
		}
	}
	r.newID, r.user = newRollbackID(), r.f.WhoAmI(ctx)
	return nil
}

func newRollbackID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// checkRights asks first: a rollback that may not go on would leave the workload scaled to 0.
func (r *rollbackRun) checkRights(ctx context.Context, state *core.State) error {
	var found []authorizationv1.ResourceAttributes
	if slices.ContainsFunc(state.Claims, func(c *core.Claim) bool { return len(c.Groups) > 0 }) {
		found = append(found, term.Rights(r.f.Namespace, "volumegroupsnapshots", "patch")...)
	}
	if slices.ContainsFunc(state.Claims, func(c *core.Claim) bool { return c.WaitsForConsumer }) {
		found = append(found, term.Rights(r.f.Namespace, "pods", "create", "delete")...)
	}
	if r.workload != nil {
		scale := term.Rights(r.f.Namespace, strings.ToLower(r.workload.Kind)+"s", "patch")
		scale[0].Name = r.workload.Object.GetName()
		found = append(found, scale...)
	}
	return r.f.Need(ctx, "a rollback", found...)
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
		term.Say(r.f.Out, core.Heading(state))
		for _, line := range core.Plan(state) {
			term.Say(r.f.Out, line)
		}
		if apart := core.Apart(state); apart != "" {
			r.f.Warn("the PVCs go back to different instants: %s", apart)
		}
		if err := r.agreed(); err != nil {
			return err
		}
		if r.f.DryRun.On() {
			fmt.Fprintf(r.f.Out, "Nothing was done (dry run). The next step is %d.\n", step.Number)
			return nil
		}
		if !r.yes {
			if state, err = r.asked(ctx, state); err != nil {
				return err
			}
		}
	}
	runner := &steps.Runner{Factory: r.f, Out: r.f.Out, Printed: r.printed, Of: core.Steps, Timeout: r.timeout}
	r.acts, r.first = r.f.Clock.Now(), state
	if err := steps.Run(ctx, runner, r); err != nil {
		return err
	}
	r.finished()
	return r.ended
}

// Unfinished says what to do after an error.
func (r *rollbackRun) Unfinished(ctx context.Context, state *core.State, err error) error {
	switch {
	case r.goesOn == "": // nothing was done
		return err
	case errors.Is(err, core.ErrEnded):
		return errors.Join(err, r.dropUncut(ctx))
	}
	scaled := ", and nothing was scaled up"
	switch {
	case errors.Is(err, errLate):
		scaled = ", and nothing was scaled down"
	case r.last == core.Steps: // whether the request was executed may be unknown
		scaled = ""
	}
	return fmt.Errorf("%w\nThe rollback is unfinished%s. Run the command again to continue, or go back with: %s",
		errors.Join(err, r.dropUncut(ctx)), scaled, r.command(state, "--undo"))
}

// dropFor is how long the command takes to end after a signal.
const dropFor = 5 * time.Second

// dropUncut deletes the safety snapshots that hold no data: they would stop the PVC's backups, or be cut much later.
func (r *rollbackRun) dropUncut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropFor)
	defer cancel()
	list := &snapshotv1.VolumeSnapshotList{}
	if err := r.f.List(ctx, list, client.InNamespace(r.f.Namespace), client.MatchingLabels{v1alpha1.LabelRollback: r.goesOn}); err != nil {
		return fmt.Errorf("delete VolumeSnapshots that are not cut: %w", err)
	}
	var errs []error
	for i := range list.Items {
		if v := &list.Items[i]; recovery.OfRollback(v) && backup.Uncut(v) && v.DeletionTimestamp == nil {
			err := steps.Send(ctx, r.f, change.Change{Delete: v})
			if err == nil {
				term.Say(r.f.Out, fmt.Sprintf("VolumeSnapshot %s, which was not cut, is deleted", v.Name))
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// command returns a command line for the same PVCs, and their workload: without pods, they do not say whose they are.
func (r *rollbackRun) command(state *core.State, flags string) string {
	names, line := r.claims, term.Name+" rollback -n "+term.ShellWord(r.f.Namespace)
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

// Observe reads all that the next step depends on, unless run has just done so.
func (r *rollbackRun) Observe(ctx context.Context) (state *core.State, err error) {
	if state, r.first = r.first, nil; state == nil {
		state, err = r.observe(ctx)
	}
	if err != nil {
		state = &core.State{}
	}
	r.state = state
	return state, err
}

// Next decides the next step.
func (r *rollbackRun) Next(state *core.State) (change.Step, error) {
	step, err := core.Next(state)
	if err != nil {
		return step, errors.Join(r.ended, err)
	}
	if lock := state.Lock(); lock != nil && !lock.Time.IsZero() { // this run, or an earlier one, has begun it
		r.goesOn = lock.ID
	}
	if step.Scales && r.timeout > 0 && r.f.Clock.Since(r.acts) > r.timeout/2 {
		return step, errLate
	}
	if len(step.Changes) > 0 {
		r.last = step.Number
	}
	return step, nil
}

// errLate ends a rollback before its outage begins: time would be up before it ends.
var errLate = fmt.Errorf("%w: less than half of --timeout is left for what is done while the workload is scaled to 0", term.ErrTimeout)

// Sent notes what this run has done: it may have lost the lock.
func (r *rollbackRun) Sent(state *core.State, step change.Step, o steps.Outcome) error {
	if o.Some {
		r.goesOn = state.Lock().ID
	}
	if o.All {
		own := *state.Lock()
		own.User = r.user
		r.own, r.released, r.scaled = &own, step.Releases, r.scaled || step.Scales
	}
	if o.Err != nil || step.Ends == nil {
		return o.Err
	}
	if !core.Untouched(state) {
		return step.Ends
	}
	r.ended = step.Ends
	r.undo, r.newID, r.own, r.goesOn = state.Lock().ID, newRollbackID(), nil, "" // what was prepared is taken back
	return nil
}

// finished says what the PVCs have now, and at last how to undo that.
func (r *rollbackRun) finished() {
	lines, undo := core.Result(r.state)
	for _, line := range lines {
		term.Say(r.f.Out, line)
	}
	if undo != "" && r.ended == nil {
		term.Say(r.f.Out, "To undo this: "+r.command(r.state, undo))
	}
}
