// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// tenants are the workloads in which a tenant works against a ClusterSnapshotSchedule.
var tenants = []Workload{
	{
		// A child without owner and labels is not put back, so that its delay alone keeps the snapshots.
		Name: "fleet-taken-over",
		What: "with one edit of the child, a tenant takes off its owner and labels, shortens interval and TTL, removes the delay and " +
			"confirms that: nothing is taken, and nothing deleted before the delay has passed",
		Fleet:   true,
		Broken:  "*", // the name of the child stays taken, which is tried again
		Prepare: withChild(suspendedTemplate("30d"), twoExpiring...),
		Steps: []Step{when(all(childSettled(suspended), recorded(1)), "take the child over", patch(theChild,
			`{"metadata":{"annotations":{%q:"2"},"ownerReferences":null,"labels":null},`+
				`"spec":{"suspend":false,"snapshotInterval":"1s","snapshotTTL":"1d","retention":{"editDelay":null}}}`,
			v1alpha1.AnnotationConfirmGeneration))},
		End: all(keepsTwoExpiring, recorded(2), pausedFor(v1alpha1.ReasonSpecChanged), fleetSettled(v1alpha1.ReasonSchedulesFailing, 1, 0, 0)),
	},
	{
		Name: "fleet-creates-again",
		What: "a confirmed ClusterSnapshotSchedule selects a namespace in which an earlier child of its name left expired snapshots; the " +
			"new child adopts them, and deletes none in its first hour",
		Fleet: true,
		Prepare: inOrder(givenFleet(spec{Suspend: true, SnapshotTTL: "1d", DeletionPolicy: v1alpha1.DeletionDelete}), confirm(theFleet, "1"),
			withoutSchedule(claim("data-0", orphan(72*hour), orphan(48*hour), orphan(hour)), claim("data-1", orphan(72*hour), orphan(hour)))),
		Steps: []Step{when(selectsNone, "select the namespace", selectNamespace)},
		End:   all(keepsTwoExpiring, recorded(1), pausedFor(v1alpha1.ReasonSnapshotsAdopted), selectsOne),
	},
	{
		// The operator may see the end of the confirmation later than that of the hold.
		Name:    "fleet-taken-back",
		What:    "a ClusterSnapshotSchedule's confirmation is taken back, and then the hold of an expired snapshot: it is kept for the delay",
		Fleet:   true,
		Prepare: inOrder(withChild(suspendedTemplate("1d"), claim("data-0", held(72*hour), ready(hour))), confirm(theFleet, "1")),
		Steps: []Step{
			when(all(childSettled(suspended), recorded(1), selectsOne), "take the confirmation back",
				annotate(theFleet, v1alpha1.AnnotationConfirmGeneration, nil)),
			then("remove the hold", unhold("data-0-old-0")),
		},
		End: all(keeps("data-0", 0, 1), pausedFor(v1alpha1.ReasonSpecChanged), selectsOne),
	},
	{
		// A child that is being deleted takes no snapshots.
		Name: "fleet-child-hangs",
		What: "a tenant deletes the child, which hangs with a finalizer of theirs: the ClusterSnapshotSchedule is not Ready until it is " +
			"gone, and makes a new one",
		Fleet:   true,
		Prepare: withChild(orphaningTemplate, claim("data-0", orphan(7*hour), orphan(30*minute))),
		Steps: []Step{
			when(all(childSettled(suspended), selectsOne), "add a finalizer",
				patch(theChild, `{"metadata":{"finalizers":["tenant.example.com/mine"]}}`)),
			then("delete the child", remove(theChild)),
			when(fleetSettled(v1alpha1.ReasonSchedulesFailing, 1, 1, 0), "remove the finalizer",
				patch(theChild, `{"metadata":{"finalizers":null}}`)),
		},
		End: all(childSettled(suspended), hasReady(2, "data-0"), selectsOne),
	},
}

func suspendedTemplate(ttl v1alpha1.Duration) spec {
	sp := delayedTemplate(ttl)
	sp.Suspend = true
	return sp
}
