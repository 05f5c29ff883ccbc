// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// snapshotTypes are what may stand before the name of a VolumeSnapshot, groupTypes before that of a VolumeGroupSnapshot.
var (
	snapshotTypes = []string{"vs", "volumesnapshot", "volumesnapshots", term.SnapshotResource, "volumesnapshots.snapshot.storage.k8s.io"}
	groupTypes    = []string{
		"vgs", "volumegroupsnapshot", "volumegroupsnapshots", term.GroupResource, "volumegroupsnapshots.groupsnapshot.storage.k8s.io",
	}
)

// getSnapshot reads a VolumeSnapshot or, if there is none of the name, a VolumeGroupSnapshot. A type before the name, as kubectl
// and this plugin print it, says which of them.
func getSnapshot(ctx context.Context, f *term.Factory, name string) (client.Object, error) {
	kind := ""
	if before, after, found := strings.Cut(name, "/"); found {
		kind, name = strings.ToLower(before), after
		if !slices.Contains(snapshotTypes, kind) && !slices.Contains(groupTypes, kind) {
			return nil, fmt.Errorf("%s/%s is neither a VolumeSnapshot nor a VolumeGroupSnapshot", before, after)
		}
	}
	v, group := &snapshotv1.VolumeSnapshot{}, &groupv1.VolumeGroupSnapshot{}
	if slices.Contains(groupTypes, kind) {
		return group, f.Get(ctx, name, group)
	}
	err := f.Get(ctx, name, v)
	if kind == "" && apierrors.IsNotFound(err) && f.Get(ctx, name, group) == nil {
		return group, nil
	}
	return v, err
}

// resourceOf returns the resource of a snapshot, and its kind.
func resourceOf(v client.Object) (resource, kind string) {
	if _, isGroup := v.(*groupv1.VolumeGroupSnapshot); isGroup {
		return term.GroupResource, "VolumeGroupSnapshot"
	}
	return term.SnapshotResource, "VolumeSnapshot"
}

func beingDeleted(v client.Object) error {
	_, kind := resourceOf(v)
	return fmt.Errorf("%s %s is being deleted", kind, v.GetName())
}

// sendPatch sends a merge patch. A nil value removes a key.
func sendPatch(ctx context.Context, f *term.Factory, o client.Object, patch []byte) error {
	return f.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), term.FieldOwner)
}

// metadata is a merge patch of an object's metadata.
func metadata(fields map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"metadata": fields})
	if err != nil {
		panic(err) // texts, and references to owners
	}
	return text
}

// update sends the merge patch that is decided for an object; none if it is nil. After a
// conflict it reads the object and has it decided again. It returns whether it sent one.
func update[T any, P interface {
	*T
	client.Object
}](ctx context.Context, f *term.Factory, o P, decide func() ([]byte, error)) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch, err := decide()
		if err != nil || patch == nil {
			return err
		}
		err = sendPatch(ctx, f, o.DeepCopyObject().(client.Object), patch)
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

// updateSnapshot is update for both kinds.
func updateSnapshot(ctx context.Context, f *term.Factory, v client.Object, decide func() ([]byte, error)) (changed bool, err error) {
	if group, isGroup := v.(*groupv1.VolumeGroupSnapshot); isGroup {
		return update(ctx, f, group, decide)
	}
	return update(ctx, f, v.(*snapshotv1.VolumeSnapshot), decide)
}

func newReleaseCommand(f *term.Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "release SNAPSHOT...",
		GroupID: term.GroupAct,
		Short:   "Take snapshots out of their schedule, so that they outlive it",
		Long: "Take snapshots out of their schedule: nothing deletes them any more, not even the deletion of the\n" +
			"schedule. The label " + v1alpha1.LabelMapKey + " and the schedule's ownerReference are removed\n" +
			"in one step. The slot of a released snapshot is not taken again. To give a snapshot back to the schedule,\n" +
			"set the label again, to the UID of the PVC.",
		Example:           `  kubectl snapsched release pgdata-20261121100928-46grgsginy`,
		Args:              term.Argument("SNAPSHOT", term.AnyNumber),
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE: f.Connected(func(ctx context.Context, names []string) error {
			var errs []error
			for _, name := range names {
				v, err := getSnapshot(ctx, f, name)
				if err == nil {
					err = release(ctx, f, v)
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}),
	}
}

func release(ctx context.Context, f *term.Factory, v client.Object) error {
	resource, _ := resourceOf(v)
	if _, isGroup := v.(*groupv1.VolumeGroupSnapshot); !isGroup && snapshots.GroupMember(v) {
		return fmt.Errorf("VolumeSnapshot %s is a member of a VolumeGroupSnapshot, and its data belongs to that: "+
			"release the VolumeGroupSnapshot", v.GetName())
	}
	released, err := updateSnapshot(ctx, f, v, func() ([]byte, error) { return releasePatch(v) })
	if err != nil {
		return err
	}
	what := "unchanged"
	if released {
		what = "released"
	}
	f.Did(resource, v.GetName(), what)
	return nil
}

// releasePatch is the patch that releases a snapshot; nil if it belongs to no
// schedule. Label and owner go together: between two patches, the schedule could be
// deleted, and the snapshot with it, or the label be gone and the operator down.
func releasePatch(v client.Object) ([]byte, error) {
	if v.GetDeletionTimestamp() != nil {
		return nil, beingDeleted(v)
	}
	if owner := metav1.GetControllerOf(v); owner != nil && !snapshots.Ownership.IsParent(owner) {
		_, kind := resourceOf(v)
		return nil, fmt.Errorf("%s %s is controlled by %s %s, not by a SnapshotSchedule", kind, v.GetName(), owner.Kind, owner.Name)
	}
	kept := []metav1.OwnerReference{}
	for _, owner := range v.GetOwnerReferences() {
		if !snapshots.Ownership.IsParent(&owner) {
			kept = append(kept, owner)
		}
	}
	_, labeled := v.GetLabels()[v1alpha1.LabelMapKey]
	if !labeled && len(kept) == len(v.GetOwnerReferences()) {
		return nil, nil
	}
	return metadata(map[string]any{
		"resourceVersion": v.GetResourceVersion(),
		"labels":          map[string]any{v1alpha1.LabelMapKey: nil},
		"ownerReferences": kept,
	}), nil
}
