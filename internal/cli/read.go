// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is how many objects are read at once.
const pageSize = 1000

// Pages reads a list page by page. The result has all items.
func Pages(ctx context.Context, c client.Reader, list client.ObjectList, opts ...client.ListOption) error {
	var all []runtime.Object
	for token := ""; ; {
		page := list.DeepCopyObject().(client.ObjectList)
		if err := c.List(ctx, page, append(opts, client.Limit(pageSize), client.Continue(token))...); err != nil {
			return err
		}
		items, err := meta.ExtractList(page)
		if err != nil {
			return err
		}
		all = append(all, items...)
		if token = page.GetContinue(); token == "" {
			return meta.SetList(list, all)
		}
	}
}
