// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// fleetDeletion is a deletion of a ClusterSnapshotSchedule.
type fleetDeletion struct {
	deletion

	policy v1alpha1.DeletionPolicy
	// children is the status.
	children v1alpha1.ScheduleCount
}

func (d fleetDeletion) create() *v1alpha1.ClusterSnapshotSchedule {
	GinkgoHelper()
	f := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{GenerateName: "gold-"}}
	f.Spec.Template.Spec.SnapshotInterval, f.Spec.Template.Spec.DeletionPolicy = "6h", d.policy
	Expect(api.Create(ctx, f)).To(Succeed())
	if d.prepare != nil {
		d.prepare(f)
	}
	if observed := f.Generation - d.behind; observed > 0 {
		f.Status.ObservedGeneration, f.Status.Outputs.SnapshotSchedules = observed, d.children
		f.Status.Conditions = d.conditions()
		if d.snapshots >= 0 {
			f.Status.VolumeSnapshots = &v1alpha1.OutputCount{Total: d.snapshots}
		}
		if d.groups > 0 {
			f.Status.VolumeGroupSnapshots = &v1alpha1.OutputCount{Total: d.groups}
		}
		Expect(api.Status().Update(ctx, f)).To(Succeed())
	}
	return f
}

// fleetDeletions are the specs about who may delete a ClusterSnapshotSchedule.
func fleetDeletions() {
	const keep, lose = v1alpha1.DeletionOrphan, v1alpha1.DeletionDelete
	all, some := v1alpha1.ScheduleCount{Total: 2, Updated: 2}, v1alpha1.ScheduleCount{Total: 2, Updated: 1}
	DescribeTable("is refused where it would delete snapshots",
		func(d fleetDeletion) {
			f := d.create()
			expect(d.schedule, d.one(f, client.DryRunAll), f.Name)
			expect(d.schedule, d.collection(f), f.Name)
			Expect(as(garbageCollector).Delete(ctx, f)).To(Succeed(), "the garbage collector may")
		},
		Entry("with snapshots", fleetDeletion{deletion{snapshots: 1, schedule: refused}, lose, all}),
		Entry("with --cascade=foreground", fleetDeletion{
			deletion{propagation: metav1.DeletePropagationForeground, snapshots: 1, schedule: refused}, lose, all}),
		Entry("with --cascade=orphan", fleetDeletion{
			deletion{propagation: metav1.DeletePropagationOrphan, snapshots: 1, schedule: allowed}, lose, all}),
		Entry("with the annotation", fleetDeletion{deletion{prepare: annotate("true"), snapshots: 1, schedule: allowed}, lose, all}),
		Entry("with another value", fleetDeletion{deletion{prepare: annotate("yes"), snapshots: 1, schedule: refused}, lose, all}),
		Entry("with group snapshots alone", fleetDeletion{deletion{groups: 1, schedule: refused}, lose, all}),
		Entry("without snapshots", fleetDeletion{deletion{schedule: allowed}, lose, all}),
		Entry("without a count of the group snapshots that it takes", fleetDeletion{
			deletion{prepare: edit(`{"template":{"spec":{"group":{"byLabel":"app"}}}}`), schedule: refused}, lose, all}),
		Entry("without any child that takes group snapshots", fleetDeletion{
			deletion{prepare: edit(`{"template":{"spec":{"group":{"byLabel":"app"}}}}`), schedule: allowed}, lose, v1alpha1.ScheduleCount{}}),
		Entry("without snapshots, of a child that is not updated", fleetDeletion{deletion{schedule: refused}, lose, some}),
		Entry("without snapshots, not reconciled", fleetDeletion{
			deletion{ready: "Unknown " + v1alpha1.ReasonReconciling, schedule: refused}, lose, all}),
		Entry("without snapshots, Ready unknown", fleetDeletion{deletion{ready: "Unknown Scheduled", schedule: refused}, lose, all}),
		Entry("without snapshots, not reconciled by the reason alone", fleetDeletion{
			deletion{ready: "False " + v1alpha1.ReasonReconciling, schedule: refused}, lose, all}),
		Entry("without snapshots, without the condition Ready", fleetDeletion{deletion{ready: "-", schedule: refused}, lose, all}),
		Entry("without snapshots, of an earlier generation", fleetDeletion{
			deletion{prepare: edit(`{"template":{"spec":{"snapshotInterval":"12h"}}}`), behind: 1, schedule: refused}, lose, all}),
		Entry("without a sum of snapshots, because a child counts none", fleetDeletion{deletion{snapshots: -1, schedule: refused}, lose, all}),
		Entry("without snapshots, with a kind missing", fleetDeletion{
			deletion{ready: "False " + v1alpha1.ReasonSnapshotAPIMissing, schedule: refused}, lose, all}),
		Entry("with Orphan, every child updated", fleetDeletion{deletion{snapshots: 1, schedule: allowed}, keep, all}),
		Entry("with Orphan, one child not updated", fleetDeletion{deletion{snapshots: 1, schedule: refused}, keep, some}),
		Entry("with Orphan, not observed", fleetDeletion{deletion{behind: 1, schedule: refused}, keep, all}),
		Entry("with Orphan, without a child", fleetDeletion{deletion{schedule: allowed}, keep, v1alpha1.ScheduleCount{}}),
	)
}
