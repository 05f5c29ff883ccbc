// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Names of resources, as kubectl prints them before a slash.
const (
	scheduleResource = "snapshotschedule.snapshots.mapcontroller.dev"
	snapshotResource = "volumesnapshot.snapshot.storage.k8s.io"
	claimResource    = "persistentvolumeclaim"
)

// did prints what was done with an object, as kubectl does.
func (f *Factory) did(resource, name, what string) {
	fmt.Fprintf(f.Out, "%s/%s %s\n", resource, name, what)
}

// warn prints what does not stop a command.
func (f *Factory) warn(format string, args ...any) {
	say(f.ErrOut, "Warning: "+fmt.Sprintf(format, args...))
}

// eachSnapshot calls a function for each named VolumeSnapshot, and returns all errors.
func (f *Factory) eachSnapshot(
	ctx context.Context, names []string, do func(ctx context.Context, c client.Client, v *snapshotv1.VolumeSnapshot) error,
) error {
	c, namespace, err := f.Connect()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		v := &snapshotv1.VolumeSnapshot{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, v)
		if err == nil {
			err = do(ctx, c, v)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func beingDeleted(v *snapshotv1.VolumeSnapshot) error {
	return fmt.Errorf("VolumeSnapshot %s is being deleted", v.Name)
}

// mergePatch patches an object. A nil value removes a key.
func mergePatch(ctx context.Context, c client.Writer, o client.Object, patch map[string]any) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, text), fieldOwner)
}

// fieldOwner is the plugin's name in managed fields.
const fieldOwner = client.FieldOwner("kubectl-snapsched")

func annotate(ctx context.Context, c client.Writer, o client.Object, key string, value any) error {
	return mergePatch(ctx, c, o, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

// again reads an object again after a conflict, so that the next decision uses its
// current state. It returns the error.
func again[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Reader, o P, err error) error {
	if !apierrors.IsConflict(err) {
		return err
	}
	// Decoding into the old object would keep removed labels.
	fresh := P(new(T))
	fresh.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	if getErr := c.Get(ctx, client.ObjectKeyFromObject(o), fresh); getErr != nil {
		return getErr
	}
	*o = *fresh
	return err
}
