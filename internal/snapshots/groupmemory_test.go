// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// BenchmarkHeapOfGroups is what the caches hold of a group snapshot with so many PVCs, and of each of its members.
// Each object is decoded on its own, as those of the API server are.
func BenchmarkHeapOfGroups(b *testing.B) {
	for _, claims := range []int{2, 10, 100} {
		b.Run(fmt.Sprintf("claims=%d", claims), func(b *testing.B) {
			var names string
			for i := range claims {
				names += fmt.Sprintf("data-database-%02d ", i)
			}
			g := group(time.Hour, names, names)
			n, ofGroup, ofMember := 20_000/claims, 0.0, 0.0
			for b.Loop() {
				ofGroup = cachedSize(b, n, g.VolumeGroupSnapshot, func() client.Object { return &groupv1.VolumeGroupSnapshot{} }, stripGroup)
				ofMember = cachedSize(b, n, g.members[0], func() client.Object { return &snapshotv1.VolumeSnapshot{} }, stripMember)
			}
			b.ReportMetric(ofGroup, "B/group")
			b.ReportMetric(ofMember, "B/member")
		})
	}
}

// cachedSize returns the bytes that one of n objects takes in a cache.
func cachedSize(b *testing.B, n int, o client.Object, empty func() client.Object, strip toolscache.TransformFunc) float64 {
	b.Helper()
	text, err := json.Marshal(o)
	must(b, err)
	text = shortUID.ReplaceAll(text, []byte("0f6d5c8e-1b2a-4c3d-9e8f-0011223344$1"))
	byNamespace := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, byNamespace)
	size := heapOf(func() {
		for i := range n {
			decoded := empty()
			must(b, json.Unmarshal(text, decoded))
			decoded.SetName(fmt.Sprintf("%s-%d", o.GetName(), i))
			stripped, err := strip(decoded)
			must(b, err)
			must(b, store.Add(stripped))
		}
	})
	runtime.KeepAlive(store)
	return float64(size) / float64(n)
}

// TestMemoryOfAnIndexOfGroups is what the index of a schedule costs for each PVC, if each is a group of its own.
func TestMemoryOfAnIndexOfGroups(t *testing.T) {
	const claims, value = 2_000, 63
	for name, labels := range map[string]int{"one label": 1, "as many long labels as a selector has": 32} {
		t.Run(name, func(t *testing.T) {
			p, s := newPopulation(t), every("6h").grouped()
			s.Spec.Group.ByLabel, s.Spec.Suspend, s.Spec.Selector.MatchLabels = "team", true, map[string]v1alpha1.LabelValue{}
			for i := range labels {
				s.Spec.Selector.MatchLabels[fmt.Sprint("label-", i)] = v1alpha1.LabelValue(strings.Repeat("x", value))
			}
			must(t, p.schedules.Add(s.SnapshotSchedule))
			for i := range claims {
				c := nthClaim(i)
				c.Labels = map[string]string{"team": fmt.Sprint("team-", i)}
				for label, v := range s.Spec.Selector.MatchLabels {
					c.Labels[label] = string(v)
				}
				must(t, p.claims.Add(transformed(t, stripClaim, c.PersistentVolumeClaim, &corev1.PersistentVolumeClaim{})))
			}
			requests := p.track()
			if len(requests) != claims {
				t.Fatalf("%d groups, want %d", len(requests), claims)
			}
			size, bound := heapOf(func() { p.reconcile(t, requests[0]) })/claims, 400+labels*value*6/5
			t.Logf("%d bytes for each", size)
			if size > bound {
				t.Errorf("%d bytes for each, want at most %d", size, bound)
			}
			runtime.KeepAlive(p)
		})
	}
}

// shortUID are the UIDs of the tests' PVCs, which are shorter than real ones.
var shortUID = regexp.MustCompile(`data-database-(\d\d)-uid`)
