// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate is the command migrate, which replaces the schedules of snapscheduler.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/migrate/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// New returns the command migrate.
func New(f *term.Factory) *cobra.Command {
	var scope term.Scope
	var zone string
	var apply bool
	cmd := &cobra.Command{
		Use:       "migrate snapscheduler",
		GroupID:   term.GroupAct,
		Short:     "Take over the schedules and snapshots of snapscheduler",
		Args:      cobra.MatchAll(term.Argument("the tool to migrate from, snapscheduler", 1), cobra.OnlyValidArgs),
		ValidArgs: []string{"snapscheduler"},
		Long: `Take over the schedules of snapscheduler (https://github.com/backube/snapscheduler) and their snapshots. Without
--apply, nothing is changed: the output is a shell script that does the same, with every difference as a comment.

For each schedule, in this order: disable snapscheduler's; hand over its snapshots, each with one patch that fails if the
snapshot has changed; create the SnapshotSchedule, which adopts them. snapscheduler finds and expires snapshots by a label, even
while a schedule is disabled, so the patch takes that label off and keeps it as an annotation.

These snapshots stay with snapscheduler: those that something controls, and those whose PVC is gone, because the UID
of a snapshot's PVC is its map key. The migration can be interrupted and run again.

Both operators have a kind SnapshotSchedule. In a cluster with both, kubectl knows the SnapshotSchedules of this operator
as snapsched or snapshotschedules.` + v1alpha1.GroupName + `, and those of snapscheduler as
` + core.PeerResource + `.`,
		Example: `  # See what would happen in the namespace
  kubectl snapsched migrate snapscheduler

  # Migrate one schedule, whose operator ran in the time zone of Oslo
  kubectl snapsched migrate snapscheduler -l app=shop --time-zone Europe/Oslo --apply

  # Migrate all namespaces
  kubectl snapsched migrate snapscheduler -A --apply`,
		RunE: f.Connected(func(ctx context.Context, _ []string) error {
			m := &migration{Factory: f, timeZone: zone, apply: apply, allNamespaces: scope.AllNamespaces}
			return m.run(ctx, &scope)
		}),
	}
	scope.AddFlags(cmd, "schedules of snapscheduler")
	cmd.Flags().Lookup("all-namespaces").Usage = "Migrate all namespaces."
	cmd.Flags().StringVar(&zone, "time-zone", "", "IANA name of the time zone of snapscheduler's pod, such as Europe/Oslo. Default: UTC.")
	cmd.Flags().BoolVar(&apply, "apply", false, "Migrate, instead of printing what would be done.")
	return cmd
}

// migration is one run of migrate snapscheduler.
type migration struct {
	*term.Factory
	timeZone string
	apply    bool
	// allNamespaces: names alone are ambiguous.
	allNamespaces bool
}

// errNotMigrated ends a migration that could not migrate everything. What and why is
// printed with each schedule.
var errNotMigrated = errors.New("not every schedule was migrated")

func (m *migration) run(ctx context.Context, scope *term.Scope) error {
	namespace := scope.Namespace(m.Factory)
	selector, err := labels.Parse(scope.Selector)
	if err != nil {
		return err
	}
	peers := &unstructured.UnstructuredList{}
	peers.SetGroupVersionKind(core.PeerKind.GroupVersion().WithKind(core.PeerKind.Kind + "List"))
	if err := m.List(ctx, peers, client.InNamespace(namespace)); meta.IsNoMatchError(err) {
		return fmt.Errorf("snapscheduler is not installed: the server doesn't have the kind %s", core.PeerKind.GroupKind())
	} else if err != nil {
		return err
	}
	var failed bool
	for i := range peers.Items {
		if !selector.Matches(labels.Set(peers.Items[i].GetLabels())) {
			continue
		}
		t := &transfer{migration: m, peer: &peers.Items[i]}
		if err := t.run(ctx); err != nil {
			failed = true
			term.Say(m.ErrOut, fmt.Sprintf("SnapshotSchedule %s/%s of snapscheduler: %s",
				t.peer.GetNamespace(), t.peer.GetName(), term.MessageOf(err)))
		}
	}
	if err := m.strays(ctx, namespace, peers.Items); err != nil {
		return err
	}
	if failed {
		return errNotMigrated
	}
	if len(peers.Items) == 0 {
		fmt.Fprintln(m.ErrOut, "No schedules of snapscheduler found.")
	}
	return nil
}

// strays warns of snapshots of snapscheduler that no schedule owns any more.
func (m *migration) strays(ctx context.Context, namespace string, peers []unstructured.Unstructured) error {
	known := map[client.ObjectKey]bool{}
	for i := range peers {
		known[client.ObjectKeyFromObject(&peers[i])] = true
	}
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"))
	if err := m.List(ctx, found, client.InNamespace(namespace), client.HasLabels{core.LabelPeerSchedule}); err != nil {
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
		m.Warn("%s of schedule %s, which snapscheduler does not have, stay as they are", term.Plural(count[schedule], "snapshot"), schedule)
	}
	return nil
}

// transfer is the migration of one schedule.
type transfer struct {
	*migration
	peer *unstructured.Unstructured
	to   core.Conversion
	// exists is whether there is a SnapshotSchedule of the name.
	exists bool
	claims map[string]*corev1.PersistentVolumeClaim
}

// run decides about everything before it changes anything.
func (t *transfer) run(ctx context.Context) (err error) {
	if t.to, err = core.Convert(t.peer, t.timeZone); err != nil {
		return fmt.Errorf("it has no equivalent: %w", err)
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := t.List(ctx, claims, client.InNamespace(t.peer.GetNamespace())); err != nil {
		return err
	}
	t.claims = map[string]*corev1.PersistentVolumeClaim{}
	for i := range claims.Items {
		t.claims[claims.Items[i].Name] = &claims.Items[i]
	}
	found, err := t.snapshots(ctx)
	if err != nil {
		return err
	}
	if err := t.check(ctx, len(found)); err != nil {
		return err
	}
	if !t.apply {
		return t.print(found)
	}
	return t.applyAll(ctx)
}

// snapshots reads those that snapscheduler finds for the schedule.
func (t *transfer) snapshots(ctx context.Context) ([]snapshotv1.VolumeSnapshot, error) {
	list := &snapshotv1.VolumeSnapshotList{}
	err := t.List(ctx, list, client.InNamespace(t.peer.GetNamespace()),
		client.MatchingLabels{core.LabelPeerSchedule: t.peer.GetName()})
	return list.Items, err
}

// check asks the API server whether it accepts the SnapshotSchedule. One that exists
// with another spec would apply its own retention to the snapshots that it adopts.
func (t *transfer) check(ctx context.Context, snapshots int) error {
	accepted := t.to.Schedule.DeepCopy()
	accepted.Name, accepted.GenerateName = "", "migration-"
	err := t.Client.Create(ctx, accepted, term.FieldOwner, client.DryRunAll)
	unchecked := apierrors.IsForbidden(err) && !t.apply // who may only read can still print
	if err != nil && !unchecked {
		return err
	}
	existing := &v1alpha1.SnapshotSchedule{}
	err = t.Client.Get(ctx, client.ObjectKeyFromObject(t.to.Schedule), existing)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	t.exists = true
	if snapshots > 0 && !unchecked && !equality.Semantic.DeepEqual(existing.Spec, accepted.Spec) {
		return fmt.Errorf("a SnapshotSchedule %s exists with another spec, and its retention would apply to %s that it would adopt: "+
			"make its spec the one that is converted, or rename one of the two", existing.Name, term.Plural(snapshots, "snapshot"))
	}
	return nil
}

// peerResource is the name of snapscheduler's schedules before a slash.
const peerResource = "snapshotschedule.snapscheduler.backube"

// applyAll migrates the schedule. If it is interrupted at any point, no operator takes
// or deletes snapshots twice, and running it again completes it.
func (t *transfer) applyAll(ctx context.Context) error {
	for _, note := range t.to.Notes {
		t.Warn("%s/%s: %s", t.peer.GetNamespace(), t.peer.GetName(), note)
	}
	if err := t.disable(ctx); err != nil {
		return fmt.Errorf("disable it: %w", err)
	}
	if err := t.handOver(ctx); err != nil {
		return err
	}
	if t.exists {
		t.done(term.ScheduleResource, t.peer.GetName(), "unchanged")
		return nil
	}
	if err := t.Client.Create(ctx, t.to.Schedule.DeepCopy(), term.FieldOwner); err != nil {
		return fmt.Errorf("create SnapshotSchedule %s: %w", t.to.Schedule.Name, err)
	}
	t.done(term.ScheduleResource, t.peer.GetName(), "created")
	return nil
}

// done prints what was done, and in which namespace if there are several.
func (t *transfer) done(resource, name, what string) {
	if t.allNamespaces {
		what += " in namespace " + t.peer.GetNamespace()
	}
	t.Did(resource, name, what)
}

func (t *transfer) disable(ctx context.Context) error {
	disabled, err := steps.Update(ctx, t.Factory, t.peer, func() ([]byte, error) { return core.Disable(t.peer), nil })
	if disabled {
		t.done(peerResource, t.peer.GetName(), "disabled")
	}
	return err
}

// handOver hands over the snapshots, until there is none left that can be. snapscheduler
// may create one until it has seen that its schedule is disabled.
func (t *transfer) handOver(ctx context.Context) error {
	handed := map[types.UID]bool{}
	for first := true; ; first = false {
		found, err := t.snapshots(ctx)
		if err != nil {
			return err
		}
		before := len(handed)
		for i := range found {
			if handed[found[i].UID] {
				return fmt.Errorf("VolumeSnapshot %s was handed over, but something has set its label %s again",
					found[i].Name, core.LabelPeerSchedule)
			}
			done, err := t.handOverOne(ctx, &found[i], first)
			if err != nil {
				return fmt.Errorf("hand over VolumeSnapshot %s: %w", found[i].Name, err)
			}
			if done {
				handed[found[i].UID] = true
			}
		}
		if len(handed) == before {
			return nil
		}
	}
}

func (t *transfer) handOverOne(ctx context.Context, v *snapshotv1.VolumeSnapshot, warn bool) (done bool, err error) {
	var adoption core.Adoption
	done, err = steps.Update(ctx, t.Factory, v, func() ([]byte, error) {
		if v.Labels[core.LabelPeerSchedule] != t.peer.GetName() {
			return nil, nil // after a conflict: somebody else has taken it
		}
		adoption = core.Adopt(v, t.claimOf(v))
		if warn && adoption.Patch == nil {
			t.Warn("VolumeSnapshot %s/%s stays with snapscheduler: %s", v.Namespace, v.Name, adoption.Reason)
		}
		return adoption.Patch, nil
	})
	if done {
		t.done(term.SnapshotResource, v.Name, "handed over")
		if adoption.Note != "" {
			t.Warn("VolumeSnapshot %s/%s: %s", v.Namespace, v.Name, adoption.Note)
		}
	}
	if apierrors.IsNotFound(err) {
		return false, nil // it has expired
	}
	return done, err
}

func (t *transfer) claimOf(v *snapshotv1.VolumeSnapshot) *corev1.PersistentVolumeClaim {
	return t.claims[backup.ClaimName(v)]
}

// print prints what --apply does as a shell script.
func (t *transfer) print(found []snapshotv1.VolumeSnapshot) error {
	namespace, name := t.peer.GetNamespace(), t.peer.GetName()
	var steps, notes []string
	patch := func(resource, name string, patch []byte) {
		steps = append(steps, fmt.Sprintf("kubectl patch %s %s -n %s --type=merge -p %s", resource, name, namespace, term.Quoted(string(patch))))
	}
	if p := core.Disable(t.peer); p != nil {
		patch(core.PeerResource, name, p)
	}
	for i := range found {
		v := &found[i]
		adoption := core.Adopt(v, t.claimOf(v))
		if adoption.Patch != nil {
			patch(snapshotsResource, v.Name, adoption.Patch)
		} else {
			notes = append(notes, fmt.Sprintf("VolumeSnapshot %s stays with snapscheduler: %s", v.Name, adoption.Reason))
		}
		if adoption.Note != "" {
			notes = append(notes, fmt.Sprintf("VolumeSnapshot %s: %s", v.Name, adoption.Note))
		}
	}
	if !t.exists {
		var manifest strings.Builder // as its user would write it
		if err := (&term.Output{Format: term.YAML}).PrintStructured(&manifest, t.to.Schedule); err != nil {
			return err
		}
		steps = append(steps, "kubectl create -f - <<'EOF'\n"+manifest.String()+"EOF")
	}
	fmt.Fprintf(t.Out, "# SnapshotSchedule %s/%s of snapscheduler\n", namespace, name)
	for _, note := range append(t.to.Notes, notes...) {
		fmt.Fprintf(t.Out, "#   %s\n", report.Line(note))
	}
	if len(steps) == 0 {
		steps = []string{"# Nothing to do."}
	}
	fmt.Fprintln(t.Out, strings.Join(steps, "\n")+"\n")
	return nil
}

// snapshotsResource is the full name of VolumeSnapshots for kubectl.
const snapshotsResource = "volumesnapshots.snapshot.storage.k8s.io"
