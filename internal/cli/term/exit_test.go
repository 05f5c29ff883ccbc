// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Contract: CLI-54.
func TestErrors(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	const away = "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?"
	resource := schema.GroupResource{Group: v1alpha1.GroupName, Resource: "snapshotschedules"}
	for name, test := range map[string]struct {
		err     error
		code    int
		message string
	}{
		"success":                      {nil, 0, ""},
		"a finding":                    {fmt.Errorf("preview: %w", ErrFound), ExitFound, ""},
		"a finding, and an error":      {errors.Join(ErrFound, fmt.Errorf("read: %w", errors.New("a"))), ExitError, ""},
		"a failure, late":              {errors.Join(fmt.Errorf("%w after 1m", ErrTimeout), Failed(errors.New("a"))), ExitFound, "error: timed out after 1m\na"},
		"no failure, for lack of time": {Failed(fmt.Errorf("hold: %w", fmt.Errorf("%w after 1m", ErrTimeout))), ExitTimeout, "error: hold: timed out after 1m"},
		"a read that was cut off":      {Failed(context.DeadlineExceeded), ExitError, "error: context deadline exceeded"},
		"late":                         {fmt.Errorf("%w after 1m", ErrTimeout), ExitTimeout, "error: timed out after 1m"},
		"a usage error":                {errors.New("unknown flag: --x"), ExitError, "error: unknown flag: --x"},
		"an answer of the server": {fmt.Errorf("read: %w", apierrors.NewNotFound(resource, "nightly")), ExitError,
			`Error from server (NotFound): read: snapshotschedules.snapshots.mapcontroller.dev "nightly" not found`},
		"a server that is away":             {refused, ExitError, away},
		"it went away, and what to do then": {fmt.Errorf("%w\nThe rollback is unfinished", refused), ExitError, away + "\nThe rollback is unfinished"},
		"it went away during a step":        {fmt.Errorf("disable it: %w", refused), ExitError, "error: disable it: " + away},
		"it went away, after another error": {errors.Join(errors.New("a is not marked"), refused), ExitError, "error: a is not marked\n" + away},
		"a missing CRD of ours": {&meta.NoKindMatchError{GroupKind: v1alpha1.GroupVersion.WithKind("SnapshotSchedule").GroupKind()}, ExitError,
			"error: the server doesn't have the kind SnapshotSchedule.snapshots.mapcontroller.dev: " +
				"install the SnapshotSchedule operator and its CustomResourceDefinitions first"},
		"a missing CRD of CSI": {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}}, ExitError,
			"error: the server doesn't have the kind VolumeSnapshot.snapshot.storage.k8s.io: " +
				"install the CSI snapshot CustomResourceDefinitions and the snapshot controller first"},
	} {
		t.Run(name, func(t *testing.T) {
			message := ""
			if test.err != nil {
				message = MessageOf(test.err)
			}
			if code := ExitCode(test.err); code != test.code || message != test.message {
				t.Errorf("\nhave %d %q\nwant %d %q", code, message, test.code, test.message)
			}
		})
	}
}
