// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Drills take up to an hour each. One alone needs no sum.
//
// Contract: CLI-41.
func TestVerifySaysHowManyDrillsHaveEnded(t *testing.T) {
	for n, want := range map[int]string{
		1: "",
		3: "Starting 3 drills, 1 at a time\n1 of 3 drills have ended\n2 of 3 drills have ended\n3 of 3 drills have ended\n",
	} {
		var out, errOut bytes.Buffer
		refuses := fake.NewClientBuilder().WithScheme(term.Scheme).WithInterceptorFuncs(interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return errors.New("quota")
			},
		}).Build()
		r := &verification{
			f: &term.Factory{Client: refuses, IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}}, parallel: 1,
		}
		var drills []*drill
		for range n {
			drills = append(drills, &drill{of: r, snapshot: &snapshotv1.VolumeSnapshot{}, job: &batchv1.Job{}})
		}
		if err := r.drill(t.Context(), drills); !errors.Is(err, term.ErrInconclusive) || errOut.String() != want {
			t.Errorf("%d drills: %v, %q", n, err, errOut.String())
		}
	}
}

// Contract: CLI-41.
func TestVerifyNamesAllMissingPermissionsAtOnce(t *testing.T) {
	asked := fake.NewClientBuilder().WithScheme(term.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			review := o.(*authorizationv1.SelfSubjectAccessReview)
			review.Status.Allowed = strings.Contains("get list", review.Spec.ResourceAttributes.Verb)
			return nil
		},
	}).Build()
	for dryRun, want := range map[term.DryRun]string{
		term.DryRunClient: "",
		term.DryRunNone: "verify needs permissions that you do not have:\nkubectl auth can-i create jobs.batch -n shop\n" +
			"kubectl auth can-i delete jobs.batch -n shop\nkubectl auth can-i patch volumesnapshots.snapshot.storage.k8s.io -n shop",
	} {
		f := &term.Factory{Client: asked, Namespace: "shop", DryRun: dryRun}
		cmd := New(f)
		f.DryRun = dryRun // which the flag has reset
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.Need(cmd.Context(), "verify") }
		f.NameRights(cmd)
		cmd.SetArgs([]string{"--pvc", "data"})
		if err := cmd.ExecuteContext(t.Context()); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v", dryRun, err)
		}
	}
}
