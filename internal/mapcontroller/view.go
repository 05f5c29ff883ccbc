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

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// view reads from the cache, always by index or by name. What it returns is
// shared with the cache: it must never be changed.
type view struct {
	client.Reader
	scheme *runtime.Scheme
}

// list returns the objects of a kind, as pointers to shallow copies.
func (v view) list(ctx context.Context, kind client.Object, opts ...client.ListOption) ([]client.Object, error) {
	return list(ctx, v.Reader, v.scheme, kind, append(opts, client.UnsafeDisableDeepCopy)...)
}

func list(
	ctx context.Context, r client.Reader, scheme *runtime.Scheme, kind client.Object, opts ...client.ListOption,
) ([]client.Object, error) {
	gvk, err := apiutil.GVKForObject(kind, scheme)
	if err != nil {
		return nil, err
	}
	gvk.Kind += "List"
	into, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	l := into.(client.ObjectList)
	if err := r.List(ctx, l, opts...); err != nil {
		return nil, err
	}
	objects := make([]client.Object, 0, meta.LenList(l))
	err = meta.EachListItem(l, func(o runtime.Object) error {
		objects = append(objects, o.(client.Object))
		return nil
	})
	return objects, err
}

// input returns the object that a map key stands for, or nil.
func (v view) input(ctx context.Context, kinds []Input, namespace, mapKey string) (client.Object, error) {
	for _, in := range kinds {
		found, err := v.list(ctx, in.Object, client.InNamespace(namespace), client.MatchingFields{inputKeyField: mapKey})
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return nil, nil
}

// claimable returns what a parent controls for a map key, and the orphans that
// name both. An empty map key is one like any other: a label may be empty.
func (v view) claimable(ctx context.Context, kinds []Output, parent client.Object, mapKey string) ([]client.Object, error) {
	return v.outputs(ctx, kinds, parent, func(owner string) client.MatchingFields {
		return client.MatchingFields{claimField: claimValue(owner, mapKey)}
	})
}

// claimableAll returns the same for all map keys.
func (v view) claimableAll(ctx context.Context, kinds []Output, parent client.Object) ([]client.Object, error) {
	return v.outputs(ctx, kinds, parent, func(owner string) client.MatchingFields {
		return client.MatchingFields{ownerField: owner}
	})
}

func (v view) outputs(
	ctx context.Context, kinds []Output, parent client.Object, of func(owner string) client.MatchingFields,
) ([]client.Object, error) {
	var all []client.Object
	for _, owner := range [...]string{string(parent.GetUID()), orphanOf(parent.GetName())} {
		for _, out := range kinds {
			found, err := v.list(ctx, out.Object, client.InNamespace(parent.GetNamespace()), of(owner))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}
