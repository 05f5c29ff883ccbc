// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Remedy says what to do about a gap, with the command; empty if it is none.
func (c *ClaimCoverage) Remedy() string {
	advice, command := c.Fix()
	if advice == "" {
		return ""
	}
	return advice + ": " + command
}

// Fix says what to do about a gap, and the command that does it or begins with it; both are empty if it is none.
func (c *ClaimCoverage) Fix() (advice, command string) {
	in := "-n " + term.ShellWord(c.Namespace)
	switch {
	case !c.Gap:
		return "", ""
	case c.byRollback:
		return "run the rollback again to finish it, or undo it",
			fmt.Sprintf("%s rollback %s --pvc %s --undo", term.Name, in, term.ShellWord(c.Name))
	case c.join != "":
		for _, label := range c.joins {
			command += " " + term.ShellWord(label)
		}
		return "give it the labels that the schedule " + c.join + " selects, or exclude it",
			fmt.Sprintf("kubectl label pvc %s %s%s", in, term.ShellWord(c.Name), command)
	case len(c.Schedules) == 0:
		return "create a schedule that selects it, or have one select it", "kubectl edit snapshotschedules " + in
	case c.Protection == Skipped:
		return "see what keeps it from being snapshotted, or exclude it", fmt.Sprintf("kubectl describe pvc %s %s", in, term.ShellWord(c.Name))
	}
	return "see what is wrong with the schedule", fmt.Sprintf("%s status %s %s", term.Name, in, term.ShellWord(c.Schedules[0]))
}

// candidate is a valid schedule.
type candidate struct {
	*v1alpha1.SnapshotSchedule
	judge *snapshots.Judge
}

// labelsFor returns the first schedule that selects a PVC, which none selects, once it has some labels more, and these. A label that
// it has is not changed: something else may select by it.
func (c *ClaimCoverage) labelsFor(claim *corev1.PersistentVolumeClaim, all []candidate) (schedule string, labels []string) {
	if !c.Gap || len(c.Schedules) > 0 {
		return "", nil
	}
	for _, s := range all {
		if more := s.lacking(claim); len(more) > 0 {
			return s.Name, more
		}
	}
	return "", nil
}

// lacking returns the labels with which the schedule would select a PVC and take snapshots of it separately; none: it does not.
func (s *candidate) lacking(claim *corev1.PersistentVolumeClaim) (labels []string) {
	if s.Spec.Group != nil || s.Spec.Suspend || s.DeletionTimestamp != nil {
		return nil
	}
	with := *claim
	with.Labels = maps.Clone(claim.Labels)
	for _, key := range slices.Sorted(maps.Keys(s.Spec.Selector.MatchLabels)) {
		if _, has := claim.Labels[key]; !has {
			value := string(s.Spec.Selector.MatchLabels[key])
			metav1.SetMetaDataLabel(&with.ObjectMeta, key, value)
			labels = append(labels, key+"="+value)
		}
	}
	if !s.judge.Selects(&with) {
		return nil
	}
	return labels
}
