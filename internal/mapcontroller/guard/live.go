// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// metadataPage is how many objects a page of metadata holds.
const metadataPage = 500

// EachMetadata calls do with the metadata of every live object of a kind, page
// by page.
func EachMetadata(
	ctx context.Context, live client.Reader, kind schema.GroupVersionKind, do func(client.Object) error, opts ...client.ListOption,
) error {
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		err := live.List(ctx, page, append(opts, client.Limit(metadataPage), client.Continue(page.Continue))...)
		if err != nil {
			return err
		}
		for i := range page.Items {
			// A copy: the next page is read into the same memory.
			o := page.Items[i].DeepCopy()
			o.SetGroupVersionKind(kind)
			if err := do(o); err != nil {
				return err
			}
		}
		if page.Continue == "" {
			return nil
		}
	}
}
