// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"maps"
	"slices"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// choice is by which class the snapshots of a subject are taken, or why none is.
type choice struct {
	// name is that of the class; nil leaves the choice to the driver's default.
	name *string
	// limit is the driver whose limits they count towards; guessed is set if that is a guess.
	limit   driver
	guessed bool
	// retained is set if the data of a deleted snapshot stays in the storage.
	retained bool
	// named is the class that the spec names.
	named *string
	// refused says why none can be taken, and skipped why nothing can be said of it.
	refused Problem
	skipped SkipReason
}

// takes returns whether snapshots can be taken.
func (c *choice) takes() bool { return c.skipped == "" && c.refused.Reason == "" }

// classesIn returns the classes among what is observed.
func (p *program) classesIn(seen mapcontroller.Observation) Classes {
	return Classes{Known: p.classesKnown, GroupsUnknown: p.groupClassesUnknown || len(seen.Missing) > 0, All: seen.Related}
}

// choose returns the class for the snapshots of a subject. It is skipped if each of its PVCs cannot be snapshotted now, or never could.
func (p *program) choose(of *subject, seen mapcontroller.Observation) choice {
	classes, outputs, w := p.classesIn(seen), of.backups.outputs, wantedOf(&p.schedule.Spec, of.claims)
	unfit, waits, first := 0, false, Problem{}
	skipped := SkipReason("")
	for _, claim := range of.claims {
		reason := skip(claim)
		if waits = waits || reason != ""; reason == "" {
			reason = classes.unfit(w, claim)
		}
		if reason == "" {
			continue
		}
		if unfit++; unfit == 1 {
			skipped, first = reason, Problem{Reason: v1alpha1.ReasonGroupStopped, Message: withCommand(
				fmt.Sprintf("no snapshot of the group is taken, because of PVC %s: %s", claim.Name, reason),
				fmt.Sprintf("; why: kubectl describe pvc -n '%s' '%s'", claim.Namespace, claim.Name))}
		}
	}
	if unfit == len(of.claims) && (waits || len(outputs) == 0) { // else it could be snapshotted, so the class was lost
		return choice{named: w.name, skipped: skipped}
	}
	c := choice{named: w.name}
	c.name, c.limit, c.refused = classes.choose(w)
	if other := p.mismatch(of, seen); other.Reason != "" {
		c.refused = other
	} else if unfit > 0 && unfit < len(of.claims) {
		c.refused = first
	} else if c.refused.Reason == v1alpha1.ReasonNotSnapshottable {
		c.refused.Reason = v1alpha1.ReasonNoSnapshotClass
		c.refused.Message += "; the PVC has snapshots, so it had one: create it again"
	}
	c.retained = classes.retains(w.kind, c.name, c.limit)
	c.limit, c.guessed = classes.limitOf(c.limit, outputs, oldestOf(of.claims))
	return c
}

// groupless returns why no group takes a PVC.
func (p *program) groupless(claim *corev1.PersistentVolumeClaim) Problem {
	by := p.schedule.Spec.Group.ByLabel
	message := fmt.Sprintf("the PVC has no label %s, so it belongs to no group, and no snapshot of it is taken", by)
	if len(validation.IsValidLabelValue(claim.Name)) == 0 {
		message = withCommand(message, fmt.Sprintf(
			"; to make it a group of its own: kubectl label pvc -n '%s' '%s' '%s=%s'", claim.Namespace, claim.Name, by, claim.Name))
	}
	return Problem{Reason: v1alpha1.ReasonGroupMismatch, Message: message}
}

// mismatch returns why the labels of a group do not stand for its PVCs.
func (p *program) mismatch(of *subject, seen mapcontroller.Observation) Problem {
	switch {
	case p.schedule.Spec.Group == nil:
		return Problem{}
	case of.group == "":
		return p.groupless(of.claims[0])
	}
	if len(seen.Missing) > 0 {
		return Problem{Reason: v1alpha1.ReasonGroupSnapshotAPIMissing, Message: "VolumeGroupSnapshots are not installed in this cluster, " +
			"or the operator may not list them; they need the CRDs of group " + groupv1.GroupName + ", version v1; what is installed: " +
			"kubectl api-resources --api-group=" + groupv1.GroupName}
	}
	if n := len(of.claims); n > backup.MaxGroup {
		return Problem{Reason: v1alpha1.ReasonGroupTooLarge, Message: fmt.Sprintf(
			"the group has %d PVCs, and the maximum is %d: divide it by a label, with spec.group.byLabel; to see the labels: "+
				"kubectl get pvc -n '%s' --show-labels", n, backup.MaxGroup, p.schedule.Namespace)}
	}
	var others []string
	for _, o := range seen.Unselected {
		if p.groupKey(o) == of.key {
			others = append(others, o.GetName())
		}
	}
	if len(others) == 0 {
		return Problem{}
	}
	slices.Sort(others)
	message := "the labels of the group match PVCs that the schedule does not select: " +
		report.List(others, maxTerminating) + "; exclude them by a label, not by an annotation"
	labels := slices.Sorted(maps.Keys(p.schedule.Spec.Selector.MatchLabels))
	if by := p.schedule.Spec.Group.ByLabel; by != "" {
		labels = []string{by}
	}
	if len(labels) > 0 {
		message = withCommand(message, fmt.Sprintf(": kubectl label pvc -n '%s' '%s' '%s-'", p.schedule.Namespace, others[0], labels[0]))
	}
	return Problem{Reason: v1alpha1.ReasonGroupMismatch, Message: message}
}
