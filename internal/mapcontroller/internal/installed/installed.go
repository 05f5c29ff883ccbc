// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installed knows whether the API server serves the kinds that a controller
// reads, and waits for them: they may be installed after it, and removed while it runs.
// Without those that it needs, no key is reconciled; of optional ones, decisions are told.
//
// controller-runtime's sources wait for a missing kind as well, but each by itself: the event
// of a parent could come before the cache has the outputs, so that keys would be missing from
// its status. They do not say what is missing, which status reports, nor that a kind is back,
// and fill no cache before the manager leads.
package installed

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// retry is the delay after a request that failed. It is short, so that a failure does
// not hold up a start as long as a kind that is not installed.
const retry = 5 * time.Second

// Settings are what Kinds depend on.
type Settings struct {
	Needed, Optional []schema.GroupVersionKind
	// Back is called when kinds that were missing are back, needed ones before they count as installed.
	Back func()

	Discovery discovery.ServerResourcesInterface
	Live      client.Reader
	// Namespaces are those in which kinds have to be listed.
	Namespaces []string
	// Interval is how often a missing kind is looked for.
	Interval time.Duration
}

// Kinds are those that a controller reads.
type Kinds struct {
	// Wanted is signaled when a program needs optional kinds that are missing: until then nobody
	// looks for them, so that a cluster without them costs no request.
	Wanted chan struct{}
	// Suspected is signaled when somebody has to find out whether a needed kind is missing.
	Suspected chan struct{}

	settings Settings
	// listed is signaled when a needed kind was listed that could not be before.
	listed chan struct{}
	absent atomic.Pointer[[]string]

	// checks are made one after the other, so that the last result counts.
	checks sync.Mutex
	mu     sync.Mutex
	// watched is set once there are informers of the optional kinds.
	watched bool
	// unlisted are the kinds that were not there when they were listed last: the cache
	// does not show what there is of them.
	unlisted map[schema.GroupVersionKind]bool
}

// New returns kinds. Needed ones count as installed until they are checked, optional ones as missing until they are watched.
func New(s Settings) *Kinds {
	k := &Kinds{
		Wanted: make(chan struct{}, 1), Suspected: make(chan struct{}, 1), listed: make(chan struct{}, 1),
		settings: s, unlisted: map[schema.GroupVersionKind]bool{},
	}
	k.absent.Store(&[]string{})
	return k
}

// Missing returns the needed kinds that the last check found missing.
func (k *Kinds) Missing() []string { return *k.absent.Load() }

// MissingOptional returns all optional kinds until the cache has them all.
func (k *Kinds) MissingOptional() []schema.GroupVersionKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watched && !slices.ContainsFunc(k.settings.Optional, func(kind schema.GroupVersionKind) bool { return k.unlisted[kind] }) {
		return nil
	}
	return k.settings.Optional
}

// Want says that the optional kinds are needed.
func (k *Kinds) Want() {
	if len(k.MissingOptional()) > 0 {
		signal(k.Wanted)
	}
}

// Watches says that the cache has the optional kinds from now on.
func (k *Kinds) Watches() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watched = true
}

// Suspect asks for a check, because a write found that a kind may be missing. It
// never blocks.
func (k *Kinds) Suspect() { signal(k.Suspected) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Listed is called when the cache has listed a kind, or could not. A kind that was missing
// then stays missing until it is listed.
func (k *Kinds) Listed(kind schema.GroupVersionKind, err error) {
	needed := slices.Contains(k.settings.Needed, kind)
	if err != nil && !apierrors.IsNotFound(err) || !needed && !slices.Contains(k.settings.Optional, kind) {
		return
	}
	k.mu.Lock()
	before := k.unlisted[kind]
	k.unlisted[kind] = err != nil
	k.mu.Unlock()
	switch {
	case needed && err != nil:
		k.Suspect()
	case needed && before:
		signal(k.listed)
	case before && len(k.MissingOptional()) == 0:
		k.settings.Back()
	}
}

// Explains returns whether an error came from a kind that is not installed. A 404
// alone does not say so.
func (k *Kinds) Explains(err error) bool {
	if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return false
	}
	missing, err := k.check()
	if len(missing) > 0 {
		k.Suspect() // somebody has to notice when the kind is back
	}
	return err == nil && len(missing) > 0
}

// check asks the API server which kinds are missing.
func (k *Kinds) check() ([]string, error) {
	k.checks.Lock()
	defer k.checks.Unlock()
	var absent []string
	for _, gvk := range k.settings.Needed {
		found, err := k.settings.Discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("discover %s: %w", gvk.GroupVersion(), err)
		}
		served := err == nil && slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Kind == gvk.Kind })
		k.mu.Lock()
		unlisted := k.unlisted[gvk]
		k.mu.Unlock()
		if !served || unlisted {
			absent = append(absent, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
		}
	}
	if len(absent) == 0 && len(k.Missing()) > 0 {
		k.settings.Back()
	}
	k.absent.Store(&absent)
	return absent, nil
}

// Wait returns when all needed kinds are installed, or false when ctx ends.
// changed is called when the missing kinds change.
func (k *Kinds) Wait(ctx context.Context, log logr.Logger, changed func()) bool {
	var reported []string
	return poll(ctx, k.listed, func() (next time.Duration) {
		next = k.settings.Interval
		missing, err := k.check()
		switch {
		case err != nil:
			next = min(next, retry)
			log.Error(err, "Failed to discover kinds", "retryAfter", next)
		case len(missing) == 0:
			return 0
		case !slices.Equal(missing, reported):
			reported = missing
			log.Info("Waiting for kinds to be installed", "missing", missing, "interval", next)
			changed()
		}
		return next
	})
}

// AwaitLists returns whether every one of some kinds can be listed: it is installed, and the permission
// granted. If not, it asks again until ctx ends, or with giveUp only while the API server fails: a cache that cannot list
// its kind would never sync, and the others wait for it.
func (k *Kinds) AwaitLists(ctx context.Context, kinds []schema.GroupVersionKind, giveUp bool, log logr.Logger) (can bool) {
	reported := ""
	return poll(ctx, nil, func() time.Duration {
		err, next := k.List(ctx, kinds), k.settings.Interval
		if can = err == nil; can || giveUp && NobodyCan(err) {
			return 0
		}
		if !NobodyCan(err) {
			next = min(next, retry) // nobody has to act
		}
		if err.Error() != reported {
			reported = err.Error()
			log.Info("Waiting for kinds that cannot be listed", "reason", reported, "retryAfter", next)
		}
		return next
	}) && can
}

// poll asks until the delay before the next time is zero, or returns false when ctx ends.
func poll(ctx context.Context, wake <-chan struct{}, ask func() time.Duration) bool {
	for {
		next := ask()
		if next == 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-wake:
		case <-time.After(next):
		}
	}
}

// NobodyCan returns whether an error says that a kind is not installed, or may not be listed.
func NobodyCan(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
}

// List returns why one of some kinds cannot be listed; nil: all can be.
func (k *Kinds) List(ctx context.Context, kinds []schema.GroupVersionKind) error {
	for _, kind := range kinds {
		for _, namespace := range k.settings.Namespaces {
			page := &metav1.PartialObjectMetadataList{}
			page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			if err := k.settings.Live.List(ctx, page, client.InNamespace(namespace), client.Limit(1)); err != nil {
				return err
			}
		}
	}
	return nil
}
