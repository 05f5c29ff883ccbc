// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate is the command migrate, which replaces the schedules of snapscheduler.
//
//	migrate.go  the command, and what is done with each schedule
//	print.go    what is printed: what will be done, was done, or a script that does it
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/migrate/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// New returns the command migrate.
func New(f *term.Factory) *cobra.Command {
	var scope term.Scope
	m := &migration{f: f}
	cmd := &cobra.Command{
		Use:       "migrate snapscheduler",
		GroupID:   term.GroupAct,
		Short:     "Take over the schedules and snapshots of snapscheduler",
		Args:      cobra.MatchAll(term.Argument("the tool to migrate from, snapscheduler", 1), cobra.OnlyValidArgs),
		ValidArgs: []string{"snapscheduler"},
		Long: `Take over the schedules of snapscheduler (https://github.com/backube/snapscheduler) and their snapshots. The command
first prints what it will do, and asks. With --dry-run, nothing is changed: the output is a shell script that does the same, with
every difference as a comment.

For each schedule, in this order: disable snapscheduler's; hand over its snapshots, each with one patch that fails if the
snapshot has changed; create the SnapshotSchedule, which adopts them. snapscheduler finds and expires snapshots by a label, even
while a schedule is disabled, so the patch takes that label off and keeps it as an annotation.

Two kinds of snapshots stay with snapscheduler: those that something controls, and those whose PVC is gone, because their map
key would be its UID. The migration can be interrupted and run again.

Both operators have a kind SnapshotSchedule. In a cluster with both, kubectl knows the SnapshotSchedules of this operator
as snapsched or snapshotschedules.` + v1alpha1.GroupName + `, and those of snapscheduler as
` + core.PeerResource + `.`,
		Example: `  # See what would happen in the namespace
  kubectl snapsched migrate snapscheduler --dry-run

  # Migrate one schedule, whose operator ran in the time zone of Oslo
  kubectl snapsched migrate snapscheduler -l app=shop --time-zone Europe/Oslo

  # Migrate all namespaces, without a question
  kubectl snapsched migrate snapscheduler -A --yes`,
		RunE: f.Connected(func(ctx context.Context, _ []string) error {
			m.apply, m.allNamespaces = !f.DryRun.On(), scope.AllNamespaces
			return m.run(ctx, &scope)
		}),
	}
	scope.AddFlags(cmd, "schedules of snapscheduler")
	cmd.Flags().Lookup("all-namespaces").Usage = "Migrate all namespaces."
	cmd.Flags().StringVar(&m.timeZone, "time-zone", "",
		"IANA name of the time zone of snapscheduler's pod, such as Europe/Oslo. Default: UTC.")
	term.Needs(cmd, "list get patch "+core.PeerResource+`
get create snapshotschedules
list get patch volumesnapshots
list persistentvolumeclaims`)
	f.AddDryRun(cmd, true)
	term.AddYes(cmd, &m.yes)
	return cmd
}

// migration is one run of migrate snapscheduler.
type migration struct {
	f        *term.Factory
	timeZone string
	// apply is false with --dry-run.
	apply, yes bool
	// allNamespaces: names alone are ambiguous.
	allNamespaces bool
	// selector selects the schedules.
	selector labels.Selector
}

// errNotMigrated ends a migration that could not migrate everything. What and why is
// printed with each schedule.
var errNotMigrated = errors.New("not every schedule was migrated")

func (m *migration) run(ctx context.Context, scope *term.Scope) (err error) {
	namespace := scope.Namespace(m.f)
	if m.selector, err = labels.Parse(scope.Selector); err != nil {
		return err
	}
	peers := &unstructured.UnstructuredList{}
	peers.SetGroupVersionKind(core.PeerKind.GroupVersion().WithKind(core.PeerKind.Kind + "List"))
	if err := m.f.List(ctx, peers, client.InNamespace(namespace)); meta.IsNoMatchError(err) {
		return fmt.Errorf("snapscheduler is not installed: the server doesn't have the kind %s", core.PeerKind.GroupKind())
	} else if err != nil {
		return err
	}
	var all []*transfer
	for i := range peers.Items {
		if m.selector.Matches(labels.Set(peers.Items[i].GetLabels())) {
			all = append(all, &transfer{of: m, state: core.State{Peer: &peers.Items[i]}, handed: map[types.UID]bool{}})
		}
	}
	failed := m.each(all, func(t *transfer) error { return t.prepare(ctx) })
	if m.apply {
		if err := m.ask(ctx, all); err != nil {
			return err
		}
		failed = m.each(all, func(t *transfer) error { return t.apply(ctx) }) || failed
	}
	if err := m.strays(ctx, namespace, peers.Items); err != nil {
		return err
	}
	if failed {
		return errNotMigrated
	}
	if len(peers.Items) == 0 {
		fmt.Fprintln(m.f.ErrOut, "No schedules of snapscheduler found.")
	}
	return nil
}

// each does something with each schedule that nothing keeps from it, and returns whether one has failed. What keeps one is printed.
func (m *migration) each(all []*transfer, do func(*transfer) error) (failed bool) {
	for _, t := range all {
		if t.failed {
			continue
		}
		if err := do(t); err != nil {
			t.failed, failed = true, true
			term.Say(m.f.ErrOut, fmt.Sprintf("%s: %s", t.name(), term.MessageOf(err)))
		}
	}
	return failed
}

// ask asks for the permissions, says what will be done and what stays as it was, and asks.
func (m *migration) ask(ctx context.Context, all []*transfer) error {
	all = slices.DeleteFunc(slices.Clone(all), func(t *transfer) bool { return t.failed })
	acts := slices.ContainsFunc(all, func(t *transfer) bool { return len(t.left) > 0 })
	if acts {
		if err := m.checkRights(ctx); err != nil {
			return err
		}
	}
	for _, t := range all {
		if acts && !m.yes {
			term.Say(m.f.Out, t.name()+": "+t.planned())
		}
		for _, note := range t.state.To.Notes {
			m.f.Warn("%s/%s: %s", t.state.Peer.GetNamespace(), t.state.Peer.GetName(), note)
		}
		t.warned = map[core.Note]bool{}
		t.warn()
	}
	if m.yes || !acts {
		return nil
	}
	return m.f.Ask(ctx, "Continue?")
}

// checkRights asks first: a migration that may not go on would leave schedules disabled, and none that takes their place.
func (m *migration) checkRights(ctx context.Context) error {
	return m.f.Need(ctx, "a migration")
}

// strays warns of snapshots of snapscheduler that no schedule owns any more.
func (m *migration) strays(ctx context.Context, namespace string, peers []unstructured.Unstructured) error {
	known := map[client.ObjectKey]bool{}
	for i := range peers {
		known[client.ObjectKeyFromObject(&peers[i])] = true
	}
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"))
	if err := m.f.List(ctx, found, client.InNamespace(namespace), client.HasLabels{core.LabelPeerSchedule}); err != nil {
		return err
	}
	count := map[string]int{}
	for i := range found.Items {
		key := client.ObjectKey{Namespace: found.Items[i].Namespace, Name: found.Items[i].Labels[core.LabelPeerSchedule]}
		if !known[key] {
			count[key.String()]++
		}
	}
	for _, schedule := range slices.Sorted(maps.Keys(count)) {
		m.f.Warn("%s of schedule %s, which snapscheduler does not have, are left as they are", term.Plural(count[schedule], "snapshot"), schedule)
	}
	return nil
}

// transfer is the migration of one schedule.
type transfer struct {
	of *migration
	// accepted is the SnapshotSchedule as the API server would accept it; nil if whoever prints may not ask.
	accepted *v1alpha1.SnapshotSchedule
	state    core.State
	// left are the steps that are left of those that were decided last, and notes what these leave out.
	left   []change.Step
	notes  []core.Note
	handed map[types.UID]bool
	// warned are the notes that were printed. It is nil until the user is asked.
	warned map[core.Note]bool
	failed bool
	// wrote is set once something may have been changed.
	wrote bool
}

// prepare decides about everything before anything is changed.
func (t *transfer) prepare(ctx context.Context) (err error) {
	if t.state.To, err = core.Convert(t.state.Peer, t.of.timeZone); err != nil {
		return fmt.Errorf("it has no equivalent: %w", err)
	}
	accepted := t.state.To.Schedule.DeepCopy()
	accepted.Name, accepted.GenerateName = "", "migration-"
	switch err := t.of.f.Client.Create(ctx, accepted, term.FieldOwner, client.DryRunAll); {
	case err == nil:
		t.accepted = accepted
	case !apierrors.IsForbidden(err) || t.of.apply: // who may only read can still print
		return err
	}
	if _, err := t.Observe(ctx); err != nil {
		return err
	}
	if !t.of.apply {
		return t.print()
	}
	return nil
}

// apply migrates the schedule. If it is interrupted at any point, no operator takes or deletes snapshots twice, and running it again
// completes it.
func (t *transfer) apply(ctx context.Context) error {
	t.left = nil // the answer may have taken hours
	existed := t.state.Exists
	if err := steps.Run(ctx, &steps.Runner{Factory: t.of.f, Out: io.Discard}, steps.Machine[[]change.Step](t)); err != nil {
		return err
	}
	if existed {
		t.done(t.state.To.Schedule, "unchanged")
	}
	return nil
}

// warn prints what is new of what stays of snapshots as it was, or differs.
func (t *transfer) warn() {
	for _, note := range t.notes {
		if !t.warned[note] {
			t.warned[note] = true
			t.of.f.Warn("VolumeSnapshot %s/%s%s", t.state.Peer.GetNamespace(), note.Snapshot, note.Text)
		}
	}
}

// edited returns whether a schedule of snapscheduler is not the one any more that was converted, and asked about.
func (t *transfer) edited(peer *unstructured.Unstructured) bool {
	now, err := core.Convert(peer, t.of.timeZone)
	return err != nil || peer.GetUID() != t.state.Peer.GetUID() || !t.of.selector.Matches(labels.Set(peer.GetLabels())) ||
		!equality.Semantic.DeepEqual(now.Schedule, t.state.To.Schedule)
}

func (t *transfer) readClaims(ctx context.Context) error {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := t.of.f.List(ctx, claims, client.InNamespace(t.state.Peer.GetNamespace())); err != nil {
		return err
	}
	t.state.Claims = map[string]*corev1.PersistentVolumeClaim{}
	for i := range claims.Items {
		t.state.Claims[claims.Items[i].Name] = &claims.Items[i]
	}
	return nil
}

// Observe reads the schedule of snapscheduler, the snapshots that it finds for it, and the SnapshotSchedule of its name, and returns
// the steps that are left. One that exists with another spec would apply its own retention to the snapshots that it adopts.
func (t *transfer) Observe(ctx context.Context) ([]change.Step, error) {
	if len(t.left) > 0 {
		return t.left, nil
	}
	peer, list, existing := t.state.Peer.DeepCopy(), &snapshotv1.VolumeSnapshotList{}, &v1alpha1.SnapshotSchedule{}
	if t.warned != nil { // until then it is as it was listed, which whoever prints may do
		if err := t.of.f.Client.Get(ctx, client.ObjectKeyFromObject(peer), peer); err != nil {
			return nil, err
		}
		if !t.wrote && t.edited(peer) {
			return nil, errors.New("it was edited meanwhile: nothing was done; run the command again")
		}
	}
	if err := t.readClaims(ctx); err != nil {
		return nil, err
	}
	err := t.of.f.List(ctx, list, client.InNamespace(peer.GetNamespace()), client.MatchingLabels{core.LabelPeerSchedule: peer.GetName()})
	if err != nil {
		return nil, err
	}
	err = t.of.f.Client.Get(ctx, client.ObjectKeyFromObject(t.state.To.Schedule), existing)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	t.state.Peer, t.state.Snapshots, t.state.Exists = peer, list.Items, err == nil
	differs := err == nil && t.accepted != nil && !equality.Semantic.DeepEqual(existing.Spec, t.accepted.Spec)
	if n := len(list.Items) + len(t.handed); differs && n > 0 {
		return nil, fmt.Errorf("a SnapshotSchedule %s exists with another spec, and its retention would apply to %s that it would adopt: "+
			"make its spec the one that is converted, or rename one of the two", existing.Name, term.Plural(n, "snapshot"))
	}
	if err := t.labeledAgain(list.Items); err != nil {
		return nil, err
	}
	if t.left, t.notes = core.Plan(&t.state); t.warned != nil {
		t.warn()
	}
	return t.left, nil
}

// labeledAgain is the error about a snapshot that was handed over, and is found for the schedule of snapscheduler all the same.
func (t *transfer) labeledAgain(found []snapshotv1.VolumeSnapshot) error {
	for i := range found {
		if t.handed[found[i].UID] {
			return fmt.Errorf("VolumeSnapshot %s was handed over, but something has set its label %s again", found[i].Name, core.LabelPeerSchedule)
		}
	}
	return nil
}

// Next decides the next step.
func (t *transfer) Next(left []change.Step) (change.Step, error) {
	if len(left) == 0 {
		return change.Step{}, nil
	}
	return left[0], nil
}

// Sent prints what was done. snapscheduler may create a snapshot until it has seen that its schedule is disabled, so the snapshots are
// read again after the last one.
func (t *transfer) Sent(left []change.Step, step change.Step, o steps.Outcome) error {
	t.left, t.wrote = nil, t.wrote || o.Some
	switch v, isSnapshot := step.Changes[0].Object.(*snapshotv1.VolumeSnapshot); {
	case o.Existed: // with a spec that nobody has compared
		return fmt.Errorf("%s: it exists already", step.Text)
	case !o.All:
	case step.Changes[0].Create != nil:
		t.done(step.Changes[0].Create, "created")
	case !isSnapshot:
		t.done(step.Changes[0].Object, "disabled")
	default:
		t.done(v, "handed over")
		t.handed[v.UID] = true
		if t.left = left[1:]; len(t.left) > 0 && t.left[0].Changes[0].Create != nil {
			t.left = nil
		}
	}
	return o.Err
}

// Unfinished adds nothing: the command is run again.
func (t *transfer) Unfinished(_ context.Context, _ []change.Step, err error) error { return err }
