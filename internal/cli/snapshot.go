// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func newSnapshotCommand(f *Factory) *cobra.Command {
	var claim string
	var wait Wait
	cmd := &cobra.Command{
		Use:     "snapshot (NAME | --pvc PVC)",
		GroupID: GroupAct,
		Short:   "Take snapshots now",
		Long: "Take a snapshot of every PVC of a schedule now, or of one PVC under each schedule that selects it. This also\n" +
			"works while the schedule is suspended. The request is the annotation " + v1alpha1.AnnotationRequestedAt + "\n" +
			"of the schedule, with the API server's time; the operator takes the snapshots. A request for one PVC\n" +
			"keeps the PVCs of a request younger than a minute that have no snapshot for it yet.",
		Example: `  # All PVCs of a schedule, and wait until the snapshots are ready
  kubectl snapsched snapshot nightly --wait

  # One PVC, before an upgrade
  kubectl snapsched snapshot --pvc pgdata --wait --timeout 5m`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: CompleteOne(f.CompleteSchedules()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (claim != "") {
				return errors.New("name either a schedule or, with --pvc, a PVC")
			}
			c, namespace, err := f.Connect()
			if err != nil {
				return err
			}
			r := &request{Factory: f, client: c, namespace: namespace, told: told{}}
			if claim != "" {
				err = r.ofClaim(cmd.Context(), claim)
			} else {
				err = r.ofSchedule(cmd.Context(), args[0])
			}
			if err != nil || !wait.Enabled {
				return err
			}
			return r.wait(cmd.Context(), &wait)
		},
	}
	cmd.Flags().StringVar(&claim, "pvc", "", "Take a snapshot of this PVC, under each schedule that selects it.")
	_ = cmd.RegisterFlagCompletionFunc("pvc", f.CompleteClaims())
	wait.AddFlags(cmd, "the snapshots are ready to use")
	return cmd
}

// request is a request for snapshots.
type request struct {
	*Factory
	client    client.WithWatch
	namespace string
	now       time.Time // the API server's
	targets   []*target
	// selects are the labels of the snapshots to wait for.
	selects client.MatchingLabels
	told    told
}

// target is a PVC of which a schedule takes a snapshot.
type target struct {
	schedule *v1alpha1.SnapshotSchedule
	claim    *corev1.PersistentVolumeClaim
	at       time.Time // the requested time
	// state is what is known of its snapshot, in words.
	state string
	taken bool   // the snapshot exists
	ready string // its name, once it is ready
}

// ofSchedule requests a snapshot of every PVC of a schedule.
func (r *request) ofSchedule(ctx context.Context, name string) error {
	s, err := readSchedule(ctx, r.client, r.namespace, name)
	if err != nil {
		return err
	}
	classes, err := r.readClasses(ctx, r.client)
	if err != nil {
		return err
	}
	if fleet := fleetOf(s); fleet != "" {
		return errors.New(ofFleet(name, fleet))
	}
	judge, err := snapshots.NewJudge(scheme, s, classes)
	if err != nil {
		return fmt.Errorf("SnapshotSchedule %s takes no snapshots, because its spec is invalid: %w", name, err)
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := Pages(ctx, r.client, claims, client.InNamespace(r.namespace)); err != nil {
		return err
	}
	for i := range claims.Items {
		if judge.Selects(&claims.Items[i]) {
			r.add(s, judge, &claims.Items[i])
		}
	}
	if len(r.targets) == 0 {
		return fmt.Errorf("SnapshotSchedule %s selects no PVC that can be snapshotted", name)
	}
	r.selects = client.MatchingLabels{v1alpha1.LabelSchedule: name}
	return r.request(ctx, s, "", r.targets...)
}

// ofClaim requests a snapshot of a PVC under each schedule that selects it.
func (r *request) ofClaim(ctx context.Context, name string) error {
	claim := &corev1.PersistentVolumeClaim{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, claim); err != nil {
		return err
	}
	schedules, err := readSchedules(ctx, r.client, r.namespace, "")
	if err != nil {
		return err
	}
	classes, err := r.readClasses(ctx, r.client)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		judge, err := snapshots.NewJudge(scheme, s, classes)
		fleet := fleetOf(s)
		switch {
		case err != nil:
			r.warn("SnapshotSchedule %s takes no snapshots, because its spec is invalid: %s", s.Name, err)
		case !judge.Selects(claim):
		case fleet != "":
			r.warn("%s", ofFleet(s.Name, fleet))
		default:
			r.add(s, judge, claim)
		}
	}
	if len(r.targets) == 0 {
		return fmt.Errorf("no SnapshotSchedule would take a snapshot of PersistentVolumeClaim %s", name)
	}
	r.selects = client.MatchingLabels{v1alpha1.LabelMapKey: string(claim.UID)}
	var errs []error
	for _, t := range r.targets {
		errs = append(errs, r.request(ctx, t.schedule, name, t))
	}
	return errors.Join(errs...)
}

func (r *request) add(s *v1alpha1.SnapshotSchedule, judge *snapshots.Judge, claim *corev1.PersistentVolumeClaim) {
	if reason := judge.Refused(claim); reason != "" {
		r.warn("SnapshotSchedule %s skips PersistentVolumeClaim %s: %s", s.Name, claim.Name, reason)
		return
	}
	for _, p := range problemsOf(s, claim.Name, stateSelected, nil) {
		if refusals[p.Reason] {
			r.warn("SnapshotSchedule %s reports of PersistentVolumeClaim %s: %s: %s", s.Name, claim.Name, p.Reason, p.Message)
		}
	}
	r.targets = append(r.targets, &target{schedule: s, claim: claim})
}
