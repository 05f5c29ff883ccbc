// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// Kind is one of the kinds that the server stores.
type Kind int

const (
	// Schedules are SnapshotSchedules: a custom resource with a status subresource.
	Schedules Kind = iota
	// Claims are PersistentVolumeClaims.
	Claims
	// Snapshots are VolumeSnapshots: a custom resource with a status subresource.
	Snapshots
	// Classes are VolumeSnapshotClasses, of which nobody creates any.
	Classes
	// Kinds is how many there are.
	Kinds
)

var gvks = [Kinds]schema.GroupVersionKind{
	v1alpha1.GroupVersion.WithKind("SnapshotSchedule"),
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"),
	snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotClass"),
}

// GroupVersionKind is what objects of the kind say of themselves.
func (k Kind) GroupVersionKind() schema.GroupVersionKind { return gvks[k] }

// Resource is the kind's resource, as in requests and RBAC.
func (k Kind) Resource() schema.GroupResource {
	plural := map[bool]string{false: "s", true: "es"}[k == Classes]
	return schema.GroupResource{Group: gvks[k].Group, Resource: strings.ToLower(gvks[k].Kind) + plural}
}

// newObject returns an object of a kind without content.
func (k Kind) newObject() client.Object {
	o, err := cluster.Scheme.New(gvks[k])
	must(err)
	return o.(client.Object)
}

// KindOf returns the kind of an object, or of the items of a list.
func KindOf(o runtime.Object) (Kind, error) {
	gvk, err := apiutil.GVKForObject(o, cluster.Scheme)
	if err != nil {
		return 0, err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	for k, stored := range gvks {
		if stored == gvk {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("a %s is not stored", gvk.Kind)
}

func clone(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }
