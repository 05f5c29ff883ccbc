// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"encoding/json"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// SendPatch sends a merge patch. A nil value removes a key.
func SendPatch(ctx context.Context, f *term.Factory, o client.Object, patch []byte) error {
	return f.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), term.FieldOwner)
}

// Metadata is a merge patch of an object's metadata.
func Metadata(fields map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"metadata": fields})
	if err != nil {
		panic(err) // texts, and references to owners
	}
	return text
}

// Update sends the merge patch that is decided for an object; none if it is nil. After a
// conflict it reads the object and has it decided again. It returns whether it sent one.
func Update[T any, P interface {
	*T
	client.Object
}](ctx context.Context, f *term.Factory, o P, decide func() ([]byte, error)) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch, err := decide()
		if err != nil || patch == nil {
			return err
		}
		err = SendPatch(ctx, f, o.DeepCopyObject().(client.Object), patch)
		changed = err == nil
		if apierrors.IsConflict(err) {
			// Decoding into the old object would keep removed labels.
			fresh := P(new(T))
			fresh.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
			if err := f.Client.Get(ctx, client.ObjectKeyFromObject(o), fresh); err != nil {
				return err
			}
			*o = *fresh
		}
		return err
	})
	return changed, err
}

// UpdateSnapshot is update for both kinds.
func UpdateSnapshot(ctx context.Context, f *term.Factory, v client.Object, decide func() ([]byte, error)) (changed bool, err error) {
	if group, isGroup := v.(*groupv1.VolumeGroupSnapshot); isGroup {
		return Update(ctx, f, group, decide)
	}
	return Update(ctx, f, v.(*snapshotv1.VolumeSnapshot), decide)
}
