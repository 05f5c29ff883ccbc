// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
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
	// Namespaces are in none.
	Namespaces
	kinds
)

var kindInfo = [kinds]struct {
	resource string
	gvk      schema.GroupVersionKind
}{
	{"snapshotschedules", v1alpha1.GroupVersion.WithKind("SnapshotSchedule")},
	{"persistentvolumeclaims", corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")},
	{"volumesnapshots", snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot")},
	{"namespaces", corev1.SchemeGroupVersion.WithKind("Namespace")},
}

// Resource is the kind's resource, as in requests and RBAC.
func (k Kind) Resource() schema.GroupResource {
	return schema.GroupResource{Group: kindInfo[k].gvk.Group, Resource: kindInfo[k].resource}
}

// GroupVersionKind is what objects of the kind say of themselves.
func (k Kind) GroupVersionKind() schema.GroupVersionKind { return kindInfo[k].gvk }

// KindOf returns the kind of a typed object.
func KindOf(o any) (Kind, error) {
	switch o.(type) {
	case *v1alpha1.SnapshotSchedule:
		return Schedules, nil
	case *corev1.PersistentVolumeClaim:
		return Claims, nil
	case *snapshotv1.VolumeSnapshot:
		return Snapshots, nil
	case *corev1.Namespace:
		return Namespaces, nil
	}
	return 0, fmt.Errorf("unknown kind %T", o)
}

func clone(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }
