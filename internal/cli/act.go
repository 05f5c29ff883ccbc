// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Names of resources, as kubectl prints them before a slash.
const (
	scheduleResource = "snapshotschedule.snapshots.mapcontroller.dev"
	snapshotResource = "volumesnapshot.snapshot.storage.k8s.io"
	groupResource    = "volumegroupsnapshot.groupsnapshot.storage.k8s.io"
	claimResource    = "persistentvolumeclaim"
)

// did prints what was done with an object, as kubectl does.
func (f *Factory) did(resource, name, what string) {
	fmt.Fprintln(f.Out, strings.TrimSpace(resource+"/"+name+" "+what))
}

// warn prints what does not stop a command.
func (f *Factory) warn(format string, args ...any) {
	say(f.ErrOut, "Warning: "+fmt.Sprintf(format, args...))
}

// eachSnapshot is the RunE of a command that does something with each named
// VolumeSnapshot or VolumeGroupSnapshot. It returns all errors.
func (f *Factory) eachSnapshot(do func(ctx context.Context, v client.Object) error) func(*cobra.Command, []string) error {
	return f.connected(func(ctx context.Context, names []string) error {
		var errs []error
		for _, name := range names {
			v, err := f.getSnapshot(ctx, name)
			if err == nil {
				err = do(ctx, v)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

// getSnapshot reads a VolumeSnapshot or, if there is none of the name, a VolumeGroupSnapshot. The name may be written as
// this plugin prints it, with a resource before it.
func (f *Factory) getSnapshot(ctx context.Context, name string) (client.Object, error) {
	for _, resource := range []string{snapshotResource, groupResource} {
		name = strings.TrimPrefix(name, resource+"/")
	}
	v, group := &snapshotv1.VolumeSnapshot{}, &groupv1.VolumeGroupSnapshot{}
	err := f.get(ctx, name, v)
	if apierrors.IsNotFound(err) && f.client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, group) == nil {
		return group, nil
	}
	return v, err
}

// resourceOf returns the resource of a snapshot, and its kind.
func resourceOf(v client.Object) (resource, kind string) {
	if _, isGroup := v.(*groupv1.VolumeGroupSnapshot); isGroup {
		return groupResource, "VolumeGroupSnapshot"
	}
	return snapshotResource, "VolumeSnapshot"
}

func beingDeleted(v client.Object) error {
	_, kind := resourceOf(v)
	return fmt.Errorf("%s %s is being deleted", kind, v.GetName())
}

// fieldOwner is the plugin's name in managed fields.
const fieldOwner = client.FieldOwner("kubectl-snapsched")

// patch sends a merge patch. A nil value removes a key.
func (f *Factory) patch(ctx context.Context, o client.Object, patch []byte) error {
	return f.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), fieldOwner)
}

// metadata is a merge patch of an object's metadata.
func metadata(fields map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"metadata": fields})
	if err != nil {
		panic(err) // texts, and references to owners
	}
	return text
}

func (f *Factory) annotate(ctx context.Context, o client.Object, key string, value any) error {
	return f.patch(ctx, o, metadata(map[string]any{"annotations": map[string]any{key: value}}))
}

// update sends the merge patch that is decided for an object; none if it is nil. After a
// conflict it reads the object and has it decided again. It returns whether it sent one.
func update[T any, P interface {
	*T
	client.Object
}](ctx context.Context, f *Factory, o P, decide func() ([]byte, error)) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch, err := decide()
		if err != nil || patch == nil {
			return err
		}
		err = f.patch(ctx, o.DeepCopyObject().(client.Object), patch)
		changed = err == nil
		if apierrors.IsConflict(err) {
			// Decoding into the old object would keep removed labels.
			fresh := P(new(T))
			fresh.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
			if err := f.client.Get(ctx, client.ObjectKeyFromObject(o), fresh); err != nil {
				return err
			}
			*o = *fresh
		}
		return err
	})
	return changed, err
}

func newHoldCommand(f *Factory) *cobra.Command {
	var reason, until string
	cmd := &cobra.Command{
		Use:     "hold SNAPSHOT...",
		GroupID: GroupAct,
		Short:   "Keep snapshots: retention does not delete them",
		Long: "Keep snapshots: retention does not delete a snapshot that is held. The schedule still counts it.\n" +
			"A hold does not outlive the schedule: to keep a snapshot that does, use release.",
		Example: `  # Keep the snapshot from before an upgrade, and say why
  kubectl snapsched hold pgdata-20261121100928-46grgsginy --reason "before the upgrade to 18"

  # Keep it for a week
  kubectl snapsched hold pgdata-20261121100928-46grgsginy --until 1w`,
		Args:              argument("SNAPSHOT", anyNumber),
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE: f.eachSnapshot(func(ctx context.Context, v client.Object) (err error) {
			if until != "" && reason == "" { // the same end for all
				if reason, err = f.endOfHold(ctx, until); err != nil {
					return err
				}
			}
			return f.hold(ctx, v, reason)
		}),
	}
	cmd.Flags().StringVar(&until, "until", "", "When the hold ends: a time in RFC 3339, such as 2027-01-31T18:00:00Z, or after how long, "+
		"such as 12h or 7d. If omitted, never.")
	cmd.Flags().StringVar(&reason, "reason", "", "Why it is held: the value of the annotation "+v1alpha1.AnnotationHold+".")
	cmd.MarkFlagsMutuallyExclusive("reason", "until")
	return cmd
}

// heldWithoutReason is the value of the annotation where nobody gives a reason.
const heldWithoutReason = "true"

// endOfHold returns the value of the annotation for --until.
func (f *Factory) endOfHold(ctx context.Context, until string) (string, error) {
	now, err := f.serverTime(ctx)
	if err != nil {
		return "", err
	}
	end, err := time.Parse(time.RFC3339, until)
	if err != nil {
		d, err := schedule.ParseDuration(until)
		if err != nil {
			return "", fmt.Errorf("--until: %q is neither a time in RFC 3339 nor a duration such as 12h or 7d", until)
		}
		end = now.Add(d)
	}
	if !end.After(now) {
		return "", fmt.Errorf("--until: %s is not in the future", until)
	}
	return end.UTC().Format(time.RFC3339), nil
}

func (f *Factory) hold(ctx context.Context, v client.Object, reason string) error {
	held, is := v.GetAnnotations()[v1alpha1.AnnotationHold]
	resource, kind := resourceOf(v)
	switch {
	case v.GetDeletionTimestamp() != nil:
		return beingDeleted(v)
	case is && (reason == "" || reason == held):
		f.did(resource, v.GetName(), "unchanged")
		return nil
	case reason == "":
		reason = heldWithoutReason
	}
	if v.GetLabels()[v1alpha1.LabelMapKey] == "" && snapshots.LabeledMember(v) == "" {
		f.warn("%s %s is not a schedule's, so only schedules that adopt it respect the hold", kind, v.GetName())
	}
	if err := f.annotate(ctx, v, v1alpha1.AnnotationHold, reason); err != nil {
		return err
	}
	if v.GetDeletionTimestamp() != nil {
		return beingDeleted(v) // since it was read
	}
	what := "held"
	if is {
		what += fmt.Sprintf(" in place of %q", held)
	}
	f.did(resource, v.GetName(), what)
	return nil
}

func newUnholdCommand(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "unhold SNAPSHOT...",
		GroupID: GroupAct,
		Short:   "End a hold: retention applies again",
		Long: "End a hold. Retention applies again: a snapshot that has expired is deleted within seconds.\n" +
			"'kubectl snapsched why' says what would become of it.",
		Example:           `  kubectl snapsched unhold pgdata-20261121100928-46grgsginy`,
		Args:              argument("SNAPSHOT", anyNumber),
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE:              f.eachSnapshot(f.unhold),
	}
}

func (f *Factory) unhold(ctx context.Context, v client.Object) error {
	resource, _ := resourceOf(v)
	if _, held := v.GetAnnotations()[v1alpha1.AnnotationHold]; !held {
		f.did(resource, v.GetName(), "unchanged")
		return nil
	}
	if err := f.annotate(ctx, v, v1alpha1.AnnotationHold, nil); err != nil {
		return err
	}
	f.did(resource, v.GetName(), "no longer held")
	return nil
}

func newReleaseCommand(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "release SNAPSHOT...",
		GroupID: GroupAct,
		Short:   "Take snapshots out of their schedule, so that they outlive it",
		Long: "Take snapshots out of their schedule: nothing deletes them any more, not even the deletion of the\n" +
			"schedule. The label " + v1alpha1.LabelMapKey + " and the schedule's ownerReference are removed\n" +
			"in one step. The slot of a released snapshot is not taken again. To give a snapshot back to the schedule,\n" +
			"set the label again, to the UID of the PVC.",
		Example:           `  kubectl snapsched release pgdata-20261121100928-46grgsginy`,
		Args:              argument("SNAPSHOT", anyNumber),
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE:              f.eachSnapshot(f.release),
	}
}

func (f *Factory) release(ctx context.Context, v client.Object) error {
	resource, _ := resourceOf(v)
	var released bool
	var err error
	switch v := v.(type) {
	case *groupv1.VolumeGroupSnapshot:
		released, err = update(ctx, f, v, func() ([]byte, error) { return releasePatch(v) })
	case *snapshotv1.VolumeSnapshot:
		if snapshots.GroupMember(v) {
			return fmt.Errorf("VolumeSnapshot %s is a member of a VolumeGroupSnapshot, and its data belongs to that: "+
				"release the VolumeGroupSnapshot", v.Name)
		}
		released, err = update(ctx, f, v, func() ([]byte, error) { return releasePatch(v) })
	}
	if err != nil {
		return err
	}
	what := "unchanged"
	if released {
		what = "released"
	}
	f.did(resource, v.GetName(), what)
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
