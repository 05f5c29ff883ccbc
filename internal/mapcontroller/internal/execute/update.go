// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// update writes the change of an output. If the API server refuses the changed object, the
// spec is written alone: otherwise whoever fills the metadata of an output leaves no room
// for a label or annotation that they took off, and keeps the spec from being put back with
// them. What is refused is still reported, and tried again.
func (r *run) update(ctx context.Context, u plan.Update) error {
	err := r.updateAll(ctx, u)
	if refusesObject(err) && plan.Spec(u.Changed) != plan.Spec(u.Observed) {
		alone := u.Changed.DeepCopyObject().(client.Object)
		alone.SetLabels(u.Observed.GetLabels())
		if patch, invalid := patchOf(r.heldToSpec(u.Observed, alone)); invalid == nil {
			_ = r.executor.patchWith(ctx, alone, patch)
		}
	}
	return err
}

// refusesObject returns whether an error may say that an object is invalid or too large.
// For what is too large for etcd, the API server has no code but that of an internal error.
func refusesObject(err error) bool {
	codes := []int32{http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError}
	var status apierrors.APIStatus
	return errors.As(err, &status) && slices.Contains(codes, status.Status().Code)
}

// updateAll writes the change of an output, held to the observed version. If that has
// changed, but not its spec, the change is held to what it depends on instead: otherwise
// whoever changes some annotation again and again keeps the spec from being put back.
func (r *run) updateAll(ctx context.Context, u plan.Update) error {
	conflict := r.executor.patch(ctx, u.Observed, u.Changed)
	if !apierrors.IsConflict(conflict) {
		return conflict
	}
	same := func(o client.Object) bool { return r.sameSpec(u.Observed, o) }
	return r.executor.patchChanged(ctx, u.Observed, same, conflict, func(live client.Object) (client.Object, []operation) {
		changed := live.DeepCopyObject().(client.Object)
		r.executor.Kinds.Output(u.Observed).Update(changed, u.Desired)
		return changed, r.heldToSpec(live, changed)
	})
}

// patchChanged changes an object after a conflict, if what the API server holds is the same in what the change depends on. change
// returns the object as it should be, nil if it is so, and the operations, which test that instead of the version: the API server
// repeats such a patch where it is overtaken. If it fails, and the object is no longer the same, it returns the conflict.
func (e *Executor) patchChanged(
	ctx context.Context, observed client.Object, same func(client.Object) bool, conflict error,
	change func(live client.Object) (client.Object, []operation),
) error {
	name, live, now := client.ObjectKeyFromObject(observed), plan.EmptyLike(observed), plan.EmptyLike(observed)
	if err := e.Guard.Live.Get(ctx, name, live); err != nil {
		return err
	}
	if !same(live) {
		return conflict
	}
	after, operations := change(live)
	if after == nil {
		return nil
	}
	patch, err := patchOf(operations)
	if err != nil {
		return err
	}
	if err = e.patchWith(ctx, after, patch); err == nil || e.Guard.Live.Get(ctx, name, now) == nil && same(now) {
		return err // not what the change is held to, but the change itself is refused
	}
	return conflict
}

// sameSpec returns whether an output is still the parent's, with the spec that a decision
// was about.
func (r *run) sameSpec(observed, live client.Object) bool {
	return live.GetUID() == observed.GetUID() && live.GetGeneration() == observed.GetGeneration() && live.GetGeneration() > 0 &&
		live.GetDeletionTimestamp() == nil && r.executor.Kinds.Ownership.Owns(r.work.Parent, live) &&
		r.executor.Kinds.Ownership.MapKey(live) == r.work.Request.MapKey
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// heldToSpec returns the changes from one version of an output to another, which apply to
// every version with this UID, generation, owner and map key.
func (r *run) heldToSpec(live, changed client.Object) []operation {
	operations := append(heldTo(live, r.executor.Kinds.Ownership.Tags.MapKey), operation{"test", "/metadata/generation", live.GetGeneration()})
	if spec := plan.Spec(changed); spec != plan.Spec(live) {
		operations = append(operations, operation{"replace", "/spec", json.RawMessage(spec)})
	}
	if len(live.GetLabels()) == 0 && len(changed.GetLabels()) > 0 { // there is nothing to add to
		operations = append(operations, operation{"add", labels, changed.GetLabels()})
	}
	for key, value := range changed.GetLabels() {
		if have := live.GetLabels(); len(have) > 0 && have[key] != value {
			operations = append(operations, operation{"add", pathOf(key), value})
		}
	}
	return operations
}

func patchOf(operations []operation) (client.Patch, error) {
	text, err := json.Marshal(operations)
	return client.RawPatch(types.JSONPatchType, text), err
}

// heldTo returns the tests that an output has a UID, owners and some labels, or lacks them.
func heldTo(live client.Object, keys ...string) []operation {
	operations := []operation{{"test", "/metadata/uid", live.GetUID()}, {"test", "/metadata/ownerReferences", ownersOf(live)}}
	if len(live.GetLabels()) == 0 {
		return append(operations, operation{"test", labels, nil})
	}
	for _, key := range keys {
		test := operation{"test", pathOf(key), nil}
		if value, ok := live.GetLabels()[key]; ok {
			test.Value = value
		}
		operations = append(operations, test)
	}
	return operations
}

// ownersOf returns an object's owners as a JSON patch tests them: no list where it has none.
func ownersOf(o client.Object) any {
	if refs := o.GetOwnerReferences(); len(refs) > 0 {
		return refs
	}
	return nil
}

const labels = "/metadata/labels"

// pathOf returns the path of a label in a JSON patch.
func pathOf(label string) string {
	return labels + "/" + strings.ReplaceAll(strings.ReplaceAll(label, "~", "~0"), "/", "~1")
}
