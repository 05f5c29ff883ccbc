// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Users may change the class that their VolumeSnapshot names, but not the one that its content was cut with.
//
// Contract: DOC-6.
func TestWhoseProofACopyTrusts(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat))
	}))
	t.Cleanup(server.Close)
	const known, unknown = "2026-11-28T00:00:00Z 1.53.0 copies=yes", "2026-11-28T00:00:00Z unknown copies=yes"
	for name, tc := range map[string]struct {
		says, cutWith, driver string
		version               string // of the CSIDriver that is installed
		denied                bool
		want                  bool
	}{
		"its own class":                        {says: known, cutWith: "proven", driver: "d", version: "1.53.0", want: true},
		"a class that it was not cut with":     {says: known, cutWith: "other", driver: "d", version: "1.53.0"},
		"no class":                             {says: known, driver: "d", version: "1.53.0"},
		"a class of another driver":            {says: known, cutWith: "proven", driver: "e", version: "1.53.0"},
		"another version":                      {says: known, cutWith: "proven", driver: "d", version: "1.60.0"},
		"a version that the user may not read": {says: known, cutWith: "proven", driver: "d", version: "1.53.0", denied: true},
		"no version, which nobody can read":    {says: unknown, cutWith: "proven", driver: "d", denied: true, want: true},
		"a proof of the future":                {says: "2026-11-30T00:00:00Z 1.53.0 copies=yes", cutWith: "proven", driver: "d", version: "1.53.0"},
		"a copy that was lost":                 {says: "2026-11-28T00:00:00Z 1.53.0 copies=no", cutWith: "proven", driver: "d", version: "1.53.0"},
		"no proof":                             {cutWith: "proven", driver: "d", version: "1.53.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", t.TempDir()+"/none")
			installed := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{
				Name: "d", Labels: map[string]string{"app.kubernetes.io/version": tc.version},
			}}
			get := func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if tc.denied {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "csidrivers"}, key.Name, nil)
				}
				return c.Get(ctx, key, o, opts...)
			}
			f := &term.Factory{
				Clock: clock.RealClock{}, Config: genericclioptions.NewConfigFlags(true),
				Client: fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(installed).
					WithInterceptorFuncs(interceptor.Funcs{Get: get}).Build(),
			}
			f.Config.APIServer = &server.URL
			of := recovery.Source{
				Class:   &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "proven"}, Driver: "d"},
				Content: &snapshotv1.VolumeSnapshotContent{Spec: snapshotv1.VolumeSnapshotContentSpec{Driver: tc.driver}},
			}
			of.Class.Annotations = map[string]string{v1alpha1.AnnotationProven: tc.says}
			if tc.cutWith != "" {
				of.Content.Spec.VolumeSnapshotClassName = &tc.cutWith
			}
			if got, err := (&restoration{f: f}).proven(t.Context(), of); err != nil || got != tc.want {
				t.Errorf("%t, %v, want %t", got, err, tc.want)
			}
		})
	}
}
