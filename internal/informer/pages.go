// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// pages fills an informer page by page and strips each page before it asks for
// the next: a list is decoded for a third of what the same objects cost as
// events of a streamed list, and only one page is ever held unstripped.
//
// It reads what etcd holds, not what a watch cache holds, so that a restarted
// process never sees an older state than the one it acted on before.
type pages struct {
	toolscache.ListerWatcherWithContext

	transform toolscache.TransformFunc
	// listed is called after every list, with its error.
	listed func(error)
}

// IsWatchListSemanticsUnSupported makes reflectors list instead of stream.
func (p *pages) IsWatchListSemanticsUnSupported() bool { return true }

// List implements toolscache.ListerWatcher.
func (p *pages) List(o metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), o)
}

// Watch implements toolscache.ListerWatcher.
func (p *pages) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), o)
}

// ListWithContext lists all objects, whatever page was asked for. If the pages
// are compacted away meanwhile, it fails as expired and the reflector starts
// again: one unpaged list instead would take several times the memory.
func (p *pages) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	o.ResourceVersion, o.ResourceVersionMatch, o.Limit, o.Continue = "", "", 0, ""
	all := pager.New(p.page)
	all.FullListIfExpired = false
	list, _, err := all.List(ctx, o)
	p.listed(err)
	return list, err
}

// page copies the objects out of the page: any one of them would keep the whole
// page in memory.
func (p *pages) page(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := p.ListerWatcherWithContext.ListWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	of, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	stripped := &metainternalversion.List{
		ListMeta: metav1.ListMeta{ResourceVersion: of.GetResourceVersion(), Continue: of.GetContinue()},
		Items:    make([]runtime.Object, 0, meta.LenList(list)),
	}
	return stripped, meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
		if p.transform != nil {
			one, err := p.transform(item)
			if err != nil {
				return err
			}
			item = one.(runtime.Object)
		}
		stripped.Items = append(stripped.Items, item)
		return nil
	})
}

// pagedInformer applies the transform of the informer to its pages as well.
type pagedInformer struct {
	toolscache.SharedIndexInformer
	pages *pages
}

func (i *pagedInformer) SetTransform(transform toolscache.TransformFunc) error {
	if err := i.SharedIndexInformer.SetTransform(transform); err != nil {
		return err
	}
	i.pages.transform = transform
	return nil
}
