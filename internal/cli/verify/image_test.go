// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Contract: VER-9.
func TestImageOfADrill(t *testing.T) {
	named := map[string]string{"app.kubernetes.io/name": "snapshotschedule"}
	operator := func(namespace, name, image string) client.Object {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: named}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "proxy", Image: "proxy:1"}, {Name: "manager", Image: image}}
		return d
	}
	elsewhere := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "any", Labels: named}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "backup-manager-role"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "backup", Name: "any"}},
	}
	const documented = "snapshotschedule-system"
	for name, tc := range map[string]struct {
		objects []client.Object
		refused error
		want    string
		wantErr string
	}{
		"the operator's":                 {objects: []client.Object{operator(documented, "manager", "example.com/op:v1")}, want: "example.com/op:v1"},
		"in the namespace of its rights": {objects: []client.Object{elsewhere, operator("backup", "manager", "example.com/op:v2")}, want: "example.com/op:v2"},
		"a tenant's Deployment":          {objects: []client.Object{operator("shop", "manager", "evil")}, wantErr: "name the operator's image with --image"},
		"several": {
			objects: []client.Object{operator(documented, "a", "example.com/op:v1"), operator(documented, "b", "example.com/op:v2")},
			wantErr: "choose one with --image: example.com/op:v1, example.com/op:v2",
		},
		"two replicas of one": {objects: []client.Object{operator(documented, "a", "op:v1"), operator(documented, "b", "op:v1")}, want: "op:v1"},
		"it may not be read": {
			objects: []client.Object{operator(documented, "a", "op:v1")}, wantErr: "a development build",
			refused: apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "", errors.New("no role")),
		},
		"the API server fails": {refused: errors.New("internal error"), wantErr: "internal error"},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(tc.objects...).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, all client.ObjectList, opts ...client.ListOption) error {
					if _, is := all.(*appsv1.DeploymentList); is && tc.refused != nil {
						return tc.refused
					}
					return c.List(ctx, all, opts...)
				},
			}).Build()
			got, err := Image(t.Context(), (&term.Factory{Client: c}))
			if got != tc.want || (err != nil) != (tc.wantErr != "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
