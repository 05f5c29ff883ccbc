// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// protection is whether a PVC is protected.
type protection string

const (
	protected   protection = "Protected"
	pending     protection = "Pending"     // selected, without a ready snapshot yet
	unknown     protection = "Unknown"     // pending or skipped: the user may not read VolumeSnapshotClasses
	unprotected protection = "Unprotected" // a gap
	stale       protection = "Stale"       // a gap: the recovery point is older than it should be
	skipped     protection = "Skipped"     // no schedule can snapshot it now
	excluded    protection = "Excluded"    // it is annotated so
)

func (p protection) gap() bool { return p == unprotected || p == stale }

// coverage is what is protected, and what is left over.
type coverage struct {
	Claims    []claimCoverage `json:"persistentVolumeClaims"`
	Leftovers []leftover      `json:"snapshotsWithoutSchedule"`
}

type claimCoverage struct {
	Namespace         string       `json:"namespace"`
	Name              string       `json:"name"`
	Protection        protection   `json:"protection"`
	Gap               bool         `json:"gap"`
	Schedules         []string     `json:"schedules,omitempty"`
	RecoveryPointTime *metav1.Time `json:"recoveryPointTime,omitempty"`
	Reason            string       `json:"reason,omitempty"`
}

// leftover are snapshots whose schedule is gone: nothing deletes them.
type leftover struct {
	Namespace string `json:"namespace"`
	Schedule  string `json:"schedule"`
	Snapshots int    `json:"snapshots"`
}

func newCoverageCommand(f *Factory) *cobra.Command {
	var scope Scope
	var output Output
	var failOnGaps bool
	cmd := &cobra.Command{
		Use:     "coverage",
		GroupID: GroupShow,
		Short:   "Show which PVCs are protected, and which are not",
		Long: "Show for every PVC which schedules protect it, its recovery point, and why it is not protected.\n" +
			"A PVC is a gap if it could be snapshotted, but no valid schedule that is not suspended selects it and\n" +
			"finds a VolumeSnapshotClass for it (Unprotected), or if no ready snapshot covers the slot before the\n" +
			"latest (Stale). A PVC that waits for its first snapshot (Pending), that cannot be snapshotted (Skipped), or\n" +
			"that is annotated with " + v1alpha1.AnnotationExclude + " (Excluded), is none.\n\n" +
			"Without permission to list VolumeSnapshotClasses it is unknown whether a PVC that has no snapshot can be\n" +
			"snapshotted. It is shown as Unknown instead of Pending. One that looks like a gap counts as one.",
		Example: `  # Everything in the cluster
  kubectl snapsched coverage -A

  # Fail a pipeline if a PVC of the application is not protected
  kubectl snapsched coverage -n shop -l app=db --fail-on-gaps`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := f.Clock.Now()
			found, err := readCoverage(cmd.Context(), f, &scope, now)
			if err != nil {
				return err
			}
			if err := printCoverage(f.Out, &output, found, scope.AllNamespaces, now); err != nil {
				return err
			}
			if failOnGaps && found.gaps() > 0 {
				return ErrFound
			}
			return nil
		},
	}
	scope.AddFlags(cmd, "PVCs")
	output.AddFlags(cmd, true, JSON, YAML, Names, Wide)
	cmd.Flags().BoolVar(&failOnGaps, "fail-on-gaps", false, fmt.Sprintf("End with exit code %d if a PVC is a gap.", ExitFound))
	return cmd
}

func readCoverage(ctx context.Context, f *Factory, scope *Scope, now time.Time) (*coverage, error) {
	c, err := f.Client()
	if err != nil {
		return nil, err
	}
	namespace, err := scope.Namespace(f)
	if err != nil {
		return nil, err
	}
	matches, err := labels.Parse(scope.Selector)
	if err != nil {
		return nil, err
	}
	found, err := readSchedules(ctx, c, namespace, "")
	if err != nil {
		return nil, err
	}
	inv, err := f.readInventory(ctx, c, namespace, matches)
	if err != nil {
		return nil, err
	}
	return coverageOf(found, inv, now), nil
}

// coverageOf judges every PVC under every schedule of its namespace.
func coverageOf(found []*v1alpha1.SnapshotSchedule, inv *inventory, now time.Time) *coverage {
	all := &coverage{Claims: []claimCoverage{}, Leftovers: leftovers(found, inv)}
	under := map[*corev1.PersistentVolumeClaim][]relation{}
	for _, s := range found {
		judge, invalid := inv.judge(s)
		if invalid != nil {
			for _, o := range inv.claims[s.Namespace] {
				if claim := o.(*corev1.PersistentVolumeClaim); selectorMatches(s, claim) {
					under[claim] = append(under[claim], relationOf(s, claim, "its spec is invalid", nil, now))
				}
			}
			continue
		}
		for _, series := range inv.seriesOf(s, judge.Selects) {
			if series.state(judge.Selects) != stateSelected {
				continue
			}
			d := judge.Judge(now, series.mapKey, series.claim, series.snapshots, series.restores)
			inactive := ""
			switch {
			case s.DeletionTimestamp != nil:
				inactive = "it is being deleted"
			case s.Spec.Suspend:
				inactive = "it is suspended"
			}
			under[series.claim] = append(under[series.claim], relationOf(s, series.claim, inactive, &d, now))
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(inv.claims)) {
		for _, o := range inv.claims[namespace] {
			claim := o.(*corev1.PersistentVolumeClaim)
			c := claimCoverageOf(claim, under[claim], inv.classes.SkipReason(claim))
			known := func(r relation) bool { return r.taken || r.refused != "" }
			if inv.classes.Undecided(claim) && !slices.ContainsFunc(under[claim], known) {
				c.doubt()
			}
			all.Claims = append(all.Claims, c)
		}
	}
	return all
}

// relation is what a schedule means to a PVC that it selects.
type relation struct {
	schedule *v1alpha1.SnapshotSchedule
	// inactive says why the schedule protects nothing.
	inactive string
	skip     string
	// refused says that no VolumeSnapshotClass fits.
	refused  string
	taken    bool // it has snapshots
	stale    bool
	recovery time.Time
}

func relationOf(
	s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, inactive string, d *snapshots.Judgment, now time.Time,
) relation {
	u := relation{schedule: s, inactive: inactive}
	if d == nil {
		return u
	}
	u.skip, u.taken, u.stale = d.SkipReason, len(d.Outputs) > 0, d.Stale(now)
	for _, p := range problemsOf(s, claim.Name, stateSelected, d.Problems) {
		if refusals[p.Reason] && u.skip == "" { // else the report is older than what makes the PVC skipped
			u.refused = p.Reason + ": " + p.Message
		}
	}
	if i := retention.NewestReady(d.Series.Snapshots, now); i >= 0 {
		u.recovery = d.Series.Snapshots[i].AgeBase(now)
	}
	return u
}

// refusals are the problems with which no snapshot is taken.
var refusals = map[string]bool{
	v1alpha1.ReasonNoSnapshotClass: true, v1alpha1.ReasonWrongSnapshotClass: true, v1alpha1.ReasonNoDefaultSnapshotClass: true,
}

// claimCoverageOf sums up what the schedules that select a PVC mean to it. skip says
// why none of them can snapshot it.
func claimCoverageOf(claim *corev1.PersistentVolumeClaim, all []relation, skip string) claimCoverage {
	c := claimCoverage{Namespace: claim.Namespace, Name: claim.Name}
	var newest time.Time
	var inactive, behind []string
	onTime, refused := false, false
	for _, u := range all {
		c.Schedules = append(c.Schedules, u.schedule.Name)
		if u.recovery.After(newest) {
			newest = u.recovery
		}
		switch {
		case u.inactive != "":
			inactive = append(inactive, u.schedule.Name+": "+u.inactive)
		case u.refused != "":
			refused, inactive = true, append(inactive, u.schedule.Name+": "+u.refused)
		case u.skip != "":
			skip = u.skip
		case u.stale:
			behind = append(behind, u.schedule.Name)
		default:
			onTime = true
		}
	}
	c.RecoveryPointTime = timeOf(newest)
	switch {
	case snapshots.Excluded(claim):
		c.Protection, c.Reason = excluded, "annotation "+v1alpha1.AnnotationExclude
	case skip != "" && !refused: // else it has snapshots, and its class was lost
		c.Protection, c.Reason = skipped, skip
	default:
		c.Protection, c.Reason = protectionBy(onTime, newest, behind, inactive)
	}
	c.Gap = c.Protection.gap()
	return c
}

// whyUnknown says why it is not known whether a PVC can be snapshotted.
const whyUnknown = "whether it can be snapshotted is unknown without permission to list VolumeSnapshotClasses"

// doubt adds that the PVC may be one that cannot be snapshotted. A gap remains one.
func (c *claimCoverage) doubt() {
	switch c.Protection {
	case pending:
		c.Protection, c.Reason = unknown, whyUnknown
	case stale, unprotected:
		c.Reason += "; " + whyUnknown
	}
}

// protectionBy says how well a PVC that can be snapshotted is protected: by a schedule
// that is on time, else by those that are behind or inactive.
func protectionBy(onTime bool, newest time.Time, behind, inactive []string) (protection, string) {
	switch {
	case onTime && newest.IsZero():
		return pending, "the first snapshot is not ready yet"
	case onTime:
		return protected, ""
	case len(behind) > 0:
		return stale, "no ready snapshot for a whole slot of " + strings.Join(behind, ", ")
	case len(inactive) > 0:
		return unprotected, strings.Join(inactive, "; ")
	}
	return unprotected, "no schedule selects it"
}

// leftovers counts the snapshots whose schedule is gone.
func leftovers(found []*v1alpha1.SnapshotSchedule, inv *inventory) []leftover {
	known := map[leftover]bool{}
	for _, s := range found {
		known[leftover{Namespace: s.Namespace, Schedule: s.Name}] = true
	}
	counts := map[leftover]int{}
	for namespace, all := range inv.snapshots {
		for _, v := range all {
			of := leftover{Namespace: namespace, Schedule: v.GetLabels()[v1alpha1.LabelSchedule]}
			if !known[of] && of.Schedule != "" && !snapshots.GroupMember(v) {
				counts[of]++
			}
		}
	}
	all := []leftover{}
	for of, n := range counts {
		of.Snapshots = n
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b leftover) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Schedule, b.Schedule))
	})
	return all
}

// selectorMatches returns whether the selector of an invalid spec matches a PVC.
func selectorMatches(s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) bool {
	matches, err := s.Spec.Selector.AsSelector()
	return err == nil && matches.Matches(labels.Set(claim.Labels))
}

func (c *coverage) gaps() int {
	n := 0
	for i := range c.Claims {
		if c.Claims[i].Gap {
			n++
		}
	}
	return n
}

func printCoverage(w io.Writer, output *Output, c *coverage, namespaces bool, now time.Time) error {
	switch {
	case output.Structured():
		return output.PrintStructured(w, c)
	case output.Format == Names:
		for i := range c.Claims {
			if c.Claims[i].Gap {
				fmt.Fprintln(w, "persistentvolumeclaim/"+c.Claims[i].Name)
			}
		}
		return nil
	}
	columns := []string{"PVC", "PROTECTION", "SCHEDULES", "RECOVERY POINT", "REASON"}
	if namespaces {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	table := NewTable(columns...)
	for _, claim := range c.Claims {
		cells := []any{claim.Name, string(claim.Protection), strings.Join(claim.Schedules, ","),
			age(now, valueOf(claim.RecoveryPointTime)), claim.Reason}
		if namespaces {
			cells = append([]any{claim.Namespace}, cells...)
		}
		table.Row(cells...)
	}
	if err := output.PrintTable(w, table); err != nil {
		return err
	}
	if output.NoHeaders {
		return nil
	}
	style := StyleOf(w)
	fmt.Fprintln(w)
	for _, l := range c.Leftovers {
		say(w, fmt.Sprintf("%s of schedule %s/%s, which does not exist: nothing deletes them.",
			plural(l.Snapshots, "snapshot"), l.Namespace, l.Schedule))
	}
	if n := c.gaps(); n > 0 {
		fmt.Fprintln(w, style.Bad(fmt.Sprintf("%d of %s not protected.", n, plural(len(c.Claims), "PVC"))))
		return nil
	}
	fmt.Fprintln(w, style.Good(fmt.Sprintf("No gaps in %s.", plural(len(c.Claims), "PVC"))))
	return nil
}
