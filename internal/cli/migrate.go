// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/migrate"
)

func newMigrateCommand(f *Factory) *cobra.Command {
	var scope Scope
	var zone string
	var apply bool
	cmd := &cobra.Command{
		Use:       "migrate snapscheduler",
		GroupID:   GroupAct,
		Short:     "Take over the schedules and snapshots of snapscheduler",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
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
` + migrate.PeerResource + `.`,
		Example: `  # See what would happen in the namespace
  kubectl snapsched migrate snapscheduler

  # Migrate one schedule, whose operator ran in the time zone of Oslo
  kubectl snapsched migrate snapscheduler -l app=shop --time-zone Europe/Oslo --apply

  # Migrate all namespaces
  kubectl snapsched migrate snapscheduler -A --apply`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.Client()
			if err != nil {
				return err
			}
			m := &migration{Factory: f, client: c, timeZone: zone, apply: apply, allNamespaces: scope.AllNamespaces}
			return m.run(cmd.Context(), &scope)
		},
	}
	scope.AddFlags(cmd, "schedules of snapscheduler")
	cmd.Flags().Lookup("all-namespaces").Usage = "Migrate all namespaces."
	cmd.Flags().StringVar(&zone, "time-zone", "", "IANA name of the time zone of snapscheduler's pod, such as Europe/Oslo. Default: UTC.")
	cmd.Flags().BoolVar(&apply, "apply", false, "Migrate, instead of printing what would be done.")
	return cmd
}

// migration is one run of migrate snapscheduler.
type migration struct {
	*Factory
	client   client.Client
	timeZone string
	apply    bool
	// allNamespaces: names alone are ambiguous.
	allNamespaces bool
}

// errNotMigrated ends a migration that could not migrate everything. What and why is
// printed with each schedule.
var errNotMigrated = errors.New("not every schedule was migrated")

func (m *migration) run(ctx context.Context, scope *Scope) error {
	namespace, err := scope.Namespace(m.Factory)
	if err != nil {
		return err
	}
	selector, err := labels.Parse(scope.Selector)
	if err != nil {
		return err
	}
	peers := &unstructured.UnstructuredList{}
	peers.SetGroupVersionKind(migrate.PeerKind.GroupVersion().WithKind(migrate.PeerKind.Kind + "List"))
	if err := Pages(ctx, m.client, peers, client.InNamespace(namespace)); meta.IsNoMatchError(err) {
		return fmt.Errorf("snapscheduler is not installed: the server doesn't have the kind %s", migrate.PeerKind.GroupKind())
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
			say(m.ErrOut, fmt.Sprintf("SnapshotSchedule %s/%s of snapscheduler: %s", t.peer.GetNamespace(), t.peer.GetName(), messageOf(err)))
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
	if err := Pages(ctx, m.client, found, client.InNamespace(namespace), client.HasLabels{migrate.LabelPeerSchedule}); err != nil {
		return err
	}
	count := map[string]int{}
	for i := range found.Items {
		key := client.ObjectKey{Namespace: found.Items[i].Namespace, Name: found.Items[i].Labels[migrate.LabelPeerSchedule]}
		if !known[key] {
			count[key.String()]++
		}
	}
	for _, schedule := range slices.Sorted(maps.Keys(count)) {
		m.warn("%s of schedule %s, which snapscheduler does not have, stay as they are", plural(count[schedule], "snapshot"), schedule)
	}
	return nil
}

// transfer is the migration of one schedule.
type transfer struct {
	*migration
	peer *unstructured.Unstructured
	to   migrate.Conversion
	// exists is whether there is a SnapshotSchedule of the name.
	exists bool
	claims map[string]*corev1.PersistentVolumeClaim
}

// run decides about everything before it changes anything.
func (t *transfer) run(ctx context.Context) (err error) {
	if t.to, err = migrate.Convert(t.peer, t.timeZone); err != nil {
		return fmt.Errorf("it has no equivalent: %w", err)
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := Pages(ctx, t.client, claims, client.InNamespace(t.peer.GetNamespace())); err != nil {
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
	err := Pages(ctx, t.client, list, client.InNamespace(t.peer.GetNamespace()),
		client.MatchingLabels{migrate.LabelPeerSchedule: t.peer.GetName()})
	return list.Items, err
}

// check asks the API server whether it accepts the SnapshotSchedule. One that exists
// with another spec would apply its own retention to the snapshots that it adopts.
func (t *transfer) check(ctx context.Context, snapshots int) error {
	accepted := t.to.Schedule.DeepCopy()
	accepted.Name, accepted.GenerateName = "", "migration-"
	err := t.client.Create(ctx, accepted, fieldOwner, client.DryRunAll)
	unchecked := apierrors.IsForbidden(err) && !t.apply // who may only read can still print
	if err != nil && !unchecked {
		return err
	}
	existing := &v1alpha1.SnapshotSchedule{}
	err = t.client.Get(ctx, client.ObjectKeyFromObject(t.to.Schedule), existing)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	t.exists = true
	if snapshots > 0 && !unchecked && !equality.Semantic.DeepEqual(existing.Spec, accepted.Spec) {
		return fmt.Errorf("a SnapshotSchedule %s exists with another spec, and its retention would apply to %s that it would adopt: "+
			"make its spec the one that is converted, or rename one of the two", existing.Name, plural(snapshots, "snapshot"))
	}
	return nil
}
