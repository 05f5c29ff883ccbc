// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/migrate"
)

// peerResource is the name of snapscheduler's schedules before a slash.
const peerResource = "snapshotschedule.snapscheduler.backube"

// applyAll migrates the schedule. If it is interrupted at any point, no operator takes
// or deletes snapshots twice, and running it again completes it.
func (t *transfer) applyAll(ctx context.Context) error {
	for _, note := range t.to.Notes {
		t.warn("%s/%s: %s", t.peer.GetNamespace(), t.peer.GetName(), note)
	}
	if err := t.disable(ctx); err != nil {
		return fmt.Errorf("disable it: %w", err)
	}
	if err := t.handOver(ctx); err != nil {
		return err
	}
	if t.exists {
		t.done(scheduleResource, t.peer.GetName(), "unchanged")
		return nil
	}
	if err := t.client.Create(ctx, t.to.Schedule.DeepCopy(), fieldOwner); err != nil {
		return fmt.Errorf("create SnapshotSchedule %s: %w", t.to.Schedule.Name, err)
	}
	t.done(scheduleResource, t.peer.GetName(), "created")
	return nil
}

// done prints what was done, and in which namespace if there are several.
func (t *transfer) done(resource, name, what string) {
	if t.allNamespaces {
		what += " in namespace " + t.peer.GetNamespace()
	}
	t.did(resource, name, what)
}

func (t *transfer) disable(ctx context.Context) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch := migrate.Disable(t.peer)
		if patch == nil {
			return nil
		}
		err := again(ctx, t.client, t.peer, t.client.Patch(ctx, t.peer.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner))
		if err == nil {
			t.done(peerResource, t.peer.GetName(), "disabled")
		}
		return err
	})
	return err
}

// handOver hands over the snapshots, until there is none left that can be. snapscheduler
// may create one until it has seen that its schedule is disabled.
func (t *transfer) handOver(ctx context.Context) error {
	handed := map[types.UID]bool{}
	for first := true; ; first = false {
		found, err := t.snapshots(ctx)
		if err != nil {
			return err
		}
		before := len(handed)
		for i := range found {
			if handed[found[i].UID] {
				return fmt.Errorf("VolumeSnapshot %s was handed over, but something has set its label %s again",
					found[i].Name, migrate.LabelPeerSchedule)
			}
			done, err := t.handOverOne(ctx, &found[i], first)
			if err != nil {
				return fmt.Errorf("hand over VolumeSnapshot %s: %w", found[i].Name, err)
			}
			if done {
				handed[found[i].UID] = true
			}
		}
		if len(handed) == before {
			return nil
		}
	}
}

func (t *transfer) handOverOne(ctx context.Context, v *snapshotv1.VolumeSnapshot, warn bool) (done bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if v.Labels[migrate.LabelPeerSchedule] != t.peer.GetName() {
			return nil // after a conflict: somebody else has taken it
		}
		adoption := migrate.Adopt(v, t.claimOf(v))
		if adoption.Patch == nil {
			if warn {
				t.warn("VolumeSnapshot %s/%s stays with snapscheduler: %s", v.Namespace, v.Name, adoption.Reason)
			}
			return nil
		}
		err := again(ctx, t.client, v, t.client.Patch(ctx, v.DeepCopy(), client.RawPatch(types.MergePatchType, adoption.Patch), fieldOwner))
		if err == nil {
			done = true
			t.done(snapshotResource, v.Name, "handed over")
			if adoption.Note != "" {
				t.warn("VolumeSnapshot %s/%s: %s", v.Namespace, v.Name, adoption.Note)
			}
		}
		return err
	})
	if apierrors.IsNotFound(err) {
		return false, nil // it has expired
	}
	return done, err
}

func (t *transfer) claimOf(v *snapshotv1.VolumeSnapshot) *corev1.PersistentVolumeClaim {
	return t.claims[ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "")]
}
