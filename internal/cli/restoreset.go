// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/restore"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// chooseSet returns the snapshots of all PVCs of a schedule, and prints them with
// the skew between them.
func (r *restoration) chooseSet(ctx context.Context, name string) ([]*snapshotv1.VolumeSnapshot, error) {
	all := &snapshotv1.VolumeSnapshotList{}
	if err := r.List(ctx, all, client.InNamespace(r.Namespace), ofSchedule(name)); err != nil {
		return nil, err
	}
	ofGroups, err := r.groupMembers(ctx, name)
	if err != nil {
		return nil, err
	}
	all.Items = append(all.Items, ofGroups...)
	claims, err := r.selectedBy(ctx, name, len(all.Items) > 0)
	if err != nil {
		return nil, err
	}
	set := restore.SetAt(all.Items, claims, r.asOf, r.now)
	if len(set.Members) == 0 {
		return nil, fmt.Errorf("SnapshotSchedule %s has no ready snapshots at or before %s%s", name, term.Timestamp(r.asOf), reasons(set.Missing))
	}
	if err := r.printSet(&set); err != nil {
		return nil, err
	}
	if len(set.Missing) > 0 && !r.allowIncomplete {
		return nil, fmt.Errorf("the set is incomplete; --allow-incomplete restores the rest%s", reasons(set.Missing))
	}
	chosen := make([]*snapshotv1.VolumeSnapshot, len(set.Members))
	for i := range set.Members {
		chosen[i] = set.Members[i].Snapshot
	}
	return chosen, nil
}

// selectedBy returns the PVCs that a schedule selects. A schedule that is gone, or
// whose spec is invalid, may have left snapshots.
func (r *restoration) selectedBy(ctx context.Context, name string, hasSnapshots bool) ([]*corev1.PersistentVolumeClaim, error) {
	s, err := readSchedule(ctx, r.Factory, name)
	if apierrors.IsNotFound(err) && hasSnapshots {
		r.Warn("SnapshotSchedule %s does not exist: whether PVCs are missing in the set is unknown", name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	origin, err := readOrigin(ctx, r.Client, s)
	if err != nil {
		return nil, err
	}
	judge, err := snapshots.NewJudge(term.Scheme, s, snapshots.Classes{}, origin...)
	if err != nil {
		r.Warn("the spec of SnapshotSchedule %s is invalid: whether PVCs are missing in the set is unknown", name)
		return nil, nil //nolint:nilerr // the snapshots can be restored all the same
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.List(ctx, claims, client.InNamespace(r.Namespace)); err != nil {
		return nil, err
	}
	var selected []*corev1.PersistentVolumeClaim
	for i := range claims.Items {
		if judge.Selects(&claims.Items[i]) {
			selected = append(selected, &claims.Items[i])
		}
	}
	return selected, nil
}

func (r *restoration) printSet(set *restore.Set) error {
	table := term.NewTable("PVC", "TIME", "BEFORE LATEST", "SNAPSHOT")
	latest := set.Latest()
	for _, m := range set.Members {
		table.Row(m.Claim, term.Timestamp(m.Time), duration.HumanDuration(latest.Sub(m.Time)), m.Snapshot.Name)
	}
	out := r.Out
	if r.output.Format != "" { // which programs read
		out = r.ErrOut
	}
	if err := r.output.PrintTable(out, table); err != nil {
		return err
	}
	if len(set.Members) > 1 {
		fmt.Fprintf(out, "Skew: %s between the earliest and the latest of %s\n",
			duration.HumanDuration(set.Skew()), term.Plural(len(set.Members), "snapshot"))
	}
	for _, m := range set.Missing {
		term.Say(out, fmt.Sprintf("Missing: %s: %s", m.Claim, m.Reason))
	}
	for _, l := range set.LeftOut {
		term.Say(out, fmt.Sprintf("Left out: %s: %s", l.Claim, l.Reason))
	}
	return nil
}

// reasons lists PVCs without a snapshot.
func reasons(all []restore.Absent) string {
	var text strings.Builder
	for _, a := range all {
		fmt.Fprintf(&text, "; %s: %s", a.Claim, a.Reason)
	}
	return text.String()
}

// provisioning is a wait for restored PVCs.
type provisioning struct {
	*restoration
	left   map[string]types.UID // the PVCs that are not bound, by name
	failed error
	told   told
}

// wait follows the restored PVCs until they are bound. A PVC that is bound only when a
// pod uses it is not waited for.
func (r *restoration) wait(ctx context.Context, all []restored) error {
	p := &provisioning{restoration: r, left: map[string]types.UID{}, told: told{}}
	for _, one := range all {
		p.left[one.Claim.Name] = one.Claim.UID
		if one.WaitsForConsumer {
			p.waitsForConsumer(one.Claim.Name)
		}
	}
	if len(p.left) == 0 {
		return nil
	}
	to := follower{see: p.see, listed: p.listed, left: p.names, explain: p.explain, missing: "not bound:"}
	err := r.waiting.Follow(ctx, r.Factory, &corev1.PersistentVolumeClaimList{}, to, client.InNamespace(r.Namespace))
	if ctx.Err() != nil && len(p.left) > 0 {
		err = fmt.Errorf("%w\nThese PersistentVolumeClaims stay, and become bound without this command: %s", err, strings.Join(p.names(), ", "))
	}
	return cmp.Or(err, p.failed)
}

func (p *provisioning) waitsForConsumer(name string) {
	p.Did(term.ClaimResource, name, "waits for the first pod that uses it")
	delete(p.left, name)
}

func (p *provisioning) see(_ context.Context, o client.Object, deleted bool) bool {
	claim := o.(*corev1.PersistentVolumeClaim)
	switch {
	case p.left[claim.Name] != claim.UID:
		return false
	case deleted:
		p.fail(claim.Name, "was deleted")
	case claim.Status.Phase == corev1.ClaimBound:
		p.Did(term.ClaimResource, claim.Name, "bound")
	case claim.Status.Phase == corev1.ClaimLost:
		p.fail(claim.Name, "has lost its volume")
	default:
		return false
	}
	delete(p.left, claim.Name)
	return true
}

func (p *provisioning) listed(existing sets.Set[types.UID]) {
	for _, name := range p.names() {
		if !existing.Has(p.left[name]) {
			p.fail(name, "was deleted")
			delete(p.left, name)
		}
	}
}

func (p *provisioning) fail(name, why string) {
	p.failed = errors.Join(p.failed, fmt.Errorf("PersistentVolumeClaim %s %s", name, why))
}

func (p *provisioning) names() []string {
	return slices.Sorted(maps.Keys(p.left))
}

// waitForFirstConsumer is the reason of the event by which the volume binder says that
// a PVC waits for a pod.
const waitForFirstConsumer = "WaitForFirstConsumer"

// explain prints the new events of the PVCs that are not bound.
func (p *provisioning) explain(ctx context.Context) error {
	for _, name := range p.names() {
		events := &corev1.EventList{}
		of := client.MatchingFields{"involvedObject.uid": string(p.left[name])}
		if err := p.List(ctx, events, client.InNamespace(p.Namespace), of); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == waitForFirstConsumer {
				p.waitsForConsumer(name)
			}
			p.told.once(p.ErrOut, fmt.Sprintf("%s: %s %s: %s", name, e.Type, e.Reason, e.Message))
		}
	}
	return nil
}
