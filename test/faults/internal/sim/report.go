// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
)

const (
	// mostReported limits the violations that are printed: later ones mostly follow from the first.
	mostReported = 3
	// mostChanges limits the changes that are printed before a violation.
	mostChanges = 25
)

// String describes the violations, the changes and requests before them, and how to repeat the run.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d violations. Repeat: SEED=%d go test ./test/faults/internal/sim -run TestSeed -v\n",
		r.Seed, len(r.Violations), r.Seed)
	for i, v := range r.Violations {
		if i == mostReported {
			fmt.Fprintf(&b, "and %d more\n", len(r.Violations)-mostReported)
			break
		}
		fmt.Fprintf(&b, "%s, day %.1f: %s\n", v.Oracle, v.At.Sub(startTime).Hours()/24, v.Message)
		r.writeChanges(&b, v)
	}
	return b.String()
}

// writeChanges writes the changes before a violation that concern the same series, who made them, and the last requests.
func (r Result) writeChanges(b *strings.Builder, v oracle.Violation) {
	if v.Change < 0 {
		return
	}
	about := subject(&r.History.Changes[v.Change])
	var lines []string
	for i := v.Change; i >= 0 && len(lines) < mostChanges; i-- {
		c := &r.History.Changes[i]
		if !related(about, subject(c)) {
			continue
		}
		lines = append(lines, fmt.Sprintf("    %s %-9s %s %s\n",
			c.At.Format("01-02 15:04:05.000"), r.author(c), subject(c).GetName(), describe(c.After)))
	}
	for _, line := range slices.Backward(lines) {
		b.WriteString(line)
	}
	if v.Request >= 0 {
		for i := max(0, v.Request-8); i <= v.Request; i++ {
			q := &r.History.Requests[i]
			fmt.Fprintf(b, "    %s process %d at its own %s: %s %s %s: answered %d, seen as %d\n",
				q.At.Format("01-02 15:04:05.000"), q.Process, q.Clock.Format("01-02 15:04:05"), q.Verb, q.Resource, q.Name, q.Code, q.Seen)
		}
	}
}

func subject(c *history.Change) client.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// related returns whether other is the same object, the PVC or the schedule of a snapshot, or a snapshot of the same series.
func related(about, other client.Object) bool {
	if about.GetUID() == other.GetUID() {
		return true
	}
	key := about.GetLabels()[v1alpha1.LabelMapKey]
	if key == "" {
		return false
	}
	if string(other.GetUID()) == key {
		return true
	}
	if ref := metav1.GetControllerOf(about); ref != nil && ref.UID == other.GetUID() {
		return true
	}
	return other.GetLabels()[v1alpha1.LabelMapKey] == key &&
		other.GetLabels()[v1alpha1.LabelSchedule] == about.GetLabels()[v1alpha1.LabelSchedule]
}

func (r Result) author(c *history.Change) string {
	if c.Request < 0 {
		return "other"
	}
	return fmt.Sprintf("process %d", r.History.Requests[c.Request].Process)
}

func describe(o client.Object) string {
	if o == nil {
		return "removed"
	}
	text := ""
	if o.GetDeletionTimestamp() != nil {
		text = "terminating "
	}
	switch o := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		status := ptr.Deref(o.Status, snapshotv1.VolumeSnapshotStatus{})
		text += fmt.Sprintf("created %s, ready %t, cut %v, in error %t, controlled %t, labels %v, annotations %v",
			o.CreationTimestamp.UTC().Format(time.RFC3339), ptr.Deref(status.ReadyToUse, false), status.CreationTime,
			status.Error != nil, metav1.GetControllerOf(o) != nil, o.Labels, o.Annotations)
	case *corev1.PersistentVolumeClaim:
		text += fmt.Sprintf("%s, labels %v, annotations %v", o.Status.Phase, o.Labels, o.Annotations)
	case *v1alpha1.SnapshotSchedule:
		text += fmt.Sprintf("generation %d, spec %+v, finalizers %v", o.Generation, o.Spec, o.Finalizers)
	}
	return text
}
