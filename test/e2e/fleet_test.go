// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

type fleet = v1alpha1.ClusterSnapshotSchedule

// newFleet creates a ClusterSnapshotSchedule that selects the namespaces with the label backup=<its name>.
func newFleet(ctx context.Context, spec v1alpha1.SnapshotScheduleSpec) *fleet {
	GinkgoHelper()
	f := &fleet{ObjectMeta: metav1.ObjectMeta{Name: "gold-" + string(uuid.NewUUID())}}
	f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": v1alpha1.LabelValue(f.Name)}
	f.Spec.Template.Spec = spec
	return create(ctx, f)
}

// fleetNamespace creates a namespace with PVCs that a ClusterSnapshotSchedule selects, and waits for its child there, observed
// by the operator, and for a snapshot of each PVC.
func fleetNamespace(ctx context.Context, f *fleet, claims int) (*corev1.Namespace, *v1alpha1.SnapshotSchedule) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{GenerateName: "fleet-", Labels: map[string]string{"backup": f.Name}}
	namespace := create(ctx, &corev1.Namespace{ObjectMeta: meta})
	cluster.BoundClaims(ctx, namespace.Name, claims)
	eventuallySnapshots(ctx, namespace.Name, claims)
	return namespace, eventuallyChild(ctx, f, namespace.Name, false)
}

// eventuallyChild waits for the child with a value of spec.suspend, observed by the operator.
func eventuallyChild(ctx context.Context, f *fleet, namespace string, suspended bool) *v1alpha1.SnapshotSchedule {
	GinkgoHelper()
	child := builders.Schedule(namespace, f.Name, v1alpha1.SnapshotScheduleSpec{})
	Eventually(func(g Gomega) {
		g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
		g.Expect(child.Spec.Suspend).To(Equal(suspended))
		g.Expect(child.Status.ObservedGeneration).To(Equal(child.Generation))
	}).WithContext(ctx).Should(Succeed(), "the child should have suspend %t", suspended)
	return child
}

var _ = Describe("a ClusterSnapshotSchedule", Ordered, func() {
	BeforeAll(func(ctx context.Context) { cluster.Start(ctx, "--status-interval=500ms") })

	// Contract: FLEET-2, FLEET-4.
	It("undoes an edit of its SnapshotSchedule, and suspends it while its namespace is relabeled", func(ctx context.Context) {
		f := newFleet(ctx, hourly)
		namespace, child := fleetNamespace(ctx, f, 1)
		Eventually(fresh(ctx, f)).WithContext(ctx).Should(And(beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.VolumeSnapshots", HaveValue(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1})))))
		merge(ctx, child, `{"spec":{"suspend":true,"retention":{"maxCount":1}}}`)
		Eventually(fresh(ctx, child)).WithContext(ctx).Should(HaveField("Spec", get(ctx, f).Spec.Template.Spec))
		merge(ctx, namespace, `{"metadata":{"labels":{"backup":null}}}`)
		eventuallyChild(ctx, f, namespace.Name, true)
		merge(ctx, namespace, `{"metadata":{"labels":{"backup":%q}}}`, f.Name)
		eventuallyChild(ctx, f, namespace.Name, false)
		eventuallySnapshots(ctx, namespace.Name, 1)
	})

	// Contract: FLEET-4.
	It("deletes the SnapshotSchedule of a namespace that it no longer selects once there are no snapshots of it", func(ctx context.Context) {
		namespace, child := fleetNamespace(ctx, newFleet(ctx, orphaning), 0)
		merge(ctx, namespace, `{"metadata":{"annotations":{%q:""}}}`, v1alpha1.AnnotationExclude)
		eventuallyGone(ctx, child)
	})

	DescribeTable("with deletionPolicy Delete, is deleted with its SnapshotSchedules and their snapshots, by the garbage collector alone",
		func(ctx context.Context, cascade string) {
			start := cluster.Mark()
			f := newFleet(ctx, hourly)
			namespace, child := fleetNamespace(ctx, f, 2)
			kubectl("delete", "csnapsched", f.Name, "--cascade="+cascade)
			eventuallyGone(ctx, child)
			eventuallyNoSnapshots(ctx, namespace.Name)
			ours := cluster.Since(start).In(namespace.Name)
			Expect(ours.Of("volumesnapshots", "delete", "patch", "update")).To(BeEmpty())
			Expect(ours.Where(func(r audit.Request) bool { return r.Verb == "delete" })).To(BeEmpty())
		},
		// Contract: FLEET-4, OWN-5.
		Entry("in the background", "background"),
		// Contract: FLEET-4, OWN-5.
		Entry("in the foreground", "foreground"),
	)

	// Contract: FLEET-3, OWN-6.
	It("with deletionPolicy Orphan, leaves the snapshots to one that is created again under its name", func(ctx context.Context) {
		f := newFleet(ctx, orphaning)
		object, child := fleetNamespace(ctx, f, 2)
		namespace := object.Name
		before := cluster.Snapshots(ctx, namespace)
		kubectl("delete", "csnapsched", f.Name, "--cascade=foreground")
		eventuallyGone(ctx, child)
		Expect(owners(ctx, namespace)()).To(HaveEach(BeEmpty()))
		nextSecond(ctx) // slots count from a schedule's creation, in seconds: each PVC gets a new snapshot
		again := create(ctx, &fleet{ObjectMeta: metav1.ObjectMeta{Name: f.Name}, Spec: f.Spec})
		Expect(names(eventuallySnapshots(ctx, namespace, 4))).To(ContainElements(names(before)))
		Eventually(fresh(ctx, eventuallyChild(ctx, again, namespace, false))).WithContext(ctx).
			Should(HaveField("Status.Outputs.VolumeSnapshots", v1alpha1.OutputCount{Total: 4, Ready: 4}))
	})
})
