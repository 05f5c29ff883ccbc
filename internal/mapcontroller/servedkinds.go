/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
