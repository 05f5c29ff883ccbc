// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
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
)

// provisioning is a wait for restored PVCs.
type provisioning struct {
	*restoration
	left   map[string]types.UID // the PVCs that are not bound, by name
	failed error
	told   told
}

// wait follows the restored PVCs until they are bound. A PVC that is bound only when a
// pod uses it is not waited for.
func (r *restoration) wait(ctx context.Context, all []restored) error {
	p := &provisioning{restoration: r, left: map[string]types.UID{}, told: told{}}
	for _, one := range all {
		if one.WaitsForConsumer {
			p.waitsForConsumer(one.Claim.Name)
			continue
		}
		p.left[one.Claim.Name] = one.Claim.UID
	}
	if len(p.left) == 0 {
		return nil
	}
	err := r.flags.wait.Follow(ctx, r.client, &corev1.PersistentVolumeClaimList{},
		follower{see: p.see, listed: p.listed, done: p.done, idle: p.explain}, client.InNamespace(r.namespace))
	if errors.Is(err, errTimeout) {
		if explainErr := p.explain(ctx); explainErr != nil {
			return explainErr
		}
		return fmt.Errorf("%w after %s: not bound: %s", errTimeout, r.flags.wait.Timeout, strings.Join(p.names(), ", "))
	}
	return err
}

func (p *provisioning) waitsForConsumer(name string) {
	p.did(claimResource, name, "waits for the first pod that uses it")
}

func (p *provisioning) see(o client.Object, deleted bool) bool {
	claim := o.(*corev1.PersistentVolumeClaim)
	name := claim.Name
	switch {
	case p.left[name] != claim.UID:
		return false
	case deleted:
		p.wasDeleted(name)
	case claim.Status.Phase == corev1.ClaimBound:
		p.did(claimResource, name, "bound")
	case claim.Status.Phase == corev1.ClaimLost:
		p.failed = errors.Join(p.failed, fmt.Errorf("PersistentVolumeClaim %s has lost its volume", name))
	default:
		return false
	}
	delete(p.left, name)
	return true
}

func (p *provisioning) listed(existing sets.Set[types.UID]) {
	for _, name := range p.names() {
		if !existing.Has(p.left[name]) {
			p.wasDeleted(name)
			delete(p.left, name)
		}
	}
}

func (p *provisioning) wasDeleted(name string) {
	p.failed = errors.Join(p.failed, fmt.Errorf("PersistentVolumeClaim %s was deleted", name))
}

func (p *provisioning) done() (bool, error) {
	if len(p.left) > 0 {
		return false, nil
	}
	return true, p.failed
}

func (p *provisioning) names() []string {
	return slices.Sorted(maps.Keys(p.left))
}

// waitForFirstConsumer is the reason of the event by which the volume binder says that
// a PVC waits for a pod.
const waitForFirstConsumer = "WaitForFirstConsumer"

// explain prints the new events of the PVCs that are not bound.
func (p *provisioning) explain(ctx context.Context) error {
	names := p.names()
	p.waitingFor(names)
	for _, name := range names {
		events := &corev1.EventList{}
		of := client.MatchingFields{"involvedObject.uid": string(p.left[name])}
		if err := Pages(ctx, p.client, events, client.InNamespace(p.namespace), of); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == waitForFirstConsumer {
				p.waitsForConsumer(name)
				delete(p.left, name)
			}
			p.told.once(p.ErrOut, fmt.Sprintf("%s: %s %s: %s", name, e.Type, e.Reason, e.Message))
		}
	}
	return nil
}
