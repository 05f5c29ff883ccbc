// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Install applies objects and waits until the kinds of CRDs among them are available.
func Install(ctx context.Context, c client.Client, d discovery.DiscoveryInterface, objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		// Apply overwrites its argument with the answer.
		applied := client.ApplyConfigurationFromUnstructured(o.DeepCopy())
		if err := c.Apply(ctx, applied, client.FieldOwner("test"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			if err := waitForCRD(ctx, c, d, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitForCRD waits until the first version of a CRD can be discovered and listed.
func waitForCRD(ctx context.Context, c client.Client, d discovery.DiscoveryInterface, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	groupVersion := group + "/" + versions[0].(map[string]any)["name"].(string)
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		var resources *metav1.APIResourceList
		if resources, last = d.ServerResourcesForGroupVersion(groupVersion); last != nil {
			return false, nil //nolint:nilerr // tried again until the timeout
		}
		if !slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == plural }) {
			last = errors.New("it can't be discovered")
			return false, nil
		}
		all := &unstructured.UnstructuredList{}
		all.SetAPIVersion(groupVersion)
		all.SetKind(kind + "List")
		last = c.List(ctx, all, client.Limit(1))
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", crd.GetName(), errors.Join(err, last))
	}
	return nil
}
