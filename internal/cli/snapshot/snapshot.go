// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot is the command snapshot, which requests snapshots.
//
//	snapshot.go  the command, and what a request is about
//	many.go      requests for many schedules
//	request.go   the annotation of a request
//	mark.go      what is written to the snapshots of a request
//	wait.go      what it waits for
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// New returns the command snapshot.
func New(f *term.Factory) *cobra.Command {
	var claim, cluster, hold string
	var scope term.Scope
	var wait snapshotWait
	var output term.Output
	cmd := &cobra.Command{
		Use:     "snapshot [NAME | --pvc PVC | -l SELECTOR | --cluster-schedule NAME]",
		GroupID: term.GroupAct,
		Short:   "Take snapshots now",
		Long: "Take a snapshot of every PVC of a schedule now (by default, the only one in the namespace), of all schedules\n" +
			"that a label selector matches, of all schedules of a ClusterSnapshotSchedule, or of one PVC under each schedule\n" +
			"that selects it. This also works while the schedule is suspended. The command sets the schedule's annotation\n" +
			v1alpha1.AnnotationRequestedAt + " to the next full second of the API server's clock; the\n" +
			"operator takes the snapshots. A request for one PVC includes the PVCs of an earlier request, less than a minute\n" +
			"old, that have no snapshot for it yet.\n\n" +
			"It is no error if the label selector matches no schedule, or none with a PVC that can be snapshotted. Of several\n" +
			"schedules, one that takes no snapshots, for example because its spec is invalid, is left out with a warning.",
		Example: `  # All PVCs of a schedule, and wait until the snapshots are ready
  kubectl snapsched snapshot nightly --wait

  # One PVC, before an upgrade, and keep it for a week whatever retention says
  kubectl snapsched snapshot --pvc pgdata --wait --timeout 5m --hold 1w

  # Everything with backup=gold, and wait until the data is cut
  kubectl snapsched snapshot -A -l backup=gold --wait=cut

  # While the application holds its lock: end within 31 seconds, and mark what was cut while it was held
  kubectl snapsched snapshot app --wait=cut --timeout 30s --mark example.com/quiesced=true

  # All namespaces of a ClusterSnapshotSchedule
  kubectl snapsched snapshot --cluster-schedule gold --wait`,
		Args:              term.NotEmpty(checkArgs, "pvc", "selector", "cluster-schedule"),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: wait.Flags.Connected(f, func(ctx context.Context, args []string) error {
			name, err := term.OneSchedule(args)
			if err == nil {
				err = wait.check(f, hold)
			}
			switch named := term.Given(name, claim, cluster, scope.Selector); {
			case err != nil:
				return err
			case named > 1 || scope.AllNamespaces && scope.Selector == "":
				return errors.New("specify only one of NAME, --pvc, -l and --cluster-schedule; -A needs -l")
			case named == 0:
				if name, err = view.OnlySchedule(ctx, f); err != nil {
					return err
				}
			}
			r := &request{
				f: f, output: &output, printed: steps.Printed{}, members: map[types.UID]sets.Set[string]{}, namespace: f.Namespace,
				until: wait.Until, mark: wait.Mark,
			}
			if r.now, err = f.ServerTime(ctx); err == nil {
				err = r.holdFor(hold)
			}
			if err == nil {
				err = r.ofAny(ctx, name, claim, cluster, &scope)
			}
			if err == nil && wait.Until != "" && len(r.targets) > 0 {
				err = r.wait(ctx)
			}
			return errors.Join(err, r.leftOut())
		}),
	}
	term.Needs(cmd, `
get snapshotschedules unless --pvc --selector --cluster-schedule
list snapshotschedules unless NAME
patch snapshotschedules unless --cluster-schedule
get patch clustersnapshotschedules if --cluster-schedule
list namespaces if --cluster-schedule
get persistentvolumeclaims if --pvc
list persistentvolumeclaims unless --pvc
list watch volumesnapshots if --wait --hold
patch volumesnapshots if --mark --hold`)
	cmd.Flags().StringVar(&claim, "pvc", "", "Take a snapshot of this PVC, under each schedule that selects it.")
	cmd.Flags().StringVar(&cluster, "cluster-schedule", "", "Take a snapshot of all PVCs of this ClusterSnapshotSchedule.")
	scope.AddFlags(cmd, "SnapshotSchedules")
	cmd.Flags().Lookup("all-namespaces").Usage = "Select the schedules of all namespaces."
	wait.AddFlags(cmd)
	output.AddFlags(cmd, false, term.JSON, term.YAML, term.Names)
	term.Ends(cmd, "a snapshot was refused or failed, or a schedule is left out", "the timeout passed, which cancels nothing, or a "+
		"snapshot could not be marked, because its driver reports a time in 1970, as if it had answered before it cut")
	f.AddDryRun(cmd, false)
	cmd.Flags().StringVar(&hold, "hold", "", "Wait until the snapshots are cut, then hold them: until a time in RFC 3339, or for a "+
		"duration such as 7d. Retention may delete older ones for them and, without a hold, them for newer ones.")
	return cmd
}

// checkArgs refuses more than one argument. What --wait waits for is no argument of its own.
func checkArgs(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if len(args) > 1 && (arg == untilReady || arg == untilCut) {
			return fmt.Errorf("specify one SnapshotSchedule, not %d; what to wait for is written with =: --wait=%s", len(args), arg)
		}
	}
	return term.AtMostOne("NAME")(cmd, args)
}

// ofAny requests snapshots of what the user names.
func (r *request) ofAny(ctx context.Context, name, claim, cluster string, scope *term.Scope) error {
	switch {
	case claim != "":
		return r.ofClaim(ctx, claim)
	case cluster != "":
		return r.ofCluster(ctx, cluster)
	case scope.Selector != "":
		return r.ofSelected(ctx, scope)
	}
	return r.ofSchedule(ctx, name)
}

// request is a request for snapshots.
type request struct {
	f       *term.Factory
	output  *term.Output
	now     time.Time // when the command began, by the API server's clock
	targets []*target
	// namespace is that of the targets; empty if they may be of any.
	namespace string
	// selects are the labels of the snapshots to wait for.
	selects client.ListOption
	// cluster is the name of the ClusterSnapshotSchedule that is annotated, if any.
	cluster string
	// until is what to wait for: untilReady or untilCut.
	until string
	// mark is set on the snapshots that are so in time, unmarked says where that failed.
	mark requestMark
	// groups is set while group snapshots are waited for. members are the PVCs of those that were seen.
	groups   bool
	members  map[types.UID]sets.Set[string]
	unmarked []error
	// holding holds the snapshots that are cut, if it is set; held are those that are, or could not be.
	holding *steps.Holding
	held    sets.Set[types.UID]
	printed steps.Printed
	// without are how many schedules take no part in a request for many.
	without int
}

// target is a PVC of which a schedule takes a snapshot.
type target struct {
	schedule *v1alpha1.SnapshotSchedule
	claim    *corev1.PersistentVolumeClaim
	key      string    // its map key
	at       time.Time // the requested time
	// state is what is known of its snapshot, in words.
	state string
	taken bool // the snapshot exists
	// snapshot is its name, once it was taken.
	snapshot string
	done     bool // what is waited for has come
}

// ofSchedule requests a snapshot of every PVC of a schedule.
func (r *request) ofSchedule(ctx context.Context, name string) error {
	s, err := view.ReadSchedule(ctx, r.f, name)
	if err != nil {
		return err
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.f.List(ctx, claims, client.InNamespace(r.namespace)); err != nil {
		return err
	}
	err = r.find(ctx, []*v1alpha1.SnapshotSchedule{s}, claims.Items, func(_ *v1alpha1.SnapshotSchedule, why error) error { return why })
	if err == nil && len(r.targets) == 0 {
		err = term.Failed(fmt.Errorf("SnapshotSchedule %s selects no PVC that can be snapshotted: kubectl snapsched status -n %s %s",
			name, r.namespace, name))
	}
	if err != nil {
		return err
	}
	r.selects = view.OfSchedule(name)
	return r.request(ctx, s, "", r.targets)
}

// ofClaim requests a snapshot of a PVC under each schedule that selects it.
func (r *request) ofClaim(ctx context.Context, name string) error {
	claim := corev1.PersistentVolumeClaim{}
	if err := r.f.Get(ctx, name, &claim); err != nil {
		return err
	}
	schedules, err := view.ReadSchedules(ctx, r.f, r.namespace, "")
	if err != nil {
		return err
	}
	var ofFleets []error
	err = r.find(ctx, schedules, []corev1.PersistentVolumeClaim{claim}, func(s *v1alpha1.SnapshotSchedule, why error) error {
		if of := r.ofFleet(s); of != nil {
			ofFleets = append(ofFleets, of)
		} else {
			r.f.Warn("%s", why)
		}
		return nil
	})
	if err == nil && len(r.targets) == 0 {
		err = term.Failed(cmp.Or(errors.Join(ofFleets...), fmt.Errorf(
			"no SnapshotSchedule would take a snapshot of PersistentVolumeClaim %s: 'kubectl snapsched coverage' says why", name)))
	}
	if err == nil {
		err = r.f.DryRun.OneWrite(len(r.targets))
	}
	if err != nil {
		return err
	}
	for _, of := range ofFleets {
		r.f.Warn("%s", of)
	}
	var errs []error
	keys := sets.New[string]()
	for _, t := range r.targets {
		keys.Insert(t.key)
		errs = append(errs, r.request(ctx, t.schedule, name, []*target{t}))
	}
	ofKeys, err := labels.NewRequirement(v1alpha1.LabelMapKey, selection.In, sets.List(keys))
	if err == nil {
		r.selects = client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*ofKeys)}
	}
	return errors.Join(append(errs, err)...)
}

// find finds the targets of a request. refused is called with why a schedule takes no
// snapshots on it.
func (r *request) find(
	ctx context.Context, schedules []*v1alpha1.SnapshotSchedule, claims []corev1.PersistentVolumeClaim,
	refused func(*v1alpha1.SnapshotSchedule, error) error,
) error {
	classes, err := view.ReadClasses(ctx, r.f)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		judge, err := snapshots.NewJudge(term.Scheme, s, classes)
		if err != nil {
			err = term.Failed(fmt.Errorf("SnapshotSchedule %s takes no snapshots, because its spec is invalid: %w", r.inNamespace(s), err))
		}
		if err == nil {
			err = r.addSelected(s, judge, claims)
		}
		if err != nil {
			if err := refused(s, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSelected adds the PVCs that a schedule selects.
func (r *request) addSelected(s *v1alpha1.SnapshotSchedule, judge *snapshots.Judge, claims []corev1.PersistentVolumeClaim) error {
	var selected []*corev1.PersistentVolumeClaim
	stopped := map[string]string{} // by map key: one PVC that cannot be snapshotted stops its group
	for i := range claims {
		claim := &claims[i]
		if claim.Namespace != s.Namespace || !judge.Selects(claim) {
			continue
		}
		selected = append(selected, claim)
		if reason := judge.Refused(claim); s.Spec.Group != nil && reason != "" {
			stopped[judge.Key(claim)] = fmt.Sprintf("PersistentVolumeClaim %s: %s", claim.Name, reason)
		}
	}
	for _, claim := range selected {
		if err := r.ofFleet(s); err != nil && r.cluster == "" {
			return err
		}
		r.add(s, judge, claim, stopped)
	}
	return nil
}

func (r *request) add(
	s *v1alpha1.SnapshotSchedule, judge *snapshots.Judge, claim *corev1.PersistentVolumeClaim, stopped map[string]string,
) {
	if why := stopped[judge.Key(claim)]; why != "" {
		r.f.Warn("SnapshotSchedule %s takes no snapshot of the group of PersistentVolumeClaim %s, because of %s",
			r.inNamespace(s), claim.Name, why)
		return
	}
	if reason := judge.Refused(claim); reason != "" {
		r.f.Warn("SnapshotSchedule %s skips PersistentVolumeClaim %s: %s", r.inNamespace(s), claim.Name, reason)
		return
	}
	group := ""
	if s.Spec.Group != nil {
		group = cmp.Or(claim.Labels[s.Spec.Group.ByLabel], s.Name)
	}
	for _, p := range s.Status.Problems {
		kind := view.KindsOfProblems[p.Reason]
		stopped := kind.Refuses || p.Reason == v1alpha1.ReasonGroupStopped
		if stopped && view.Concerns(p, claim.Name, group) && s.Status.ObservedGeneration == s.Generation {
			r.f.Warn("SnapshotSchedule %s reports of PersistentVolumeClaim %s: %s",
				r.inNamespace(s), claim.Name, view.Reported(p).Words(r.now))
		}
	}
	r.targets = append(r.targets, &target{schedule: s, claim: claim, key: judge.Key(claim)})
}
