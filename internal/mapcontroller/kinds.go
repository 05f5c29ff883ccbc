// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// discoveryRetry is when to ask again after the API server did not answer: a
// start must not wait for that as long as for a kind to be installed.
const discoveryRetry = 5 * time.Second

// kinds knows which of the kinds that a controller needs are not installed. An
// informer of such a kind would end the manager.
type kinds struct {
	discovery discovery.ServerResourcesInterface
	needed    []schema.GroupVersionKind
	// suspect is signaled when a write found that a kind may be missing.
	suspect chan struct{}

	mu     sync.Mutex
	absent []string
}

func newKinds(d discovery.ServerResourcesInterface, rules *plan.Rules) *kinds {
	k := &kinds{discovery: d, suspect: make(chan struct{}, 1)}
	for _, in := range rules.Inputs {
		k.needed = append(k.needed, rules.KindOf(in.Object))
	}
	for _, out := range rules.Outputs {
		k.needed = append(k.needed, rules.KindOf(out.Object))
	}
	return k
}

func (k *kinds) missing() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.absent
}

// suspectMissing asks for a check. It never blocks.
func (k *kinds) suspectMissing() {
	select {
	case k.suspect <- struct{}{}:
	default:
	}
}

// explains returns whether an error came from a kind that is not installed. A 404
// alone does not say so.
func (k *kinds) explains(_ context.Context, err error) bool {
	if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return false
	}
	missing, err := k.check()
	if len(missing) > 0 {
		k.suspectMissing() // somebody has to notice when the kind is back
	}
	return err == nil && len(missing) > 0
}

// check asks the API server which kinds are missing.
func (k *kinds) check() ([]string, error) {
	var absent []string
	installed := map[schema.GroupVersion][]string{}
	for _, gvk := range k.needed {
		gv := gvk.GroupVersion()
		if _, asked := installed[gv]; !asked {
			installed[gv] = nil
			resources, err := k.discovery.ServerResourcesForGroupVersion(gv.String())
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("discover %s: %w", gv, err)
			}
			if err == nil {
				for _, r := range resources.APIResources {
					installed[gv] = append(installed[gv], r.Kind)
				}
			}
		}
		if !slices.Contains(installed[gv], gvk.Kind) {
			absent = append(absent, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.absent = absent
	return absent, nil
}

// wait returns when all kinds are installed, or false at the end of the context.
// changed is called when the missing kinds are others than before.
func (k *kinds) wait(ctx context.Context, interval time.Duration, log logr.Logger, changed func()) bool {
	reported := ""
	for {
		next := interval
		missing, err := k.check()
		switch names := strings.Join(missing, ", "); {
		case err != nil:
			next = min(interval, discoveryRetry)
			log.Error(err, "Failed to discover kinds", "retryAfter", next)
		case names == "":
			return true
		case names != reported:
			reported = names
			log.Info("Waiting for kinds to be installed", "missing", names, "interval", interval)
			changed()
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(next):
		}
	}
}
