// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// A drill reads its volume's PVC, and one that the storage did not restore is compared with others.
//
// Contract: CLI-57.
func TestVerifyNeedsWhatItsDrillsRead(t *testing.T) {
	f := &term.Factory{Namespace: "shop"}
	for line, want := range map[string]bool{"a": true, "--dry-run=none a -- true": true, "--dry-run a": false} {
		cmd := New(f)
		var all []authorizationv1.ResourceAttributes
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			all = f.RightsOf(cmd, args)
			return nil
		}
		cmd.SetArgs(strings.Fields(line))
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		for _, need := range slices.Concat(term.Rights("shop", "persistentvolumeclaims", "get"), term.Rights("shop", "volumesnapshots", "list")) {
			if slices.Contains(all, need) != want {
				t.Errorf("verify %s: %s %s", line, need.Verb, need.Resource)
			}
		}
		if slices.ContainsFunc(all, func(r authorizationv1.ResourceAttributes) bool { return r.Resource == "storageclasses" }) {
			t.Errorf("verify %s may need one StorageClass, or none", line)
		}
	}
}

// A role may be of one StorageClass only.
func TestVerifyReadsOneStorageClassOrIsToldToDoWithout(t *testing.T) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "a.csi"}
	c := fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(class).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if key.Name == "denied" {
				return apierrors.NewForbidden(schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}, key.Name, nil)
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	for _, tc := range []struct {
		name        string
		allowRetain bool
		want        string
		fails       bool
	}{{"fast", false, "a.csi", false}, {"denied", false, "", true}, {"denied", true, "", false}, {"gone", false, "", true}, {"gone", true, "", false}} {
		r := &verification{f: &term.Factory{Client: c}, allowRetain: tc.allowRetain}
		got, err := r.checkReclaim(t.Context(), tc.name)
		if got != tc.want || (err != nil) != tc.fails || err != nil && !strings.Contains(err.Error(), "use --allow-retain") {
			t.Errorf("%+v: %q, %v", tc, got, err)
		}
		if tc.fails && apierrors.IsForbidden(err) != (tc.name == "denied") { // which names the permissions that are missing, too
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
