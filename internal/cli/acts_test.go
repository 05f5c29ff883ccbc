// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// counting returns a client that writes nothing, and notes each request that asks it to.
func counting(objects ...client.Object) (c client.WithWatch, writes *[]string) {
	writes = &[]string{}
	note := func(verb string, o client.Object) error {
		*writes = append(*writes, fmt.Sprintf("%s %T %s", verb, o, o.GetName()))
		return nil
	}
	return fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			switch review := o.(type) {
			case *authorizationv1.SelfSubjectAccessReview:
				review.Status.Allowed = true
				return nil
			case *authenticationv1.SelfSubjectReview:
				review.Status.UserInfo.Username = "jane"
				return nil
			}
			return note("create", o)
		},
		Update: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.UpdateOption) error {
			return note("update", o)
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return note("patch", o)
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			*writes = append(*writes, "apply")
			return nil
		},
		Delete: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
			return note("delete", o)
		},
		DeleteAllOf: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteAllOfOption) error {
			return note("delete all", o)
		},
		SubResource: func(_ client.WithWatch, name string) client.SubResourceClient {
			*writes = append(*writes, name)
			return nil
		},
	}).Build(), writes
}

// toActOn is a schedule with a PVC and two snapshots of it, one of which is held, and a suspended schedule.
func toActOn() []client.Object {
	s, _ := clitest.GoldIn("default")
	claim := clitest.Claim("db-0", nil)
	paused := s.DeepCopy()
	paused.Name, paused.UID, paused.Spec.Suspend = "paused", "paused", true
	free := clitest.Snapshot(s, claim, clitest.Start.AddDate(0, 0, 29))
	held := clitest.Snapshot(s, claim, clitest.Start.AddDate(0, 0, 28))
	free.Name, held.Name = "free", "held"
	held.Annotations[v1alpha1.AnnotationHold] = "audit"
	free.Status.BoundVolumeSnapshotContentName = ptr.To("content")
	content := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: "content"}}
	content.Spec.VolumeSnapshotRef = corev1.ObjectReference{Namespace: "default", Name: free.Name, UID: free.UID}
	content.Status = &snapshotv1.VolumeSnapshotContentStatus{ReadyToUse: ptr.To(true), SnapshotHandle: ptr.To("handle")}
	free.Status.RestoreSize = ptr.To(resource.MustParse("1Gi"))
	objects := []client.Object{s, paused, claim, free, held}
	for _, o := range objects {
		o.SetNamespace("default")
	}
	return append(objects, content, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}})
}

// Contract: CLI-51.
func TestADryRunWritesNothing(t *testing.T) {
	for _, line := range []string{
		"snapshot gold", "snapshot --pvc db-0", "snapshot gold --hold 7d", "snapshot -l backup=gold", "confirm gold", "suspend gold",
		"resume paused", "hold free --reason audit", "hold --all --reason audit", "unhold held", "release free", "restore free --to copy --storage-class fast",
	} {
		for _, flag := range []string{"--dry-run", "--dry-run=client", ""} {
			if flag == "" && strings.Contains(line, "7d") {
				continue // it waits
			}
			c, writes := counting(toActOn()...)
			code, printed := runOn(t, c, strings.Fields(line+" "+flag)...)
			dry := strings.Contains(printed, "(dry run)")
			if flag != "" && (code != 0 || len(*writes) > 0 || !dry) {
				t.Errorf("%s %s writes %q: exit code %d: %s", line, flag, *writes, code, printed)
			}
			if flag == "" && (len(*writes) == 0 || dry) { // else the test shows nothing
				t.Errorf("%s writes nothing: exit code %d: %s", line, code, printed)
			}
		}
	}
}

// A shell's variable that is not set must not name everything.
//
// Contract: CLI-53.
func TestWhatIsEmptyDoesNotNameTheOnlySchedule(t *testing.T) {
	for _, args := range [][]string{
		{"snapshot", "--pvc", ""}, {"snapshot", ""}, {"snapshot", "-l", ""}, {"snapshot", "--cluster-schedule", ""}, {"snapshot", "gold", "--pvc", ""},
		{"snapshot", "snapsched/"}, {"snapshot", "--pvc", "pvc/"}, {"preview", ""}, {"preview", "-f", ""}, {"preview", "-f", ","},
		{"preview", "--delete", ""}, {"preview", "gold", "-f", ""}, {"rollback", "statefulset/db", "--pvc", "", "--as-of", "2h", "--dry-run"},
	} {
		c, writes := counting(toActOn()[0])
		if code, printed := runOn(t, c, args...); code != term.ExitError || len(*writes) > 0 || !strings.Contains(printed, "empty") && !strings.Contains(printed, "has no name") {
			t.Errorf("%q writes %q: exit code %d: %s", args, *writes, code, printed)
		}
	}
	for _, command := range []string{"snapshot", "preview"} {
		objects := toActOn()
		c, _ := counting(objects[0], objects[2])
		if code, printed := runOn(t, c, command); code != 0 {
			t.Errorf("%s of the only schedule: exit code %d: %s", command, code, printed)
		}
	}
}
