// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"slices"
	"sync/atomic"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// unprotected is the gauge of the PVCs that no schedule protects. They are counted
// at each scrape, so that it costs nothing in between.
var unprotected = unprotectedClaims{desc: newUnprotectedDesc()}

type unprotectedClaims struct {
	desc *prometheus.Desc
	// count returns the number in each namespace; nil while this process does not lead.
	count atomic.Pointer[func() map[string]int]
}

func newUnprotectedDesc() *prometheus.Desc {
	m := describe("gauge", "unprotected_persistentvolumeclaims",
		"Number of PersistentVolumeClaims that are bound and can be snapshotted, but that no valid schedule selects that is not "+
			"suspended. Claims with the annotation "+v1alpha1.AnnotationExclude+" are not counted.", labelNamespace)
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}

// Describe implements prometheus.Collector.
func (u *unprotectedClaims) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- u.desc }

// Collect implements prometheus.Collector.
func (u *unprotectedClaims) Collect(found chan<- prometheus.Metric) {
	if count := u.count.Load(); count != nil {
		for namespace, n := range (*count)() {
			found <- prometheus.MustNewConstMetric(u.desc, prometheus.GaugeValue, float64(n), namespace)
		}
	}
}

// setUpUnprotected counts unprotected PVCs while this process leads. Before the cache
// has every VolumeSnapshotClass, nothing is known.
func setUpUnprotected(mgr manager.Manager, stores *Stores, classesKnown bool) error {
	var listed atomic.Bool
	stores.OnList(func(example runtime.Object, err error) {
		if _, isClass := example.(*snapshotv1.VolumeSnapshotClass); isClass && err == nil {
			listed.Store(true)
		}
	})
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		count := func() map[string]int {
			if classesKnown && (!listed.Load() || !classesSynced(ctx, mgr.GetCache())) {
				return nil
			}
			return countUnprotected(stores.List(&corev1.PersistentVolumeClaim{}, ""), stores.List(&v1alpha1.SnapshotSchedule{}, ""),
				Classes{Known: classesKnown, All: stores.List(&snapshotv1.VolumeSnapshotClass{}, "")})
		}
		unprotected.count.Store(&count)
		defer unprotected.count.CompareAndSwap(&count, nil)
		<-ctx.Done()
		return nil
	}))
}

// classesSynced asks for an informer that the engine has made: another one would
// end the manager where the kind is not installed.
func classesSynced(ctx context.Context, c cache.Cache) bool {
	informer, err := c.GetInformer(ctx, &snapshotv1.VolumeSnapshotClass{}, cache.BlockUntilSynced(false))
	return err == nil && informer.HasSynced()
}

// countUnprotected returns, for each namespace with a PVC that can be snapshotted,
// how many no schedule protects.
func countUnprotected(claims, schedules []client.Object, classes Classes) map[string]int {
	protecting := map[string][]*program{}
	for _, o := range schedules {
		s := o.(*v1alpha1.SnapshotSchedule)
		if p, err := newProgram(s, classes.Known); err == nil && !s.Spec.Suspend && s.DeletionTimestamp == nil {
			protecting[s.Namespace] = append(protecting[s.Namespace], p)
		}
	}
	counts := map[string]int{}
	for _, o := range claims {
		claim := o.(*corev1.PersistentVolumeClaim)
		if Excluded(claim) || skip(claim) != "" || classes.notSnapshottable(claim) != "" {
			continue
		}
		n := counts[claim.Namespace]
		if !slices.ContainsFunc(protecting[claim.Namespace], func(p *program) bool {
			return p.selects(claim) && !metav1.IsControlledBy(claim, p.schedule)
		}) {
			n++
		}
		counts[claim.Namespace] = n
	}
	return counts
}
