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
