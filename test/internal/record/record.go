// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record delivers every change of a kind of objects, without gaps.
package record

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Follow lists objects, which fills the list, and calls a function for each later change. The API server may
// end a watch at any time: the next one starts at the last change, so none is missed. wait blocks
// until the context ends, when it returns nil, or until a watch can't be resumed.
func Follow(
	ctx context.Context, c client.WithWatch, list client.ObjectList, changed func(watch.EventType, client.Object), in ...client.ListOption,
) (wait func() error, err error) {
	if err := c.List(ctx, list, in...); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	version, kind := list.GetResourceVersion(), list.DeepCopyObject().(client.ObjectList) // the caller may list into it again
	go func() { done <- follow(ctx, c, kind, version, changed, in) }()
	return func() error { return <-done }, nil
}

func follow(
	ctx context.Context, c client.WithWatch, list client.ObjectList, version string,
	changed func(watch.EventType, client.Object), in []client.ListOption,
) error {
	for ctx.Err() == nil {
		raw := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true}}
		w, err := c.Watch(ctx, list, append([]client.ListOption{raw}, in...)...)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		stop := context.AfterFunc(ctx, w.Stop)
		for e := range w.ResultChan() {
			o, ok := e.Object.(client.Object)
			if !ok {
				stop()
				w.Stop()
				return ignoreEnd(ctx, apierrors.FromObject(e.Object))
			}
			version = o.GetResourceVersion()
			if e.Type != watch.Bookmark {
				changed(e.Type, o)
			}
		}
		stop()
	}
	return nil
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the caller ended it
	}
	return err
}
