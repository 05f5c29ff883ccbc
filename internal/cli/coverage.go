// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
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

// coverage is what is protected, and what is left over.
type coverage struct {
	Claims    []claimCoverage `json:"persistentVolumeClaims"`
	Leftovers []leftover      `json:"snapshotsWithoutSchedule"`
	// Unread are the clusters of --contexts that could not be read.
	Unread []unreadCluster `json:"unreadClusters,omitempty"`
	// missing is set if no cluster has the namespace: one that was mistyped has no gaps.
	missing error
}

type claimCoverage struct {
	// Cluster is the context's name, with --contexts.
	Cluster           string       `json:"cluster,omitempty"`
	Namespace         string       `json:"namespace"`
	Name              string       `json:"name"`
	Protection        protection   `json:"protection"`
	Gap               bool         `json:"gap"`
	Schedules         []string     `json:"schedules,omitempty"`
	RecoveryPointTime *metav1.Time `json:"recoveryPointTime,omitempty"`
	// VerifiedTime is the last success of a drill, under any schedule; VerificationFailed is set if the
	// last drill under one of them failed.
	VerifiedTime       *metav1.Time `json:"verifiedTime,omitempty"`
	VerificationFailed bool         `json:"verificationFailed,omitempty"`
	Reason             string       `json:"reason,omitempty"`
	// Note says what somebody may have meant otherwise.
	Note string `json:"note,omitempty"`
	// byRollback is set if only an unfinished rollback excludes it.
	byRollback bool
}

// leftover are snapshots whose schedule is gone: nothing deletes them.
type leftover struct {
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace"`
	Schedule  string `json:"schedule"`
	Snapshots int    `json:"snapshots"`
}

func newCoverageCommand(f *term.Factory) *cobra.Command {
	var scope term.Scope
	var output term.Output
	var failOnGaps bool
	var contexts string
	cmd := &cobra.Command{
		Use:     "coverage",
		GroupID: term.GroupShow,
		Short:   "Show which PVCs are protected, and which are not",
		Long: "Show for every PVC which schedules protect it, its recovery point, and why it is not protected.\n" +
			"A PVC is a gap if it could be snapshotted, but no valid schedule that is not suspended selects it and\n" +
			"finds a VolumeSnapshotClass for it (Unprotected), or if no ready snapshot covers the slot before the\n" +
			"latest (Stale), or if it is selected and its storage cannot be snapshotted or its volume is lost (Skipped). A PVC\n" +
			"that waits for its first snapshot (Pending), is not bound yet or is being deleted (Skipped), or is annotated with\n" +
			v1alpha1.AnnotationExclude + " (Excluded), is none.\n\n" +
			"Without permission to list VolumeSnapshotClasses it is unknown whether a PVC that has no snapshot can be\n" +
			"snapshotted. It is shown as Unknown instead of Pending. One that looks like a gap counts as one.",
		Example: `  # Everything in the cluster
  kubectl snapsched coverage -A

  # Fail a pipeline if a PVC of the application is not protected
  kubectl snapsched coverage -n shop -l app=db --fail-on-gaps

  # All clusters of the kubeconfig whose context's name begins with prod-
  kubectl snapsched coverage -A --contexts 'prod-*' -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			now := f.Clock.Now()
			var found *coverage
			if contexts != "" {
				found, err = coverageOfContexts(cmd.Context(), f, contexts, &scope, now)
			} else {
				found, err = readCoverage(cmd.Context(), f, &scope, now)
			}
			if err != nil {
				return err
			}
			if len(found.Unread) == 0 && found.missing != nil {
				return found.missing
			}
			if len(found.Claims)+len(found.Leftovers)+len(found.Unread) == 0 && !output.Structured() && output.Format != term.Names {
				scope.SayNothingFound(f)
				return nil
			}
			if err := printCoverage(f.Out, &output, found, contexts != "", scope.AllNamespaces || contexts != "", now); err != nil {
				return err
			}
			if len(found.Unread) > 0 {
				return unreadError(found.Unread)
			}
			if failOnGaps && found.gaps() > 0 {
				return term.ErrFound
			}
			return nil
		},
	}
	scope.AddFlags(cmd, "PVCs")
	output.AddFlags(cmd, true, term.JSON, term.YAML, term.Names, term.Wide)
	cmd.Flags().BoolVar(&failOnGaps, "fail-on-gaps", false, fmt.Sprintf("End with exit code %d if a PVC is a gap.", term.ExitFound))
	cmd.Flags().StringVar(&contexts, "contexts", "", "Show the clusters of all contexts of the kubeconfig whose name matches this pattern, "+
		"in which * stands for any text and ? for one character.")
	return cmd
}

// readCoverage reads what is protected in one cluster.
func readCoverage(ctx context.Context, f *term.Factory, scope *term.Scope, now time.Time) (*coverage, error) {
	if err := f.Connect(); err != nil {
		return nil, err
	}
	matches, err := labels.Parse(scope.Selector)
	if err != nil {
		return nil, err
	}
	schedules, err := readSchedules(ctx, f, scope.Namespace(f), "")
	if err != nil {
		return nil, err
	}
	inv, err := readInventory(ctx, f, scope.Namespace(f), matches, managed)
	if err != nil {
		return nil, err
	}
	if inv.origins, err = readOrigins(ctx, f, schedules); err != nil {
		return nil, err
	}
	found := coverageOf(schedules, inv, now)
	if namespace := scope.Namespace(f); len(found.Claims) == 0 && namespace != "" {
		// Its users may not be allowed to read it.
		if err := f.Client.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{}); apierrors.IsNotFound(err) {
			found.missing = err
		}
	}
	return found, nil
}

// coverageOf judges every PVC under every schedule of its namespace.
func coverageOf(found []*v1alpha1.SnapshotSchedule, inv *inventory, now time.Time) *coverage {
	all := &coverage{Claims: []claimCoverage{}, Leftovers: leftovers(found, inv)}
	under := map[client.Object][]relation{}
	for _, s := range found {
		judge, judged, invalid := inv.judged(s, now)
		if invalid != nil {
			for _, claim := range inv.claims[s.Namespace] {
				if matches, err := s.Spec.Selector.AsSelector(); err == nil && matches.Matches(labels.Set(claim.GetLabels())) {
					under[claim] = append(under[claim], relation{schedule: s.Name, inactive: "its spec is invalid"})
				}
			}
			continue
		}
		decided := inv.origins.decided(s)
		for of, d := range judged {
			if of.state(judge) != stateSelected {
				continue
			}
			if of.claim != nil {
				under[of.claim] = append(under[of.claim], relationOf(decided, of.claim, d, now))
			}
			for i := range d.Parts {
				claim := of.claimNamed(d.Parts[i].Claim)
				under[claim] = append(under[claim], relationOf(decided, claim, d.OfPart(i), now))
			}
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(inv.claims)) {
		for _, o := range inv.claims[namespace] {
			all.Claims = append(all.Claims, claimCoverageOf(o.(*corev1.PersistentVolumeClaim), under[o], &inv.classes))
		}
	}
	return all
}

// leftovers counts the snapshots whose schedule is gone.
func leftovers(found []*v1alpha1.SnapshotSchedule, inv *inventory) []leftover {
	known, counts := map[leftover]bool{}, map[leftover]int{}
	for _, s := range found {
		known[leftover{Namespace: s.Namespace, Schedule: s.Name}] = true
	}
	for namespace := range inv.namespaces() {
		for _, v := range slices.Concat(inv.snapshots[namespace], inv.groups[namespace]) {
			of := leftover{Namespace: namespace, Schedule: v.GetLabels()[v1alpha1.LabelSchedule]}
			if !known[of] && of.Schedule != "" && !snapshots.GroupMember(v) {
				counts[of]++
			}
		}
	}
	all := []leftover{}
	for of, n := range counts {
		all = append(all, leftover{Namespace: of.Namespace, Schedule: of.Schedule, Snapshots: n})
	}
	slices.SortFunc(all, func(a, b leftover) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Schedule, b.Schedule))
	})
	return all
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
