// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
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
// name.
func (m *requestMark) set(ctx context.Context, r *request, v client.Object) {
	if m.key == "" {
		return
	}
	mark := metadata(map[string]any{"uid": v.GetUID(), "annotations": map[string]any{m.key: m.value}})
	err := r.patch(ctx, v.DeepCopyObject().(client.Object), mark)
	if err != nil {
		_, kind := resourceOf(v)
		r.unmarked = append(r.unmarked, fmt.Errorf("mark %s %s: %w", kind, v.GetName(), err))
	}
}
