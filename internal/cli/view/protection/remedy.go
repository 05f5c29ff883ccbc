// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

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

// candidate is a schedule that takes snapshots of the PVCs with some labels, each separately.
type candidate struct {
	name   string
	labels map[string]v1alpha1.LabelValue
	judge  *snapshots.Judge
}

// joins returns the first schedule that selects a PVC once it has some labels more, and these. A label that it has is not changed:
// something else may select by it.
func joins(claim *corev1.PersistentVolumeClaim, all []candidate) (schedule string, labels []string) {
	for _, c := range all {
		more, changed := maps.Clone(claim.Labels), false
		if more == nil {
			more = map[string]string{}
		}
		for key, value := range c.labels {
			has, found := claim.Labels[key]
			changed = changed || found && has != string(value)
			more[key] = string(value)
		}
		with := *claim
		if with.Labels = more; changed || !c.judge.Selects(&with) {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(c.labels)) {
			if _, has := claim.Labels[key]; !has {
				labels = append(labels, key+"="+string(c.labels[key]))
			}
		}
		return c.name, labels
	}
	return "", nil
}
