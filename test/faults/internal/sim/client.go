// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"net/http"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// apiClient is an operator's client of the API server. It implements the part of client.Client that the engine uses; anything else
// panics.
type apiClient struct {
	client.Client // nil

	operator *operator
}

var _ client.Client = (*apiClient)(nil)

// Scheme implements client.Client.
func (a *apiClient) Scheme() *runtime.Scheme { return scheme }

// kindOf returns the kind of an object, which may be metadata only.
func kindOf(o runtime.Object) (kube.Kind, error) {
	switch o.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return kube.KindForGVK(o.GetObjectKind().GroupVersionKind())
	}
	return kube.KindOf(o)
}

// Create implements client.Client.
func (a *apiClient) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	k, err := kube.KindOf(o)
	if err != nil {
		return err
	}
	var stored client.Object
	err = a.operator.send(call{
		verb: "create", resource: k.Resource(), key: client.ObjectKeyFromObject(o), write: true,
		serve: func(request int) (err error) {
			stored, err = a.operator.sim.server.Create(o, request)
			return err
		},
	})
	if err == nil {
		copyInto(stored, o)
	}
	return err
}

// Delete implements client.Client.
func (a *apiClient) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	k, err := kube.KindOf(o)
	if err != nil {
		return err
	}
	options := (&client.DeleteOptions{}).ApplyOptions(opts).AsDeleteOptions()
	return a.operator.send(call{
		verb: "delete", resource: k.Resource(), key: client.ObjectKeyFromObject(o), write: true,
		record: func(r *history.Request) {
			if p := options.Preconditions; p != nil && p.UID != nil {
				r.UID = string(*p.UID)
			}
			if p := options.Preconditions; p != nil && p.ResourceVersion != nil {
				r.ResourceVersion = *p.ResourceVersion
			}
		},
		serve: func(request int) error {
			return a.operator.sim.server.Delete(k, client.ObjectKeyFromObject(o), *options, request)
		},
	})
}

// Get implements client.Reader.
func (a *apiClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	k, err := kindOf(o)
	if err != nil {
		return err
	}
	var stored client.Object
	err = a.read(ctx, call{
		verb: "get", resource: k.Resource(), key: key,
		serve: func(request int) (err error) {
			stored, err = a.operator.sim.server.Get(k, key)
			a.operator.sim.history.Requests[request].Object = stored
			return err
		},
	})
	if err == nil {
		copyInto(stored, o)
	}
	return err
}

// List implements client.Reader, page by page.
func (a *apiClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	gvk, err := apiutil.GVKForObject(list, scheme)
	if err != nil {
		return err
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	k, err := kube.KindForGVK(gvk)
	if err != nil {
		return err
	}
	var page []client.Object
	var next string
	err = a.read(ctx, call{
		verb: "list", resource: k.Resource(), key: client.ObjectKey{Namespace: o.Namespace},
		serve: func(int) error {
			page, next = a.page(k, o)
			return nil
		},
	})
	if err != nil {
		return err
	}
	list.SetContinue(next)
	return fillList(list, page)
}

func (a *apiClient) page(k kube.Kind, o *client.ListOptions) (page []client.Object, next string) {
	for _, object := range a.operator.sim.server.List(k) {
		switch {
		case o.Namespace != "" && object.GetNamespace() != o.Namespace,
			o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(object.GetLabels())),
			o.Continue != "" && keyOf(object) <= o.Continue:
			continue
		case o.Limit > 0 && int64(len(page)) == o.Limit:
			return page, keyOf(page[len(page)-1])
		}
		page = append(page, object)
	}
	return page, ""
}

func fillList(list client.ObjectList, page []client.Object) error {
	if partial, ok := list.(*metav1.PartialObjectMetadataList); ok {
		partial.Items = make([]metav1.PartialObjectMetadata, len(page))
		for i, o := range page {
			copyInto(o, &partial.Items[i])
		}
		return nil
	}
	objects := make([]runtime.Object, len(page))
	for i, o := range page {
		objects[i] = o.DeepCopyObject()
	}
	return meta.SetList(list, objects)
}

// read sends a request through the product's own transport.
func (a *apiClient) read(ctx context.Context, c call) error {
	var err error
	transport := a.operator.withServerClock(roundTrip(func(*http.Request) (*http.Response, error) {
		number := len(a.operator.sim.history.Requests)
		if err = a.operator.send(c); codeOf(err) == 0 {
			return nil, err
		}
		answer := &http.Response{Header: http.Header{}}
		if date := a.operator.sim.history.Requests[number].Date; !date.IsZero() {
			answer.Header.Set("Date", date.Format(http.TimeFormat))
		}
		return answer, nil
	}))
	//nolint:bodyclose // it has no body
	if _, noAnswer := transport.RoundTrip((&http.Request{}).WithContext(ctx)); noAnswer != nil {
		return noAnswer
	}
	return err
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Patch implements client.Client for merge patches.
func (a *apiClient) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return a.patch(o, patch, "", a.operator.sim.server.Update)
}

// Status implements client.Client.
func (a *apiClient) Status() client.SubResourceWriter { return statusClient{api: a} }

type statusClient struct {
	client.SubResourceWriter

	api *apiClient
}

// Patch implements client.SubResourceWriter.
func (s statusClient) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.api.patch(o, patch, "status", s.api.operator.sim.server.UpdateStatus)
}

type update func(kube.Kind, client.ObjectKey, int, func(client.Object) error) (client.Object, error)

func (a *apiClient) patch(o client.Object, patch client.Patch, sub string, write update) error {
	k, err := kindOf(o)
	if err != nil {
		return err
	}
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	var stored client.Object
	err = a.operator.send(call{
		verb: "patch", resource: k.Resource(), subresource: sub, key: client.ObjectKeyFromObject(o), write: true,
		record: func(r *history.Request) { r.Body = data },
		serve: func(request int) (err error) {
			stored, err = write(k, client.ObjectKeyFromObject(o), request, func(o client.Object) error { return kube.Merge(o, data) })
			return err
		},
	})
	if err == nil && stored != nil {
		copyInto(stored, o)
	}
	return err
}

// GroupVersionKindFor implements client.Client.
func (a *apiClient) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, scheme)
}

// copyInto copies a stored object into the one that the operator passed.
func copyInto(stored, into client.Object) {
	if partial, ok := into.(*metav1.PartialObjectMetadata); ok {
		m := stored.DeepCopyObject().(interface{ GetObjectMeta() metav1.Object })
		partial.ObjectMeta = *m.GetObjectMeta().(*metav1.ObjectMeta)
		return
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(stored.DeepCopyObject()).Elem())
}
