// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"net/http"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/internal/transport"
)

// Configure removes the client-side rate limit, because the API server's own
// fairness knows better, bounds the bytes of a page, and reads the API server's
// clock from its responses.
func Configure(config *rest.Config, c clock.PassiveClock) {
	config.QPS = -1
	config.Wrap(transport.BoundPages)
	transport.ReadServerClock(config, c)
}

// RESTMapper returns a mapper that knows VolumeSnapshots and their classes without
// asking the API server, so that the cache can be set up for them where their CRD is not
// installed yet.
func RESTMapper(config *rest.Config, httpClient *http.Client) (meta.RESTMapper, error) {
	dynamic, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, err
	}
	known := meta.NewDefaultRESTMapper([]schema.GroupVersion{snapshotv1.SchemeGroupVersion, groupv1.SchemeGroupVersion})
	known.Add(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"), meta.RESTScopeNamespace)
	known.AddSpecific(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotClass"),
		snapshotv1.SchemeGroupVersion.WithResource("volumesnapshotclasses"),
		snapshotv1.SchemeGroupVersion.WithResource("volumesnapshotclass"), meta.RESTScopeRoot)
	known.Add(groupv1.SchemeGroupVersion.WithKind("VolumeGroupSnapshot"), meta.RESTScopeNamespace)
	known.AddSpecific(groupv1.SchemeGroupVersion.WithKind("VolumeGroupSnapshotClass"),
		groupv1.SchemeGroupVersion.WithResource("volumegroupsnapshotclasses"),
		groupv1.SchemeGroupVersion.WithResource("volumegroupsnapshotclass"), meta.RESTScopeRoot)
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{known, dynamic}}, nil
}
