// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// After Ctrl-C the command's context has ended. The requests that remove what holds no data have a deadline of their own.
//
// Contract: BACK-4.
func TestAnInterruptedRollbackRemovesItsOwnUncutSafetySnapshotOnly(t *testing.T) {
	const id = "0123abcd"
	of := func(name string, labels map[string]string, status *snapshotv1.VolumeSnapshotStatus) *snapshotv1.VolumeSnapshot {
		v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}, Status: status}
		v.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
		return v
	}
	mine, cut := map[string]string{v1alpha1.LabelRollback: id}, ptr.To(metav1.NewTime(clitest.Start))
	terminating := of("terminating", mine, nil)
	terminating.Finalizers, terminating.DeletionTimestamp = []string{"a/b"}, cut
	elsewhere := of("elsewhere", mine, nil)
	elsewhere.Namespace = "other"
	all := []client.Object{
		of("uncut", mine, nil), of("refused", mine, &snapshotv1.VolumeSnapshotStatus{Error: &snapshotv1.VolumeSnapshotError{}}),
		of("cut", mine, &snapshotv1.VolumeSnapshotStatus{CreationTime: cut}), of("ready", mine, clitest.Snapshot(clitest.Schedule("s", v1alpha1.SnapshotScheduleSpec{}), clitest.Claim("data", nil), clitest.Start).Status),
		of("of-another-rollback", map[string]string{v1alpha1.LabelRollback: "4d3c2b01"}, nil),
		of("of-a-schedule", map[string]string{v1alpha1.LabelRollback: id, v1alpha1.LabelMapKey: "uid"}, nil),
		of("unlabeled", nil, nil), terminating, elsewhere,
	}
	for name, tc := range map[string]struct {
		goesOn string
		err    error
		want   []string
	}{
		"nothing was done":   {"", context.Canceled, nil},
		"it was interrupted": {id, context.Canceled, []string{"refused", "uncut"}},
		"it has failed":      {id, io.EOF, []string{"refused", "uncut"}},
		"it ended elsewhere": {id, core.ErrEnded, []string{"refused", "uncut"}},
	} {
		t.Run(name, func(t *testing.T) {
			deleted, bounded := []string(nil), true
			within := func(ctx context.Context) error {
				end, has := ctx.Deadline()
				bounded = bounded && has && time.Until(end) <= 5*time.Second
				return ctx.Err()
			}
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(all...).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					return errors.Join(within(ctx), c.List(ctx, list, opts...))
				},
				Delete: func(ctx context.Context, _ client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					options := (&client.DeleteOptions{}).ApplyOptions(opts)
					if p := options.Preconditions; p == nil || p.UID == nil || p.ResourceVersion == nil || *p.ResourceVersion != o.GetResourceVersion() {
						return fmt.Errorf("%s is deleted as whatever it is by then", o.GetName())
					}
					deleted = append(deleted, o.GetNamespace()+"/"+o.GetName())
					return within(ctx)
				},
			}).Build()
			r := &rollbackRun{f: &term.Factory{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Namespace: "shop", Client: c}, goesOn: tc.goesOn}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := r.Unfinished(ctx, &core.State{}, tc.err)
			slices.Sort(deleted)
			var want []string
			for _, name := range tc.want {
				want = append(want, "shop/"+name)
			}
			if !slices.Equal(deleted, want) || !bounded {
				t.Errorf("deleted %v, want %v; within 5 s: %t", deleted, want, bounded)
			}
			if !errors.Is(err, tc.err) || strings.Contains(err.Error(), "delete") {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
