// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Somebody has uninstalled the application after it was scaled to 0.
//
// Contract: BACK-3.
func TestAWorkloadThatIsGoneStopsNoRollbackOfItsPVCs(t *testing.T) {
	for name, tc := range map[string]struct {
		workload, claim, wantErr, wantOut string
	}{
		"its PVC is named":       {"", "data-db-0", "", "statefulset/db no longer exists: nothing is scaled"},
		"the workload is named":  {"statefulset/db", "", "statefulset/db does not exist in namespace shop", ""},
		"another PVC is named":   {"", "other", "", ""},
		"the name has no prefix": {"db", "", "db does not exist in namespace shop", ""},
	} {
		t.Run(name, func(t *testing.T) {
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1", UID: "pv-1", Annotations: map[string]string{
				v1alpha1.AnnotationRollbackPrefix + "0123abcd": `{"claim":{"metadata":{"namespace":"shop","name":"data-db-0","uid":"old"}},
					"snapshot":"v","volume":"pv-0","volumeUID":"pv-0","workload":"statefulset/db"}`,
			}}}
			s := &core.State{Namespace: "shop", Volumes: map[string]*corev1.PersistentVolume{"pv-1": volume}}
			if err := s.ReadRecords(); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			r := &rollbackRun{f: &term.Factory{
				IOStreams: genericiooptions.IOStreams{Out: &out}, Namespace: "shop",
				Client: fake.NewClientBuilder().WithScheme(term.NewScheme()).Build(),
			}, workloadName: tc.workload, printed: steps.Printed{}}
			if tc.claim != "" {
				r.claims = []string{tc.claim}
			}
			err := r.readWorkload(t.Context(), s)
			if (err != nil) != (tc.wantErr != "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got %v, want %q", err, tc.wantErr)
			}
			if got := strings.TrimSpace(out.String()); got != tc.wantOut {
				t.Errorf("printed %q, want %q", got, tc.wantOut)
			}
			if s.Workload != nil {
				t.Error("there is a workload")
			}
		})
	}
}
