// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Send sends a change, unless the command is tried out. What is to be deleted may be gone already.
func Send(ctx context.Context, f *term.Factory, c change.Change) error {
	if f.DryRun == term.DryRunClient {
		return nil
	}
	switch o := c.Delete; {
	case c.Create != nil:
		return write(ctx, f, c.Create, "created", func(to client.Writer) error { return to.Create(ctx, c.Create, term.FieldOwner) })
	case o != nil:
		uid, version := o.GetUID(), o.GetResourceVersion()
		return write(ctx, f, o, "deleted", func(to client.Writer) error {
			return client.IgnoreNotFound(to.Delete(ctx, o, client.Preconditions{UID: &uid, ResourceVersion: &version}))
		})
	}
	o := c.Object.DeepCopyObject().(client.Object) // which the answer changes
	return patch(ctx, f, o, c.Patch)
}

func patch(ctx context.Context, f *term.Factory, o client.Object, with []byte) error {
	return write(ctx, f, o, "changed", func(to client.Writer) error {
		return to.Patch(ctx, o, client.RawPatch(types.MergePatchType, with), term.FieldOwner)
	})
}

// UnansweredError is the error of a write that its command did not wait for any longer: it may have been carried out.
type UnansweredError struct{ error }

func (u UnansweredError) Unwrap() error { return u.error }

// write sends a write, unless the command has to end. One whose answer comes too late for it says what may have been done.
func write(ctx context.Context, f *term.Factory, o client.Object, done string, send func(to client.Writer) error) error {
	if late := context.Cause(ctx); late != nil {
		return late
	}
	err := send(writer(f))
	late := context.Cause(ctx)
	if err == nil || late == nil || refused(err) || f.DryRun.On() {
		return err
	}
	kind, _ := apiutil.GVKForObject(o, term.Scheme)
	what := strings.TrimSpace(kind.Kind + " " + o.GetName())
	//nolint:errorlint // as in Connected
	return UnansweredError{fmt.Errorf("%w: %v\n%s may have been %s: the answer has not come", late, err, what, done)}
}

// Update sends the merge patch that is decided for an object; none if it is nil. After a conflict it reads the object and has it
// decided again. It returns whether it sent one. The object is then what the API server has made of it, or would make.
func Update(ctx context.Context, f *term.Factory, o client.Object, decide func() ([]byte, error)) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch, err := decide()
		if err != nil || patch == nil {
			return err
		}
		answer, err := send(ctx, f, o, patch)
		changed = err == nil
		if apierrors.IsConflict(err) {
			answer = empty(o)
			if err := f.Client.Get(ctx, client.ObjectKeyFromObject(o), answer); err != nil {
				return err
			}
		}
		if answer != nil {
			reflect.ValueOf(o).Elem().Set(reflect.ValueOf(answer).Elem())
		}
		return err
	})
	return changed, err
}

// empty returns an empty object of a kind: decoding into the old one would keep labels that were removed.
func empty(o client.Object) client.Object {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
}

// send sends a merge patch, and returns the object as it is then, or would be.
func send(ctx context.Context, f *term.Factory, o client.Object, with []byte) (answer client.Object, err error) {
	if f.DryRun == term.DryRunClient {
		return patched(o, with)
	}
	answer = empty(o)
	answer.SetNamespace(o.GetNamespace())
	answer.SetName(o.GetName())
	if err := patch(ctx, f, answer, with); err != nil {
		return nil, err
	}
	return answer, nil
}

// patched returns an object as a merge patch would make it.
func patched(o client.Object, patch []byte) (client.Object, error) {
	text, err := json.Marshal(o)
	if err == nil {
		text, err = jsonpatch.MergePatch(text, patch)
	}
	answer := empty(o)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	return answer, err
}

// writer is the client for what changes the cluster, unless the command is tried out.
func writer(f *term.Factory) client.Writer {
	if f.DryRun == term.DryRunServer {
		return client.NewDryRunClient(f.Client)
	}
	return f.Client
}
