// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Send sends a change. What is to be deleted may be gone already.
func Send(ctx context.Context, f *term.Factory, c change.Change) error {
	switch o := c.Delete; {
	case c.Create != nil:
		return f.Client.Create(ctx, c.Create, term.FieldOwner)
	case o != nil:
		uid, version := o.GetUID(), o.GetResourceVersion()
		return client.IgnoreNotFound(f.Client.Delete(ctx, o, client.Preconditions{UID: &uid, ResourceVersion: &version}))
	}
	o := c.Object.DeepCopyObject().(client.Object) // which the answer changes
	return f.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, c.Patch), term.FieldOwner)
}

// Update sends the merge patch that is decided for an object; none if it is nil. After a
// conflict it reads the object and has it decided again. It returns whether it sent one.
func Update(ctx context.Context, f *term.Factory, o client.Object, decide func() ([]byte, error)) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch, err := decide()
		if err != nil || patch == nil {
			return err
		}
		err = Send(ctx, f, change.Change{Object: o, Patch: patch})
		changed = err == nil
		if apierrors.IsConflict(err) {
			// Decoding into the old object would keep removed labels.
			fresh := reflect.New(reflect.TypeOf(o).Elem())
			if err := f.Client.Get(ctx, client.ObjectKeyFromObject(o), fresh.Interface().(client.Object)); err != nil {
				return err
			}
			reflect.ValueOf(o).Elem().Set(fresh.Elem())
		}
		return err
	})
	return changed, err
}
