// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// NewClient is a manager's NewClient. Its client creates objects without decoding the
// responses: the watch delivers the same objects, and has to decode them anyway.
// docs/contribute/results.md measures what that saves.
func NewClient(config *rest.Config, o client.Options) (client.Client, error) {
	c, err := client.New(config, o)
	if err != nil {
		return nil, err
	}
	return &creator{Client: c, config: config, http: o.HTTPClient, codecs: serializer.NewCodecFactory(c.Scheme())}, nil
}

type creator struct {
	client.Client

	config *rest.Config
	http   *http.Client
	codecs serializer.CodecFactory
	// resources holds a *resource for each GroupVersionKind.
	resources sync.Map
}

// resource is where the objects of a kind are created.
type resource struct {
	client     rest.Interface
	name       string
	namespaced bool
}

// Create implements client.Client. It leaves the object as it is.
func (c *creator) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	r, err := c.resource(o)
	if err != nil {
		return err
	}
	return r.client.Post().
		NamespaceIfScoped(o.GetNamespace(), r.namespaced).
		Resource(r.name).
		VersionedParams((&client.CreateOptions{}).ApplyOptions(opts).AsCreateOptions(), metav1.ParameterCodec).
		Body(o).
		Do(ctx).
		Error()
}

func (c *creator) resource(o client.Object) (*resource, error) {
	kind, err := c.GroupVersionKindFor(o)
	if err != nil {
		return nil, err
	}
	if known, ok := c.resources.Load(kind); ok {
		return known.(*resource), nil
	}
	r, err := c.find(kind, o)
	if err == nil {
		c.resources.Store(kind, r)
	}
	return r, err
}

func (c *creator) find(kind schema.GroupVersionKind, o client.Object) (*resource, error) {
	mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	_, generic := o.(runtime.Unstructured)
	rc, err := apiutil.RESTClientForGVK(kind, false, generic, c.config, c.codecs, c.http)
	return &resource{client: rc, name: mapping.Resource.Resource, namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}, err
}
