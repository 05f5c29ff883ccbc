// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
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
	case len(c.joins) > 0:
		for _, label := range c.lacks {
			command += " " + term.ShellWord(label)
		}
		them := "the schedule " + c.joins[0] + " selects"
		if len(c.joins) > 1 {
			them = "the schedules " + strings.Join(c.joins, ", ") + " select"
		}
		return "give it the labels that " + them + ", or exclude it",
			fmt.Sprintf("kubectl label pvc %s %s%s", in, term.ShellWord(c.Name), command)
	case len(c.Schedules) == 0:
		return "create a schedule that selects it, or have one select it", "kubectl edit snapshotschedules " + in
	case c.Protection == Skipped:
		return "see what keeps it from being snapshotted, or exclude it", fmt.Sprintf("kubectl describe pvc %s %s", in, term.ShellWord(c.Name))
	}
	return "see what is wrong with the schedule", fmt.Sprintf("%s status %s %s", term.Name, in, term.ShellWord(c.Schedules[0]))
}

// candidate is a schedule that a PVC may join.
type candidate struct {
	*v1alpha1.SnapshotSchedule
	selects func(*corev1.PersistentVolumeClaim) bool
	// single is set if it takes snapshots of each PVC separately.
	single bool
}

// labelsFor returns, for a PVC that no schedule selects, the labels that it lacks of the first schedule that it can join, and all
// schedules that it joins with them. A label that it has is not changed: something else may select by it.
func (c *ClaimCoverage) labelsFor(claim *corev1.PersistentVolumeClaim, all []candidate) (joins, lacks []string) {
	if !c.Gap || len(c.Schedules) > 0 {
		return nil, nil
	}
	for _, s := range all {
		with, added := s.labelled(claim)
		if names := joined(with, all); slices.Contains(names, s.Name) {
			return names, added
		}
	}
	return nil, nil
}

// labelled returns a PVC with the labels that the schedule selects, and those that it lacked.
func (s *candidate) labelled(claim *corev1.PersistentVolumeClaim) (with *corev1.PersistentVolumeClaim, added []string) {
	with = claim.DeepCopy()
	for _, key := range slices.Sorted(maps.Keys(s.Spec.Selector.MatchLabels)) {
		if _, has := claim.Labels[key]; !has {
			value := string(s.Spec.Selector.MatchLabels[key])
			metav1.SetMetaDataLabel(&with.ObjectMeta, key, value)
			added = append(added, key+"="+value)
		}
	}
	return with, added
}

// joined returns the schedules that select a PVC; none if one of them does not take snapshots of it separately. In a group, it
// could keep all other PVCs of the group from being snapshotted.
func joined(claim *corev1.PersistentVolumeClaim, all []candidate) (names []string) {
	for _, s := range all {
		switch {
		case !s.selects(claim):
		case !s.single:
			return nil
		default:
			names = append(names, s.Name)
		}
	}
	return names
}
