// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// creator creates outputs and does not decode the answers: the watch brings the
// same object, and has it decoded anyway.
type creator struct {
	kinds        map[reflect.Type]restKind
	fieldManager string
}

type restKind struct {
	client   rest.Interface
	resource string
}

func (c *MapController[P, S]) newCreator(mgr manager.Manager) (*creator, error) {
	codecs := serializer.NewCodecFactory(mgr.GetScheme())
	made := &creator{kinds: map[reflect.Type]restKind{}, fieldManager: c.Name}
	for _, out := range c.Outputs {
		gvk, err := apiutil.GVKForObject(out.Object, mgr.GetScheme())
		if err != nil {
			return nil, err
		}
		r, err := apiutil.RESTClientForGVK(gvk, false, false, mgr.GetConfig(), codecs, mgr.GetHTTPClient())
		if err != nil {
			return nil, err
		}
		made.kinds[reflect.TypeOf(out.Object)] = restKind{client: r, resource: out.Resource}
	}
	return made, nil
}

func (c *creator) create(ctx context.Context, o client.Object) error {
	kind := c.kinds[reflect.TypeOf(o)]
	return kind.client.Post().
		NamespaceIfScoped(o.GetNamespace(), o.GetNamespace() != "").
		Resource(kind.resource).
		VersionedParams(&metav1.CreateOptions{FieldManager: c.fieldManager}, metav1.ParameterCodec).
		Body(o).
		Do(ctx).
		Error()
}
