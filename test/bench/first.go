// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/lab"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
)

// first creates PVCs one after another, among many that are taken care of, and takes the time
// until each has its first snapshot.
func first(ctx context.Context, b *bench, l *lab.Lab) (err error) {
	e, err := newEstate(ctx, l, "first", b.claims)
	if err != nil {
		return err
	}
	if err := e.take(ctx, 0, 1, nil); err != nil {
		return err
	}
	p, err := b.working(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := e.rest(ctx, p, b.claims); err != nil {
		return err
	}
	w, err := l.WatchSnapshots(ctx, e.schedule.Namespace)
	if err != nil {
		return err
	}
	defer w.Stop()
	var took []time.Duration
	for i := range b.firsts {
		bound, err := bindNew(ctx, l, e.schedule.Namespace, fmt.Sprintf("new-%05d", i))
		if err != nil {
			return err
		}
		if err := w.Await(ctx, lab.Added, i+1); err != nil {
			return err
		}
		took = append(took, w.Times(lab.Added)[i].Sub(bound))
	}
	worst := slices.Max(took)
	b.row(report.Row{
		What:     fmt.Sprintf("a new PVC's first snapshot, %d others present (worst of %d)", b.claims, len(took)),
		Measured: fmt.Sprintf("%.0f ms (median %.0f ms)", 1000*worst.Seconds(), 1000*report.Median(took).Seconds()),
		Values:   map[string]float64{"worst": worst.Seconds(), "median": report.Median(took).Seconds()},
	}.AtMost(worst.Seconds(), 1, "1 s"))
	return nil
}

// bindNew creates a PVC and binds it. It returns when it began to bind it, so that what the API
// server needs for that is counted in.
func bindNew(ctx context.Context, l *lab.Lab, namespace, name string) (time.Time, error) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	if err := l.Client.Create(ctx, claim); err != nil {
		return time.Time{}, err
	}
	claim.Status.Phase = corev1.ClaimBound
	begun := time.Now()
	return begun, l.Client.Status().Update(ctx, claim)
}
