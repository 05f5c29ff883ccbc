// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// servedKinds knows which of the kinds that a controller needs the API server
// does not serve. An informer of such a kind would end the manager.
type servedKinds struct {
	discovery discovery.ServerResourcesInterface
	needed    []schema.GroupVersionKind
	// suspect is signalled when a write found that a kind may be gone.
	suspect chan struct{}

	mu     sync.Mutex
	absent []string
}

func (k *servedKinds) missing() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.absent
}

// suspectMissing asks for another look. It never blocks.
func (k *servedKinds) suspectMissing() {
	select {
	case k.suspect <- struct{}{}:
	default:
	}
}

// look asks the API server, once per group and version.
func (k *servedKinds) look(_ context.Context) ([]string, error) {
	served := map[schema.GroupVersionKind]bool{}
	asked := map[schema.GroupVersion]bool{}
	var absent []string
	for _, gvk := range k.needed {
		gv := gvk.GroupVersion()
		if !asked[gv] {
			asked[gv] = true
			resources, err := k.discovery.ServerResourcesForGroupVersion(gv.String())
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("discover %s: %w", gv, err)
			}
			if err == nil {
				for _, r := range resources.APIResources {
					served[gv.WithKind(r.Kind)] = true
				}
			}
		}
		if !served[gvk] {
			absent = append(absent, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.absent = absent
	return absent, nil
}
