// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report is the command report, which writes the status, coverage and future of all schedules as one page.
//
//	report.go  the command, and what it reads
//	page.go    the page, from report.html, report.css and report.js
//	sums.go    the sentence, the bar, and what to act on
//	lanes.go   the snapshots of each PVC in time, by day, and the deletes to come
package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/history"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
	"mapcontroller.dev/snapshotschedule/internal/version"
)

// reportAhead is how far ahead a report looks for what retention deletes.
const reportAhead = 30 * term.Day

// fullReport is what there is to know about the snapshots of some clusters.
type fullReport struct {
	Time     metav1.Time     `json:"time"`
	Until    metav1.Time     `json:"until"`
	Version  string          `json:"version"`
	Clusters []clusterReport `json:"clusters"`
	// Unread are the clusters of --contexts that could not be read.
	Unread []protection.UnreadCluster `json:"unreadClusters,omitempty"`
}

type clusterReport struct {
	// Name is that of the context.
	Name   string `json:"name"`
	Server string `json:"server"`
	// User is the one who read it, as the cluster knows them.
	User string `json:"user"`
	// Namespace is empty if all were read.
	Namespace string               `json:"namespace,omitempty"`
	Fleets    []fleetReport        `json:"clusterSnapshotSchedules,omitempty"`
	Schedules []scheduleReport     `json:"snapshotSchedules"`
	Coverage  *protection.Coverage `json:"coverage"`
	Operator  *state.Operator      `json:"operator,omitempty"`
}

// now is the time in the cluster: its clock may be wrong, and says nothing of others. Without, it is that of the page.
func (r *clusterReport) now(page time.Time) time.Time {
	if r.Coverage.Now.IsZero() {
		return page
	}
	return r.Coverage.Now
}

type fleetReport struct {
	Name                    string             `json:"name"`
	Policy                  string             `json:"policy"`
	Conditions              []metav1.Condition `json:"conditions,omitempty"`
	Namespaces              int32              `json:"namespaces"`
	OldestRecoveryPointTime *metav1.Time       `json:"oldestRecoveryPointTime,omitempty"`
	Problems                []view.Problem     `json:"problems,omitempty"`
}

type scheduleReport struct {
	// fleet is the ClusterSnapshotSchedule that owns it.
	fleet                   string
	Status                  state.ScheduleStatus `json:"status"`
	OldestRecoveryPointTime *metav1.Time         `json:"oldestRecoveryPointTime,omitempty"`
	// Timeline and Deletes are empty while the spec is invalid: nothing is deleted then.
	Timeline   *history.Timeline `json:"timeline,omitempty"`
	Deletes    []ahead.Deletion  `json:"deletes,omitempty"`
	Incomplete bool              `json:"incomplete,omitempty"`
}

// New returns the command report.
func New(f *term.Factory) *cobra.Command {
	var scope term.Scope
	var output term.Output
	var contexts string
	var failOnGaps bool
	cmd := &cobra.Command{
		Use:     "report",
		GroupID: term.GroupShow,
		Short:   "Write one page about all schedules, PVCs and snapshots, to look at or to file",
		Long: "Write one HTML page: which schedules protect what, every PVC's snapshots over time, what is not\n" +
			"protected, why, and what to do about it, and what retention will delete in the next 30 days. The page needs no server\n" +
			"and loads nothing. It can be searched and printed.",
		Example: `  # Everything in the cluster
  kubectl snapsched report -A > report.html

  # All clusters of the kubeconfig whose context's name begins with prod-
  kubectl snapsched report -A --contexts 'prod-*' > report.html

  # A page each night, which fails if a PVC is not protected
  kubectl snapsched report -A --fail-on-gaps > report.html

  # What a page shows, for a program
  kubectl snapsched report -A -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output.Format != term.JSON && term.IsTerminal(f.Out) {
				return errors.New("the page is for a browser: write it to a file, as in 'kubectl snapsched report -A > report.html'")
			}
			all, err := readReport(cmd.Context(), f, contexts, &scope)
			if err != nil {
				return err
			}
			if output.Format == term.JSON {
				err = output.PrintStructured(f.Out, all)
			} else {
				err = all.writePage(f.Out)
			}
			if err == nil && len(all.Unread) > 0 {
				err = protection.UnreadError(all.Unread)
			}
			if err == nil && failOnGaps && sumsOf(all.Time.Time, all.Clusters...).Gaps > 0 {
				err = term.ErrFound
			}
			return err
		},
	}
	term.Ends(cmd, "--fail-on-gaps has found a gap", "")
	// There is no selector: what other schedules protect would look unprotected.
	cmd.Flags().BoolVarP(&scope.AllNamespaces, "all-namespaces", "A", false, "Report on all namespaces.")
	term.Needs(cmd, "list snapshotschedules persistentvolumeclaims volumesnapshots")
	output.AddFlags(cmd, false, term.HTML, term.JSON)
	cmd.Flags().BoolVar(&failOnGaps, "fail-on-gaps", false, fmt.Sprintf("End with exit code %d if a PVC is a gap.", term.ExitFound))
	cmd.Flags().StringVar(&contexts, "contexts", "", "Report on the clusters of all contexts of the kubeconfig whose name matches this "+
		"pattern, in which * stands for any text and ? for one character.")
	return cmd
}

// readReport reads the present cluster or, with a pattern, those of the contexts that match.
func readReport(ctx context.Context, f *term.Factory, contexts string, scope *term.Scope) (*fullReport, error) {
	all := &fullReport{Version: version.Get().String(), Clusters: []clusterReport{}}
	now := f.Clock.Now() // of a page without a cluster
	var err error
	all.Unread, err = protection.OfContexts(ctx, f, contexts, func(ctx context.Context, one *term.Factory) (clusterReport, error) {
		return readClusterReport(ctx, one, scope)
	}, func(_ string, one clusterReport) {
		if at := one.Coverage.Now; len(all.Clusters) == 0 || at.After(now) {
			now = at
		}
		all.Clusters = append(all.Clusters, one)
	})
	all.Time, all.Until = *term.TimeOf(now), *term.TimeOf(now.Add(reportAhead))
	if err == nil && contexts == "" {
		if one := &all.Clusters[0]; one.Namespace != "" && len(one.Schedules)+len(one.Coverage.Claims) == 0 {
			err = f.Missing(ctx, one.Namespace) // one that was mistyped has no gaps
		}
	}
	return all, err
}

func readClusterReport(ctx context.Context, f *term.Factory, scope *term.Scope) (r clusterReport, err error) {
	if err := f.Connect(ctx); err != nil {
		return r, err
	}
	r.Schedules, r.Namespace = []scheduleReport{}, scope.Namespace(f)
	if err := readWhere(ctx, f, &r); err != nil {
		return r, err
	}
	now, err := f.ServerTime(ctx)
	if err != nil {
		return r, err
	}
	found, err := view.ReadSchedules(ctx, f, r.Namespace, "")
	owners := map[*v1alpha1.SnapshotSchedule]string{}
	if err == nil && scope.AllNamespaces {
		r.Fleets, err = readFleets(ctx, f, found, owners)
	}
	if err != nil {
		return r, err
	}
	inv, err := view.ReadAbout(ctx, f, r.Namespace, found, labels.Everything())
	if err != nil {
		return r, err
	}
	r.Coverage = protection.CoverageOf(found, inv, now)
	work := ahead.Shares(inv, found, ahead.TenantWork)
	for _, s := range found {
		one, err := reportOn(s, inv, now, work[s.Namespace])
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return r, fmt.Errorf("SnapshotSchedule %s/%s: %w", s.Namespace, s.Name, err)
		}
		one.fleet = owners[s]
		r.Schedules = append(r.Schedules, one)
	}
	var all []*state.ScheduleStatus
	for i := range r.Schedules {
		all = append(all, &r.Schedules[i].Status)
	}
	state.FillSilence(ctx, f, all, now)
	r.Operator = state.ReadOperator(ctx, f, now)
	return r, ctx.Err()
}

// readWhere finds out where a cluster is, and who reads it. A cluster may not tell.
func readWhere(ctx context.Context, f *term.Factory, r *clusterReport) error {
	config, err := f.Config.ToRESTConfig()
	if err != nil {
		return err
	}
	raw, err := f.Config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return err
	}
	r.Name, r.Server = cmp.Or(*f.Config.Context, raw.CurrentContext), config.Host
	r.User = cmp.Or(f.WhoAmI(ctx), "unknown") // what else is wrong, the next request says
	return nil
}

// readFleets reads ClusterSnapshotSchedules; none if they are not installed, or if the user may not. It fills in which of some schedules
// they own, whatever owner a tenant has written into one.
func readFleets(
	ctx context.Context, f *term.Factory, found []*v1alpha1.SnapshotSchedule, owners map[*v1alpha1.SnapshotSchedule]string,
) (all []fleetReport, err error) {
	list := &v1alpha1.ClusterSnapshotScheduleList{}
	if err := f.List(ctx, list); err != nil {
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			err = nil
		}
		return nil, err
	}
	for i := range list.Items {
		c := &list.Items[i]
		one := fleetReport{
			Name: c.Name, Policy: view.PolicyWords(&c.Spec.Template.Spec), Conditions: c.Status.Conditions,
			OldestRecoveryPointTime: c.Status.OldestRecoveryPointTime,
		}
		for _, s := range found {
			if snapshots.OwnedBy(c, s) {
				owners[s] = c.Name
			}
		}
		if c.Status.Inputs != nil {
			one.Namespaces = c.Status.Inputs.Namespaces.Total
		}
		for _, p := range c.Status.Problems {
			one.Problems = append(one.Problems, view.Problem{Reason: p.Reason, Message: p.Namespace + ": " + p.Message})
		}
		all = append(all, one)
	}
	return all, nil
}

// reportOn reports on one schedule.
func reportOn(s *v1alpha1.SnapshotSchedule, inv *view.Inventory, now time.Time, work int) (r scheduleReport, err error) {
	r.Status, r.OldestRecoveryPointTime = state.StatusOf(s, inv, now), s.Status.OldestRecoveryPointTime
	if r.Status.InvalidSpec != "" {
		return r, nil
	}
	return r, r.lookAhead(s, inv, now, work)
}

// lookAhead fills in what the snapshots are, and what becomes of them, within an amount of work for each series.
func (r *scheduleReport) lookAhead(s *v1alpha1.SnapshotSchedule, inv *view.Inventory, now time.Time, work int) (err error) {
	if r.Timeline, err = history.TimelineOf(s, inv, "", now); err != nil {
		return err
	}
	unchanged := ahead.Variants{Present: s, Future: s, Work: work}.Recorded(now, inv.Origins.Of(s))
	p, err := ahead.PreviewOf(unchanged, inv, now, now.Add(reportAhead))
	if err != nil {
		return err
	}
	r.Deletes, r.Incomplete = p.Deletes, p.Incomplete
	return nil
}
