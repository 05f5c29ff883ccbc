// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Whatever a tenant writes into the spec of a child, the operator takes its snapshots by the template, and so does every command judge
// it: here, a PVC has no snapshot of the last ten days.
//
// Contract: FLEET-13.
func TestChildrenAreJudgedByTheTemplate(t *testing.T) {
	denied := func() interceptor.Funcs {
		refuse := func(o any) error {
			switch o.(type) {
			case *v1alpha1.ClusterSnapshotSchedule, *v1alpha1.ClusterSnapshotScheduleList:
				return apierrors.NewForbidden(schema.GroupResource{Resource: "clustersnapshotschedules"}, "", errors.New("no role"))
			}
			return nil
		}
		return interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				return errors.Join(refuse(o), c.Get(ctx, key, o, opts...))
			},
			List: func(ctx context.Context, c client.WithWatch, all client.ObjectList, opts ...client.ListOption) error {
				if err := refuse(all); err != nil {
					return err
				}
				return c.List(ctx, all, opts...)
			},
		}
	}
	const unknown = "judged by its own spec"
	for name, tc := range map[string]struct {
		args   []string
		denied bool
		want   string
	}{
		"coverage":                               {[]string{"coverage", "-n", "shop"}, false, "Stale"},
		"coverage of all namespaces":             {[]string{"coverage", "-A"}, false, "Stale"},
		"status":                                 {[]string{"status", "-n", "shop"}, false, "Not protected: 1"},
		"status of all namespaces":               {[]string{"status", "-A"}, false, "Not protected: 1"},
		"status of one":                          {[]string{"status", "gold", "-n", "shop"}, false, "Not protected: 1"},
		"coverage, the template may not be read": {[]string{"coverage", "-n", "shop"}, true, unknown},
		"status, of all, the template may not be read":  {[]string{"status", "-A"}, true, unknown},
		"status of one, the template may not be read":   {[]string{"status", "gold", "-n", "shop"}, true, unknown},
		"timeline of one, the template may not be read": {[]string{"timeline", "gold", "-n", "shop"}, true, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			fleet := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "gold", UID: "fleet-uid"}}
			fleet.Spec.Template.Spec.SnapshotInterval = "6h"
			var objects []client.Object
			for _, namespace := range []string{"shop", "bank"} {
				child := clitest.Schedule("gold", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "50y", Suspend: namespace == "bank"})
				child.Namespace = namespace
				child.Labels = map[string]string{v1alpha1.LabelClusterSchedule: "gold", v1alpha1.LabelMapKey: namespace}
				child.OwnerReferences = []metav1.OwnerReference{
					*metav1.NewControllerRef(fleet, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule")),
				}
				child.Status.Retention = &v1alpha1.RetentionRecord{Generation: 1, ClusterSchedule: "fleet-uid", SinceTime: metav1.NewTime(clitest.Start)}
				claim := clitest.Claim("db-0", nil)
				claim.Namespace = namespace
				objects = append(objects, child, claim, clitest.Snapshot(child, claim, clitest.Start.AddDate(0, 0, 20)),
					&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
			}
			b := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(append(objects, fleet)...)
			if tc.denied {
				b = b.WithInterceptorFuncs(denied())
			}
			_, printed := runOn(t, b.Build(), tc.args...)
			if !strings.Contains(printed, tc.want) {
				t.Errorf("%q is not in\n%s", tc.want, printed)
			}
			if n := strings.Count(printed, unknown); n > 1 {
				t.Errorf("said %d times:\n%s", n, printed)
			}
		})
	}
}
