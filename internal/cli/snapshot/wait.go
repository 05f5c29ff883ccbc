// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	apiwait "k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// The values of --wait.
const (
	untilReady = "ready" // the snapshots are ready to use
	untilCut   = "cut"   // the application may go on writing
)

// snapshotWait are the flags --wait[=ready|cut], --timeout and --mark.
type snapshotWait struct {
	Flags steps.Wait
	// Until is empty if the command does not wait.
	Until string
	// Mark is an annotation of the snapshots that are ready, or cut, in time.
	Mark requestMark
}

// AddFlags adds the flags.
func (w *snapshotWait) AddFlags(cmd *cobra.Command) {
	w.Flags.AddFlags(cmd, "")
	cmd.Flags().Lookup("wait").Value = (*untilValue)(&w.Until)
	flag := cmd.Flags().Lookup("wait")
	flag.NoOptDefVal, flag.DefValue = untilReady, ""
	flag.Usage = "Wait until the snapshots are ready to use, or with --wait=cut, until their data is cut. One of: (ready, cut)."
	_ = cmd.RegisterFlagCompletionFunc("wait", cobra.FixedCompletions([]string{untilReady, untilCut}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Var(&w.Mark, "mark", "Annotate the snapshots that are ready, or cut, before the timeout, for example with quiesced=true.")
}

// check checks what the flags mean together: a hold is set once a snapshot is cut.
func (w *snapshotWait) check(f *term.Factory, hold string) error {
	switch {
	case hold != "" && w.Until == "" && !f.DryRun.On():
		w.Until = untilCut
	case w.Mark.key != "" && w.Until == "":
		return errors.New("--mark is for the snapshots that --wait waits for")
	}
	if f.DryRun.On() && w.Until != "" {
		return errors.New("--wait has nothing to wait for with --dry-run")
	}
	return nil
}

// untilValue is the value of --wait.
type untilValue string

func (v *untilValue) Set(text string) error {
	switch text {
	case untilReady, "true": // as for other commands' --wait
		*v = untilReady
	case untilCut:
		*v = untilCut
	case "false":
		*v = ""
	default:
		return fmt.Errorf("use %s or %s", untilReady, untilCut)
	}
	return nil
}

func (v *untilValue) String() string { return string(*v) }

// Type is what the help calls the value.
func (v *untilValue) Type() string { return "string" }

// wait follows the snapshots of a request until each target has one that is ready, or cut: first
// those of PVCs, and then those of groups.
func (r *request) wait(ctx context.Context) error {
	var err error
	for _, kind := range [...]client.ObjectList{&snapshotv1.VolumeSnapshotList{}, &groupv1.VolumeGroupSnapshotList{}} {
		_, r.groups = kind.(*groupv1.VolumeGroupSnapshotList)
		if len(r.waiting()) > 0 && err == nil {
			to := steps.Follower{See: r.see, Left: r.waiting, Explain: r.explain, Missing: "no " + r.until + " snapshot of"}
			err = steps.Follow(ctx, r.f, kind, to, client.InNamespace(r.namespace), r.selects)
		}
	}
	if i := slices.IndexFunc(r.targets, func(t *target) bool { return !t.done && t.state != "" }); errors.Is(err, term.ErrTimeout) && i >= 0 {
		err = fmt.Errorf("%w; e.g. %s: %s", err, r.nameOf(r.targets[i]), r.targets[i].state)
	}
	if uncut := r.uncut(); errors.Is(err, term.ErrTimeout) && r.until == untilCut && len(uncut) > 0 {
		r.f.Warn("nothing is cancelled: these may still be cut, at a time that nobody waits for: %s", strings.Join(uncut, ", "))
	}
	if ctx.Err() != nil && !errors.Is(err, term.ErrTimeout) && len(r.waiting()) > 0 {
		err = fmt.Errorf("%w\nThe request stays: the operator still takes the snapshots, but nobody waits for them, marks or holds them", err)
	}
	return errors.Join(append(r.unmarked, err)...)
}

// uncut are the snapshots of the request that exist and are not cut.
func (r *request) uncut() (names []string) {
	for _, t := range r.targets {
		if t.taken && !t.done {
			names = append(names, t.snapshot)
		}
	}
	return names
}

// see notes what a snapshot means for its targets.
func (r *request) see(ctx context.Context, v client.Object, deleted bool) (further bool) {
	for _, t := range r.targets {
		if t.done || !t.owns(v) {
			continue
		}
		state := t.stateOf(v, deleted, r.until)
		if t.done && (!t.inRecord(v) || r.until == untilReady && r.lacks(ctx, v, t.claim.Name)) {
			t.done, state = false, v.GetName()+" is "+r.until+", and holds no data of it"
		}
		r.hold(ctx, t, v)
		if state == "" || state == t.state {
			continue
		}
		t.state, further = state, true
		if t.done {
			if id := string(v.GetUID()); !r.printed[id] { // a group snapshot is of several targets
				r.printed[id] = true
				resource, _ := view.ResourceOf(v)
				if err := r.f.Done(r.output, v, resource, state); err != nil {
					r.unmarked = append(r.unmarked, err)
				}
			}
			r.mark.set(ctx, r, v)
		} else {
			term.Say(r.f.ErrOut, r.nameOf(t)+": "+state)
		}
	}
	return further
}

// inRecord returns whether a snapshot was taken of the target's PVC: a group snapshot holds those of its record, which one that has
// joined the group since is not in.
func (t *target) inRecord(v client.Object) bool {
	group, isGroup := v.(*groupv1.VolumeGroupSnapshot)
	return !isGroup || backup.ClaimsOf(group)[t.claim.Name] == t.claim.UID
}

// lacks returns whether a group snapshot that is ready has no member of a PVC: drivers were seen to return too few.
// The members come with its status, but not in one write.
func (r *request) lacks(ctx context.Context, v client.Object, claim string) bool {
	group, isGroup := v.(*groupv1.VolumeGroupSnapshot)
	if !isGroup || r.members[v.GetUID()].Has(claim) {
		return false
	}
	return apiwait.PollUntilContextTimeout(ctx, steps.Poll/5, 3*steps.Poll, true, func(ctx context.Context) (bool, error) {
		all, of := &snapshotv1.VolumeSnapshotList{}, sets.New[string]()
		if err := r.f.List(ctx, all, client.InNamespace(v.GetNamespace())); err != nil {
			return false, err
		}
		for i := range all.Items {
			m := &all.Items[i]
			if snapshots.IsMemberOf(m, group) {
				of.Insert(backup.ClaimName(m))
			}
		}
		r.members[v.GetUID()] = of
		return of.Has(claim), nil
	}) != nil
}

func (t *target) owns(v client.Object) bool {
	is := snapshots.Ownership.Relation(t.schedule, v)
	return (is.Owned || is.Orphan) && v.GetLabels()[v1alpha1.LabelMapKey] == t.key
}

// stateOf describes a snapshot of the target; empty if it does not matter.
func (t *target) stateOf(v client.Object, deleted bool, until string) string {
	requested := !backup.SlotOf(v).Before(t.at)
	deleted = deleted || v.GetDeletionTimestamp() != nil
	ready, cut := backup.ReadyToUse(v), backup.Of(v).HasCutTime
	if !requested && (t.taken || deleted || ready) {
		return ""
	}
	t.taken, t.snapshot = requested && !deleted, v.GetName()
	switch {
	case deleted:
		return v.GetName() + " was deleted before it was " + until
	case requested && (ready && until == untilReady || cut && until == untilCut):
		t.done = true
		return until
	}
	return v.GetName() + progressWords(v, requested)
}

// progressWords say how far a snapshot has come that is not what is waited for.
func progressWords(v client.Object, requested bool) string {
	switch text := backup.DriverError(v); {
	case text != "":
		return " is not ready: " + text
	case !requested:
		return " is in progress, and the next one is taken after it"
	case !backup.Uncut(v):
		return " is cut, and not ready to use yet"
	}
	return " is created, and not cut yet"
}

// waiting are the PVCs without a ready, or cut, snapshot under each schedule.
func (r *request) waiting() []string {
	var names []string
	for _, t := range r.targets {
		if !t.done && r.groups == (t.schedule.Spec.Group != nil) {
			names = append(names, r.nameOf(t))
		}
	}
	return slices.Compact(names) // one PVC may be the target of several schedules
}

// explain says what is new of what the operator reports.
func (r *request) explain(ctx context.Context) error {
	asked := map[client.ObjectKey]bool{}
	for _, t := range r.targets {
		key := client.ObjectKeyFromObject(t.schedule)
		if t.done || asked[key] {
			continue
		}
		asked[key] = true
		s := &v1alpha1.SnapshotSchedule{}
		err := r.f.Client.Get(ctx, key, s)
		if apierrors.IsNotFound(err) {
			r.printed.Once(r.f.ErrOut, fmt.Sprintf("SnapshotSchedule %s is gone", r.inNamespace(t.schedule)))
			continue
		}
		if err != nil {
			return err
		}
		switch ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); {
		case ready == nil:
			r.printed.Once(r.f.ErrOut, fmt.Sprintf("SnapshotSchedule %s has no status: does the operator run?", r.inNamespace(s)))
		case ready.Status != metav1.ConditionTrue:
			r.printed.Once(r.f.ErrOut, fmt.Sprintf("SnapshotSchedule %s is not ready: %s: %s", r.inNamespace(s), ready.Reason, ready.Message))
		// A stored condition is no sign of life. Groups are seen after PVCs.
		case r.groups == (t.schedule.Spec.Group != nil) && !slices.ContainsFunc(r.targetsOf(t.schedule), (*target).seen):
			r.printed.Once(r.f.ErrOut, fmt.Sprintf("SnapshotSchedule %s has not answered the request. What it waits for, and whether the operator "+
				"shows a sign of life: kubectl snapsched status %s -n %s", r.inNamespace(s), s.Name, s.Namespace))
		}
	}
	return nil
}

// seen returns whether anything was seen of the snapshot of a target.
func (t *target) seen() bool { return t.done || t.state != "" }

// nameOf returns the name of a target's PVC, with its namespace if there may be several.
func (r *request) nameOf(t *target) string { return r.inNamespace(t.claim) }

func (r *request) inNamespace(o client.Object) string {
	if r.namespace == "" {
		return o.GetNamespace() + "/" + o.GetName()
	}
	return o.GetName()
}
