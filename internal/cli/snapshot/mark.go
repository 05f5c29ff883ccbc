// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// requestMark is an annotation that says of a snapshot what only its requester knows, such as that the
// application was quiesced when it was cut. It is a flag's value.
type requestMark struct{ key, value string }

// Set parses KEY=VALUE. The operator's own annotations would change what it does.
func (m *requestMark) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("write KEY=VALUE")
	}
	if why := validation.IsQualifiedName(key); len(why) > 0 {
		return fmt.Errorf("invalid key %q: %s", key, strings.Join(why, "; "))
	}
	domain, _, _ := strings.Cut(key, "/")
	if domain == v1alpha1.GroupName || strings.HasSuffix(domain, "."+v1alpha1.GroupName) {
		return fmt.Errorf("keys of %s are the operator's own: use another one", v1alpha1.GroupName)
	}
	*m = requestMark{key, value}
	return nil
}

func (m *requestMark) String() string {
	if m.key == "" {
		return ""
	}
	return m.key + "=" + m.value
}

// Type is what the help calls the value.
func (m *requestMark) Type() string { return "KEY=VALUE" }

// set marks a snapshot, if there is a mark: the one that was seen, and not another one that got its
// name. A driver that reports 1970 has answered before it knew when it cut, and so, maybe, before it cut.
func (m *requestMark) set(ctx context.Context, r *request, v client.Object) {
	if m.key == "" {
		return
	}
	_, kind := view.ResourceOf(v)
	if at := backup.Of(v).CutTime; at.UTC().Year() == time.Unix(0, 0).UTC().Year() {
		r.unmarked = append(r.unmarked, fmt.Errorf("%w: %s %s is not marked: its driver reports %s as the time of its data, so nobody "+
			"knows whether it is cut", term.ErrInconclusive, kind, v.GetName(), term.Timestamp(at)))
		return
	}
	err := steps.Send(ctx, r.f, change.Mark(v, map[string]any{m.key: m.value}))
	if err != nil {
		r.unmarked = append(r.unmarked, term.Failed(fmt.Errorf("mark %s %s: %w", kind, v.GetName(), err)))
	}
}

// holdFor has the snapshots held that are taken. What is printed of that is not what -o json or name prints of the request.
func (r *request) holdFor(until string) error {
	if until == "" {
		return nil
	}
	end, err := steps.EndOfHold("--hold", until, r.now)
	f := *r.f
	if r.output.Format != "" {
		f.Out = f.ErrOut
	}
	r.holding, r.held = &steps.Holding{Factory: &f, Reason: heldOnRequest, Named: true, Now: r.now, End: end}, sets.New[types.UID]()
	return err
}

// heldOnRequest is the reason of such a hold.
const heldOnRequest = "taken on request"

// hold holds a snapshot of a target that is cut, once: until then it has nothing to hold, and afterwards the next one may displace it.
func (r *request) hold(ctx context.Context, t *target, v client.Object) {
	if r.holding == nil || r.held.Has(v.GetUID()) || !t.taken || t.snapshot != v.GetName() || !t.inRecord(v) || steps.Unholdable(v) != nil {
		return
	}
	r.held.Insert(v.GetUID())
	if err := r.holding.HoldOne(ctx, v); err != nil {
		r.unmarked = append(r.unmarked, term.Failed(fmt.Errorf("hold: %w", err)))
	}
}
