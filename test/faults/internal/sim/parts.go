// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
)

// served is a discovery by which everything is installed.
type served struct {
	discovery.ServerResourcesInterface // the engine asks for one group and version at a time
}

// ServerResourcesForGroupVersion implements discovery.ServerResourcesInterface.
func (served) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	resources := map[string][]metav1.APIResource{
		"v1":                                   {{Kind: "PersistentVolumeClaim"}},
		snapshotv1.SchemeGroupVersion.String(): {{Kind: "VolumeSnapshot"}},
	}
	return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: resources[groupVersion]}, nil
}

// recorder takes events: they are sent from goroutines of their own, and lost
// without harm.
type recorder struct{}

// Eventf implements events.EventRecorder.
func (recorder) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}
