// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installed knows whether the API server serves the kinds that a controller
// needs, and waits for them: they may be installed after it, and removed while it runs.
//
// controller-runtime's sources wait for a missing kind as well, but each by itself: the event
// of a parent could come before the cache has the outputs, so that keys would be missing from
// its status. They do not say what is missing, which status reports, nor that a kind is back,
// and fill no cache before the manager leads.
package installed

import (
	"cmp"
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

// Kinds are those that a controller needs.
type Kinds struct {
	// Back is called when kinds that were missing are back, before they count as
	// installed. Nil: it is not called.
	Back func()

	discovery discovery.ServerResourcesInterface
	needed    []schema.GroupVersionKind
	suspected chan struct{}
	// listed is signaled when a kind was listed that could not be before.
	listed chan struct{}
	absent atomic.Pointer[[]string]

	// checks are made one after the other, so that the last result counts.
	checks sync.Mutex
	mu     sync.Mutex
	// unlisted are the kinds that were not there when they were listed last: the cache
	// does not show what there is of them.
	unlisted map[schema.GroupVersionKind]bool
}

// New returns kinds that count as installed until they are checked.
func New(d discovery.ServerResourcesInterface, needed []schema.GroupVersionKind) *Kinds {
	k := &Kinds{
		discovery: d, needed: needed, suspected: make(chan struct{}, 1), listed: make(chan struct{}, 1),
		unlisted: map[schema.GroupVersionKind]bool{},
	}
	k.absent.Store(&[]string{})
	return k
}

// Missing returns the kinds that the last check found missing.
func (k *Kinds) Missing() []string { return *k.absent.Load() }

// Suspect asks for a check, because a write found that a kind may be missing. It
// never blocks.
func (k *Kinds) Suspect() { signal(k.suspected) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Listed is called when the cache has listed a kind, or could not. A kind that was missing
// then stays missing until it is listed.
func (k *Kinds) Listed(kind schema.GroupVersionKind, err error) {
	if err != nil && !apierrors.IsNotFound(err) || !slices.Contains(k.needed, kind) {
		return
	}
	k.mu.Lock()
	before := k.unlisted[kind]
	k.unlisted[kind] = err != nil
	k.mu.Unlock()
	switch {
	case err != nil:
		k.Suspect()
	case before:
		signal(k.listed)
	}
}

// Suspected is signaled when a check was asked for.
func (k *Kinds) Suspected() <-chan struct{} { return k.suspected }

// Explains returns whether an error came from a kind that is not installed. A 404
// alone does not say so.
func (k *Kinds) Explains(_ context.Context, err error) bool {
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
	for _, gvk := range k.needed {
		found, err := k.discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("discover %s: %w", gvk.GroupVersion(), err)
		}
		served := err == nil && slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Kind == gvk.Kind })
		if !served || k.isUnlisted(gvk) {
			absent = append(absent, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
		}
	}
	if len(absent) == 0 && len(k.Missing()) > 0 && k.Back != nil {
		k.Back()
	}
	k.absent.Store(&absent)
	return absent, nil
}

func (k *Kinds) isUnlisted(kind schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unlisted[kind]
}

// Wait returns when all kinds are installed, or false when ctx ends.
// changed is called when the missing kinds change.
func (k *Kinds) Wait(ctx context.Context, interval time.Duration, log logr.Logger, changed func()) bool {
	var reported []string
	for {
		next := interval
		missing, err := k.check()
		switch {
		case err != nil:
			next = min(interval, retry)
			log.Error(err, "Failed to discover kinds", "retryAfter", next)
		case len(missing) == 0:
			return true
		case !slices.Equal(missing, reported):
			reported = missing
			log.Info("Waiting for kinds to be installed", "missing", missing, "interval", interval)
			changed()
		}
		select {
		case <-ctx.Done():
			return false
		case <-k.listed:
		case <-time.After(next):
		}
	}
}

// AwaitLists returns whether every kind can be listed in some namespaces; nil: in all. It is
// installed, and the permission granted. If not, it asks again after each interval until ctx
// ends, or gives up if there is none: a cache that cannot list its kind would never sync, and
// the others wait for it. If the API server fails, it asks again soon.
func AwaitLists(
	ctx context.Context, live client.Reader, kinds []schema.GroupVersionKind, namespaces []string, interval time.Duration, log logr.Logger,
) bool {
	for reported, next := "", interval; ; next = interval {
		err := List(ctx, live, kinds, namespaces)
		switch {
		case err == nil:
			return true
		case !NobodyCan(err):
			next = cmp.Or(min(interval, retry), retry) // nobody has to act
		case interval == 0:
			return false
		}
		if err.Error() != reported {
			reported = err.Error()
			log.Info("Waiting for kinds that cannot be listed", "reason", reported, "retryAfter", next)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(next):
		}
	}
}

// NobodyCan returns whether an error says that a kind is not installed, or may not be listed.
func NobodyCan(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
}

// List returns why a kind cannot be listed in some namespaces; nil: in all.
func List(ctx context.Context, live client.Reader, kinds []schema.GroupVersionKind, namespaces []string) error {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, kind := range kinds {
		for _, namespace := range namespaces {
			page := &metav1.PartialObjectMetadataList{}
			page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			if err := live.List(ctx, page, client.InNamespace(namespace), client.Limit(1)); err != nil {
				return err
			}
		}
	}
	return nil
}
