// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// keyStatus is the part of the status that one namespace adds.
type keyStatus struct {
	// Exists, Updated, Ready and Detached are about its child.
	Exists, Updated, Ready, Detached bool
	// APIMissing is set if the child finds that VolumeSnapshots are not installed.
	APIMissing bool
	// Uncounted is set if the child's status has no numbers, or outdated ones: before its
	// first one, while its spec is invalid, and while the API server refuses them.
	Uncounted bool
	Namespace string
	// The numbers and the oldest recovery point of the child's status.
	Claims, Skipped int32
	Snapshots       v1alpha1.OutputCount
	// Groups is nil if the child takes no group snapshots and has none.
	Groups        *v1alpha1.OutputCount
	RecoveryPoint time.Time
	// NoneReady is set if a PVC with a recovery point has no ready snapshot.
	NoneReady  bool
	Protection protection
	Problems   []problem
}

// problem is something wrong with one namespace.
type problem struct{ Namespace, Reason, Message string }

// String returns a problem for a message.
func (p problem) String() string { return fmt.Sprintf("%s: %s: %s", p.Namespace, p.Reason, p.Message) }

// severity orders problems, the worst first. Others, those of children, are in between.
var severity = []string{
	v1alpha1.ReasonCreateFailed,
	v1alpha1.ReasonNameCollision,
	v1alpha1.ReasonChildDeleting,
	v1alpha1.ReasonUpdateFailed,
	v1alpha1.ReasonStatusOutdated,
	"",
	v1alpha1.ReasonReleaseFailed,
	v1alpha1.ReasonDeleteFailed,
	v1alpha1.ReasonAdoptionRefused,
}

func (p problem) severity() int {
	if i := slices.Index(severity, p.Reason); i >= 0 {
		return i
	}
	return slices.Index(severity, "")
}

func (p problem) compare(q problem) int {
	return cmp.Or(cmp.Compare(p.severity(), q.severity()), strings.Compare(p.Namespace, q.Namespace), strings.Compare(p.Reason, q.Reason))
}

// statusOf returns what a namespace adds to the status; child is nil if there is none.
func (p *program) statusOf(namespace string, want, child *schedule, detached bool) *keyStatus {
	k := &keyStatus{Namespace: namespace, Detached: detached}
	if !detached {
		k.Protection = protectionOf(child, child != nil && p.knows(child))
	}
	if child == nil {
		return k
	}
	if !Owns(p.fleet, child) {
		// It is about to be adopted. Its status may be what it was before its snapshots were its own.
		k.Exists, k.Uncounted = true, true
		return k
	}
	k.Exists, k.Updated = true, meets(want, child) && child.Status.ObservedGeneration == child.Generation
	k.Snapshots, k.Groups = child.Status.Outputs.VolumeSnapshots, child.Status.Outputs.VolumeGroupSnapshots
	outdated := p.unwritten.Has(client.ObjectKeyFromObject(child))
	k.Uncounted = outdated || child.Status.Inputs == nil
	if child.Status.Inputs != nil {
		k.Claims, k.Skipped = child.Status.Inputs.PersistentVolumeClaims.Total, child.Status.Inputs.PersistentVolumeClaims.Skipped
	}
	if oldest := child.Status.OldestRecoveryPointTime; oldest != nil && !detached {
		k.RecoveryPoint, k.NoneReady = oldest.UTC(), child.Status.RecoveryPointTime == nil
	}
	k.addReady(child, outdated)
	return k
}

// knows returns whether the conditions of a child are its own, and current.
func (p *program) knows(child *schedule) bool {
	return Owns(p.fleet, child) && child.DeletionTimestamp == nil && !p.unwritten.Has(client.ObjectKeyFromObject(child))
}

// addReady adds what the condition Ready of a child says.
func (k *keyStatus) addReady(child *schedule, outdated bool) {
	switch ready := meta.FindStatusCondition(child.Status.Conditions, v1alpha1.ConditionReady); {
	case child.DeletionTimestamp != nil: // its conditions are of before
		message := report.Text(deletingMessage(child), report.MaxProblem)
		k.Problems = []problem{{Namespace: k.Namespace, Reason: v1alpha1.ReasonChildDeleting, Message: message}}
	case outdated: // so are its conditions
		k.Problems = []problem{{Namespace: k.Namespace, Reason: v1alpha1.ReasonStatusOutdated, Message: outdatedMessage}}
	case ready == nil, ready.Status == metav1.ConditionUnknown: // not reconciled yet, which is no failure
	case ready.Status == metav1.ConditionTrue:
		k.Ready = true
	case ready.Reason == v1alpha1.ReasonSnapshotAPIMissing:
		k.APIMissing = true
	default:
		k.Problems = []problem{{Namespace: k.Namespace, Reason: ready.Reason, Message: report.Text(ready.Message, report.MaxProblem)}}
	}
}

const outdatedMessage = "the operator cannot write the status of the SnapshotSchedule, which is therefore outdated; " +
	"the SnapshotSchedule may be too large, or somebody keeps changing it; the operator's log says why"

// deletingMessage says what a child waits for that is being deleted.
func deletingMessage(child *schedule) string {
	text := "the SnapshotSchedule is being deleted: until it is gone and created again, no snapshot is taken and none expires"
	if len(child.Finalizers) > 0 {
		text += fmt.Sprintf("; it waits for its finalizers %q", child.Finalizers)
	}
	return text
}

// combined is what the namespaces add up to.
type combined struct {
	Children        v1alpha1.ScheduleCount
	Detached        int32
	Claims, Skipped int32
	Snapshots       v1alpha1.OutputCount
	// Groups is nil if no child takes group snapshots or has any.
	Groups          *v1alpha1.OutputCount
	RecoveryPoint   time.Time
	NoneReady       bool
	OldestNamespace string
	// APIMissing and Failing count namespaces.
	APIMissing, Failing int32
	// Uncounted counts children whose numbers are not known.
	Uncounted   int32
	Protections protections
	// Problems are the worst; MoreProblems counts the others.
	Problems     []problem
	MoreProblems int32
}

// combine adds up the namespaces.
func combine(keys []any) combined {
	var c combined
	for _, key := range keys {
		c.add(key.(*keyStatus))
	}
	slices.SortFunc(c.Problems, problem.compare)
	if more := len(c.Problems) - report.MaxProblems; more > 0 {
		c.Problems, c.MoreProblems = c.Problems[:report.MaxProblems], count(more)
	}
	return c
}

func (c *combined) add(k *keyStatus) {
	c.Children.Total += one(k.Exists)
	c.Children.Updated += one(k.Updated)
	c.Children.Ready += one(k.Ready)
	c.Detached += one(k.Exists && k.Detached)
	c.APIMissing += one(k.APIMissing)
	c.Uncounted += one(k.Uncounted)
	c.Failing += one(len(k.Problems) > 0)
	c.Claims += k.Claims
	c.Skipped += k.Skipped
	c.Snapshots = plus(c.Snapshots, k.Snapshots)
	if k.Groups != nil {
		sum := plus(ptr.Deref(c.Groups, v1alpha1.OutputCount{}), *k.Groups)
		c.Groups = &sum
	}
	c.NoneReady = c.NoneReady || k.NoneReady || !k.Detached && (!k.Exists || k.Uncounted) // what is not known may be none
	c.Protections.add(k)
	c.Problems = append(c.Problems, k.Problems...)
	// The keys are in no order: of equal times, the first name counts.
	if k.RecoveryPoint.IsZero() {
		return
	}
	if c.OldestNamespace == "" || cmp.Or(k.RecoveryPoint.Compare(c.RecoveryPoint), strings.Compare(k.Namespace, c.OldestNamespace)) < 0 {
		c.RecoveryPoint, c.OldestNamespace = k.RecoveryPoint, k.Namespace
	}
}

func plus(a, b v1alpha1.OutputCount) v1alpha1.OutputCount {
	return v1alpha1.OutputCount{Total: a.Total + b.Total, Ready: a.Ready + b.Ready, Terminating: a.Terminating + b.Terminating}
}

func one(counts bool) int32 {
	if counts {
		return 1
	}
	return 0
}

// count converts a number of objects to the API's type.
func count(n int) int32 {
	return int32(n) //nolint:gosec // etcd holds far fewer than 2^31 objects
}
