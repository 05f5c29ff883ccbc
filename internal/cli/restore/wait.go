// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// provisioning is a wait for restored PVCs.
type provisioning struct {
	f       *term.Factory
	left    map[string]types.UID // the PVCs that are not bound, by name
	failed  error
	printed steps.Printed
}

// wait follows the restored PVCs until they are bound. A PVC that is bound only when a
// pod uses it is not waited for.
func (r *restoration) wait(ctx context.Context, all []steps.Restored) error {
	p := &provisioning{f: r.f, left: map[string]types.UID{}, printed: steps.Printed{}}
	for _, one := range all {
		p.left[one.Plan.Claim.Name] = one.Plan.Claim.UID
		if one.Plan.WaitsForConsumer {
			p.waitsForConsumer(one.Plan.Claim.Name)
		}
	}
	if len(p.left) == 0 {
		return nil
	}
	to := steps.Follower{See: p.see, Listed: p.listed, Left: p.names, Explain: p.explain, Missing: "not bound:"}
	err := steps.Follow(ctx, r.f, &corev1.PersistentVolumeClaimList{}, to, client.InNamespace(r.f.Namespace))
	if ctx.Err() != nil && !errors.Is(err, term.ErrTimeout) && len(p.left) > 0 {
		err = fmt.Errorf("%w\nThese PersistentVolumeClaims stay, and become bound without this command: %s", err, strings.Join(p.names(), ", "))
	}
	return cmp.Or(err, p.failed)
}

func (p *provisioning) waitsForConsumer(name string) {
	p.f.Did(term.ClaimResource, name, "waits for the first pod that uses it")
	delete(p.left, name)
}

func (p *provisioning) see(_ context.Context, o client.Object, deleted bool) bool {
	claim := o.(*corev1.PersistentVolumeClaim)
	switch {
	case p.left[claim.Name] != claim.UID:
		return false
	case deleted:
		p.fail(claim.Name, "was deleted")
	case claim.Status.Phase == corev1.ClaimBound:
		p.f.Did(term.ClaimResource, claim.Name, "bound")
	case claim.Status.Phase == corev1.ClaimLost:
		p.fail(claim.Name, "has lost its volume")
	default:
		return false
	}
	delete(p.left, claim.Name)
	return true
}

func (p *provisioning) listed(existing sets.Set[types.UID]) {
	for _, name := range p.names() {
		if !existing.Has(p.left[name]) {
			p.fail(name, "was deleted")
			delete(p.left, name)
		}
	}
}

func (p *provisioning) fail(name, why string) {
	p.failed = errors.Join(p.failed, fmt.Errorf("PersistentVolumeClaim %s %s", name, why))
}

func (p *provisioning) names() []string {
	return slices.Sorted(maps.Keys(p.left))
}

// waitForFirstConsumer is the reason of the event by which the volume binder says that
// a PVC waits for a pod.
const waitForFirstConsumer = "WaitForFirstConsumer"

// explain prints the new events of the PVCs that are not bound.
func (p *provisioning) explain(ctx context.Context) error {
	for _, name := range p.names() {
		events := &corev1.EventList{}
		of := client.MatchingFields{"involvedObject.uid": string(p.left[name])}
		if err := p.f.List(ctx, events, client.InNamespace(p.f.Namespace), of); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == waitForFirstConsumer {
				p.waitsForConsumer(name)
			}
			p.printed.Once(p.f.ErrOut, fmt.Sprintf("%s: %s %s: %s", name, e.Type, e.Reason, e.Message))
		}
	}
	return nil
}
