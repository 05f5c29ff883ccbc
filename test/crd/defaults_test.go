// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Contract: API-2.
func TestDefaults(t *testing.T) {
	const (
		plain = "{snapshotInterval: 6h, suspend: false, readyDeadline: 1h, deletionPolicy: Delete, retention: {minReady: 1, detached: {minReady: 0}}}"
		cron  = `{schedule: "@daily", suspend: false, readyDeadline: 1h, deletionPolicy: Delete, retention: {minReady: 1, detached: {minReady: 0}}}`
	)
	for name, tc := range map[string]struct{ spec, want string }{
		"an interval alone":   {"{snapshotInterval: 6h}", plain},
		"a schedule alone":    {`{schedule: "@daily"}`, cron},
		"empty retention":     {"{snapshotInterval: 6h, retention: {}}", plain},
		"empty detached":      {"{snapshotInterval: 6h, retention: {detached: {}}}", plain},
		"everything null":     {"{snapshotInterval: 6h, schedule: null, suspend: null, readyDeadline: null, retention: null}", plain},
		"null inside":         {"{snapshotInterval: 6h, retention: {minReady: null, detached: null}}", plain},
		"a floor of zero":     {"{snapshotInterval: 6h, retention: {minReady: 0}}", "{snapshotInterval: 6h, suspend: false, readyDeadline: 1h, deletionPolicy: Delete, retention: {minReady: 0, detached: {minReady: 0}}}"},
		"a cap alone":         {"{snapshotInterval: 6h, retention: {maxCount: 5}}", "{snapshotInterval: 6h, suspend: false, readyDeadline: 1h, deletionPolicy: Delete, retention: {maxCount: 5, minReady: 1, detached: {minReady: 0}}}"},
		"a detached TTL":      {"{snapshotInterval: 6h, retention: {detached: {snapshotTTL: 30d}}}", "{snapshotInterval: 6h, suspend: false, readyDeadline: 1h, deletionPolicy: Delete, retention: {minReady: 1, detached: {snapshotTTL: 30d, minReady: 0}}}"},
		"another deadline":    {"{snapshotInterval: 6h, readyDeadline: 2h}", "{snapshotInterval: 6h, suspend: false, readyDeadline: 2h, deletionPolicy: Delete, retention: {minReady: 1, detached: {minReady: 0}}}"},
		"another policy":      {"{snapshotInterval: 6h, deletionPolicy: Orphan}", "{snapshotInterval: 6h, suspend: false, readyDeadline: 1h, deletionPolicy: Orphan, retention: {minReady: 1, detached: {minReady: 0}}}"},
		"a suspended one":     {"{snapshotInterval: 6h, suspend: true}", "{snapshotInterval: 6h, suspend: true, readyDeadline: 1h, deletionPolicy: Delete, retention: {minReady: 1, detached: {minReady: 0}}}"},
		"an empty selector":   {"{snapshotInterval: 6h, selector: {}}", "{snapshotInterval: 6h, selector: {}, suspend: false, readyDeadline: 1h, deletionPolicy: Delete, retention: {minReady: 1, detached: {minReady: 0}}}"},
		"an empty template":   {"{snapshotInterval: 6h, snapshotTemplate: {}}", "{snapshotInterval: 6h, snapshotTemplate: {}, suspend: false, readyDeadline: 1h, deletionPolicy: Delete, retention: {minReady: 1, detached: {minReady: 0}}}"},
		"tiers, none of them": {"{snapshotInterval: 6h, retention: {keep: {}}}", "{snapshotInterval: 6h, suspend: false, readyDeadline: 1h, deletionPolicy: Delete, retention: {keep: {}, minReady: 1, detached: {minReady: 0}}}"},
	} {
		t.Run(name, func(t *testing.T) {
			object := newSchedule(t, "defaults", tc.spec)
			if err := api.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			if got, want := object.Object["spec"], any(parse(t, tc.want)); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

// A program that fills in the Go types must be able to leave out whatever is optional, and get
// the defaults back.
func TestGoTypes(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	typed, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	typed = client.WithFieldValidation(typed, metav1.FieldValidationStrict)

	least := &v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "least"},
		Spec:       v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"},
	}
	if err := typed.Create(t.Context(), least, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: "6h",
		ReadyDeadline:    "1h",
		DeletionPolicy:   v1alpha1.DeletionDelete,
		Retention:        v1alpha1.Retention{MinReady: ptr.To[int32](1)},
	}
	if !reflect.DeepEqual(least.Spec, want) {
		t.Errorf("got  %+v\nwant %+v", least.Spec, want)
	}

	everything := &v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "everything"},
		Spec: v1alpha1.SnapshotScheduleSpec{
			Selector:         metav1.LabelSelector{MatchLabels: map[string]string{"app": "my-app"}},
			Schedule:         "30 2 * * *",
			TimeZone:         "Europe/Oslo",
			SnapshotTTL:      "10d",
			Suspend:          true,
			StartingDeadline: "2h",
			Jitter:           "15m",
			ReadyDeadline:    "2h",
			DeletionPolicy:   v1alpha1.DeletionOrphan,
			SnapshotTemplate: v1alpha1.SnapshotTemplate{
				Metadata: v1alpha1.SnapshotTemplateMetadata{
					Labels:      map[string]v1alpha1.LabelValue{"app": "my-app"},
					Annotations: map[string]string{"note": "x"},
				},
				Spec: v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: ptr.To("fast")},
			},
			Retention: v1alpha1.Retention{
				MinReady: ptr.To[int32](0),
				MaxCount: ptr.To[int32](100),
				Keep:     v1alpha1.Keep{Last: 3, Hourly: 24, Daily: 7, Weekly: 4, Monthly: 12, Yearly: 3},
				Detached: v1alpha1.DetachedRetention{SnapshotTTL: "30d", MinReady: 1},
			},
		},
	}
	sent := everything.DeepCopy()
	if err := typed.Create(t.Context(), everything, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(everything.Spec, sent.Spec) {
		t.Errorf("got  %+v\nwant %+v", everything.Spec, sent.Spec)
	}

	var list v1alpha1.SnapshotScheduleList
	if err := typed.List(t.Context(), &list); err != nil {
		t.Error(err)
	}
}
