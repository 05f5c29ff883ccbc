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
