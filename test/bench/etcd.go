// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
)

// put writes objects into etcd, or overwrites them, and waits until the API server has seen all of them: it writes
// the last one of each type again, alone, and waits for that.
func (s *server) put(ctx context.Context, objects ...client.Object) {
	// The objects of one transaction have the same revision. A client that starts a watch between two of them
	// misses the rest, and a running client may have to start its watch again at any time.
	size := etcd.MaxObjects
	if s.running.Load() > 0 {
		size = 1
	}
	for some := range slices.Chunk(objects, size) {
		value(s.etcd.Put(ctx, some...))
	}
	last := map[reflect.Type]client.Object{}
	for _, o := range objects {
		last[reflect.TypeOf(o)] = o
	}
	for _, o := range last {
		s.putAlone(ctx, o)
	}
}

func (s *server) putAlone(ctx context.Context, o client.Object) {
	revision := value(s.etcd.Put(ctx, o))
	kind := value(apiutil.GVKForObject(o, cluster.Scheme))
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	must(poll(ctx, 5*time.Millisecond, func() (bool, error) {
		err := s.client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"metadata.name": o.GetName()},
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
		if apierrors.IsTooManyRequests(err) { // the API server's cache of a new kind is being filled
			return false, nil
		}
		return err == nil && len(list.Items) == 1 && list.Items[0].ResourceVersion == revision, err
	}))
}

// drop removes an object from etcd, whatever finalizers it has.
func (s *server) drop(ctx context.Context, o client.Object) {
	must(s.etcd.Delete(ctx, value(etcd.Key(o))))
}

// clear removes all PVCs, snapshots and schedules of a namespace from etcd.
func (s *server) clear(ctx context.Context, namespace string) {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(http.DefaultMaxIdleConnsPerHost)
	for _, o := range []client.Object{&v1alpha1.SnapshotSchedule{}, &snapshotv1.VolumeSnapshot{}, &corev1.PersistentVolumeClaim{}} {
		o.SetNamespace(namespace)
		for _, key := range value(s.etcd.Keys(ctx, o)) {
			all.Go(func() error { return s.etcd.Delete(ctx, key) })
		}
	}
	must(all.Wait())
}

// normalized returns a snapshot of a namespace as JSON, without the values that differ between any two
// snapshots. It is the same for two clients that create the same objects.
func (s *server) normalized(ctx context.Context, namespace string) string {
	var list snapshotv1.VolumeSnapshotList
	must(s.client.List(ctx, &list, client.InNamespace(namespace), client.Limit(1)))
	if len(list.Items) == 0 {
		must(fmt.Errorf("namespace %s has no snapshots", namespace))
	}
	return normalize(&list.Items[0])
}

// varying are the values that differ. Each has a fixed length, except the resource version.
var varying = []struct {
	value *regexp.Regexp
	by    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`-\d{14}-[0-9a-z]{10}`), "-SLOT-HASH"},
	{regexp.MustCompile(`"resourceVersion":"\d+"`), `"resourceVersion":"N"`},
	{regexp.MustCompile(`claim-\d{5}`), "CLAIM"},
	{regexp.MustCompile(`"namespace":"[^"]*"`), `"namespace":"NAMESPACE"`},
}

func normalize(o *snapshotv1.VolumeSnapshot) string {
	text := value(json.Marshal(o))
	for _, v := range varying {
		text = v.value.ReplaceAll(text, []byte(v.by))
	}
	return string(text)
}
