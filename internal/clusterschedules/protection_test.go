// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// Contract: PROT-4.
func TestProtectionOfANamespace(t *testing.T) {
	says := func(s *schedule) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionProtected, Reason: "Said", Message: "by the child"})
	}
	unknown, said := protection{Reason: v1alpha1.ReasonReconciling}, protection{Reason: "Said", Message: "by the child"}
	for name, test := range map[string]struct {
		child    *schedule
		detached bool
		outdated bool
		want     protection
	}{
		"as its child says":     {child: child(says), want: said},
		"a child that is new":   {child: child(), want: unknown},
		"no child":              {want: unknown},
		"a child being deleted": {child: child(says, deleting()), want: unknown},
		"an outdated status":    {child: child(says), outdated: true, want: unknown},
		"an orphan":             {child: child(says, func(s *schedule) { s.OwnerReferences = nil }), want: unknown},
		"no longer selected":    {child: child(says), detached: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &program{fleet: gold(), unwritten: &mapcontroller.Unwritten{}}
			if test.outdated {
				p.unwritten = outdated()
			}
			if got := p.statusOf("shop", p.newChild("shop"), test.child, test.detached).Protection; got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// Contract: PROT-4.
func TestProtected(t *testing.T) {
	key := func(namespace, reason string, hours int) *keyStatus {
		return &keyStatus{Namespace: namespace, RecoveryPoint: now.Add(-time.Duration(hours) * time.Hour), Protection: protection{reason, "its message"}}
	}
	failed := &keyStatus{
		Namespace: "denied", Protection: protection{Reason: v1alpha1.ReasonReconciling},
		Problems: []problem{{"denied", v1alpha1.ReasonCreateFailed, "exceeded quota"}},
	}
	current, pending := key("a", v1alpha1.ReasonRecoveryPointsCurrent, 1), key("b", v1alpha1.ReasonFirstSnapshotsPending, 1)
	unknown, detached := key("new", v1alpha1.ReasonReconciling, 0), &keyStatus{Namespace: "left", Detached: true}
	invalid, missing := key("i", v1alpha1.ReasonInvalidSpec, 0), key("m", v1alpha1.ReasonSnapshotAPIMissing, 0)
	for name, test := range map[string]struct {
		keys []*keyStatus
		want string
	}{
		"none selected": {[]*keyStatus{detached},
			"Unknown NoMatchingClaims 3: no selected namespace has a PersistentVolumeClaim that can be snapshotted now"},
		"nothing to protect": {[]*keyStatus{key("a", v1alpha1.ReasonNoMatchingClaims, 0)},
			"Unknown NoMatchingClaims 3: no selected namespace has a PersistentVolumeClaim that can be snapshotted now"},
		"all current": {[]*keyStatus{current, current, detached}, "True RecoveryPointsCurrent 3: 2 namespaces protected"},
		"some pending": {[]*keyStatus{current, pending, unknown},
			"True RecoveryPointsCurrent 3: 1 namespace protected; the first snapshots of 2 more are pending"},
		"all pending": {[]*keyStatus{pending, unknown}, "Unknown FirstSnapshotsPending 3: the first snapshots of 2 namespaces are pending"},
		"no snapshot can be taken in one": {[]*keyStatus{current, key("z", v1alpha1.ReasonNotSnapshottable, 0), key("y", v1alpha1.ReasonNotSnapshottable, 0)},
			"False NotSnapshottable 3: 2 namespaces not protected; the first is y: its message"},
		"no snapshot can be taken in one, and one is old": {
			[]*keyStatus{key("z", v1alpha1.ReasonNotSnapshottable, 0), key("y", v1alpha1.ReasonRecoveryPointsOld, 3)},
			"False RecoveryPointsOld 3: 1 namespace not protected; the worst is y: its message"},
		"one invalid": {[]*keyStatus{current, invalid}, "Unknown InvalidSpec 3: 1 namespace with an invalid SnapshotSchedule"},
		"API missing": {[]*keyStatus{current, invalid, missing}, "Unknown SnapshotAPIMissing 3: " + apiMissingMessage},
		"some old": {[]*keyStatus{current, missing, key("z", v1alpha1.ReasonRecoveryPointsOld, 2), key("y", v1alpha1.ReasonRecoveryPointsOld, 3)},
			"False RecoveryPointsOld 3: 2 namespaces not protected; the worst is y: its message"},
		"its child could not be created": {[]*keyStatus{current, failed, key("y", v1alpha1.ReasonRecoveryPointsOld, 3)},
			"False RecoveryPointsOld 3: 2 namespaces not protected; the worst is denied: not known; CreateFailed: exceeded quota"},
	} {
		t.Run(name, func(t *testing.T) {
			f := gold()
			setStatus(now, f, summary(len(test.keys), test.keys...))
			if got := condition(f, v1alpha1.ConditionProtected); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	f := gold()
	setStatus(now, f, mapcontroller.Summary{Missing: []string{"VolumeSnapshot"}})
	if c := meta.FindStatusCondition(f.Status.Conditions, v1alpha1.ConditionProtected); c == nil || c.Reason != v1alpha1.ReasonSnapshotAPIMissing {
		t.Errorf("without the kind, it is %+v", c)
	}
}
