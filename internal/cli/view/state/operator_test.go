// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// No snapshot needs to be due: an operator that renews no lease is dead.
func TestReadOperatorSaysForHowLongTheLeaseIsNotRenewed(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{2 * time.Second: 0, 2 * time.Hour: 2 * time.Hour} {
		f := &term.Factory{}
		lease := testLease("pod", clitest.Start.Add(-age))
		lease.Namespace, lease.Name = view.DocumentedNamespace, snapshots.LeaseName
		f.Client = fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(lease).Build()
		o := ReadOperator(t.Context(), f, clitest.Start)
		if o.Silent != want || o.Leader != "pod" {
			t.Errorf("silent for %s, want %s", o.Silent, want)
		}
		if silent, command := OperatorSilence(o, nil); silent != want || want > 0 && command != "kubectl -n snapshotschedule-system get pods,lease" {
			t.Errorf("silent for %s: %q", silent, command)
		}
		f.Client = fake.NewClientBuilder().WithScheme(term.Scheme).Build()
		if o := ReadOperator(t.Context(), f, clitest.Start); o.Silent != 0 {
			t.Errorf("without a lease, it is silent for %s", o.Silent)
		}
	}
}

// A service mesh puts its container first.
func TestReadOperatorNamesTheImageOfTheManager(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: view.DocumentedNamespace, Name: "controller-manager", Labels: map[string]string{"app.kubernetes.io/name": snapshots.Name},
	}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "proxy", Image: "mesh:v1"}, {Name: "manager", Image: "snapshotschedule:v1"}}
	f := &term.Factory{}
	f.Client = fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(d).Build()
	if o := ReadOperator(t.Context(), f, clitest.Start); o.Image != "snapshotschedule:v1" || o.Namespace != view.DocumentedNamespace {
		t.Errorf("the operator is %q in %q", o.Image, o.Namespace)
	}
}
