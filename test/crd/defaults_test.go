// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("Defaults", func() {
	const (
		interval = "{snapshotInterval: 6h, suspend: false, readyDeadline: 1h, " +
			"retention: {minReady: 1, detached: {minReady: 0}}}"
		cron = `{schedule: "@daily", suspend: false, readyDeadline: 1h, ` +
			"retention: {minReady: 1, detached: {minReady: 0}}}"
	)
	// Contract: API-2.
	DescribeTable("are set where a field is omitted, and nowhere else",
		func(spec, defaulted, changes string) {
			object := newSchedule("defaults", spec)
			Expect(dryRun(object)).To(Succeed())
			want := parseYAML(defaulted)
			maps.Copy(want, parseYAML(changes))
			Expect(object.Object["spec"]).To(Equal(any(want)))
		},
		Entry("only an interval", "{snapshotInterval: 6h}", interval, ""),
		Entry("only a schedule", `{schedule: "@daily"}`, cron, ""),
		Entry("empty retention", "{snapshotInterval: 6h, retention: {}}", interval, ""),
		Entry("empty detached", "{snapshotInterval: 6h, retention: {detached: {}}}", interval, ""),
		Entry("null fields", "{snapshotInterval: 6h, schedule: null, suspend: null, readyDeadline: null, retention: null}", interval, ""),
		Entry("null inner fields", "{snapshotInterval: 6h, retention: {minReady: null, detached: null}}", interval, ""),
		Entry("minReady of zero", "{snapshotInterval: 6h, retention: {minReady: 0}}", interval,
			"retention: {minReady: 0, detached: {minReady: 0}}"),
		Entry("only maxCount", "{snapshotInterval: 6h, retention: {maxCount: 5}}", interval,
			"retention: {maxCount: 5, minReady: 1, detached: {minReady: 0}}"),
		Entry("a detached TTL", "{snapshotInterval: 6h, retention: {detached: {snapshotTTL: 30d}}}", interval,
			"retention: {minReady: 1, detached: {snapshotTTL: 30d, minReady: 0}}"),
		Entry("another readyDeadline", "{snapshotInterval: 6h, readyDeadline: 2h}", interval, "readyDeadline: 2h"),
		Entry("a deletionPolicy", "{snapshotInterval: 6h, deletionPolicy: Orphan}", interval, "deletionPolicy: Orphan"),
		Entry("suspended", "{snapshotInterval: 6h, suspend: true}", interval, "suspend: true"),
		Entry("an empty selector", "{snapshotInterval: 6h, selector: {}}", interval, "selector: {}"),
		Entry("an empty template", "{snapshotInterval: 6h, snapshotTemplate: {}}", interval, "snapshotTemplate: {}"),
		Entry("empty tiers", "{snapshotInterval: 6h, retention: {keep: {}}}", interval,
			"retention: {keep: {}, minReady: 1, detached: {minReady: 0}}"),
	)
})

var _ = Describe("The Go types", func() {
	var typed client.Client
	BeforeEach(func() {
		scheme := runtime.NewScheme()
		Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
		lenient, err := client.New(config, client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		typed = client.WithFieldValidation(lenient, metav1.FieldValidationStrict)
	})

	// Contract: API-2.
	It("may omit every optional field, and receive the defaults", func() {
		s := &v1alpha1.SnapshotSchedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "minimal"},
			Spec:       v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"},
		}
		Expect(typed.Create(ctx, s, client.DryRunAll)).To(Succeed())
		Expect(s.Spec).To(Equal(v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h",
			ReadyDeadline:    "1h",
			Retention:        v1alpha1.Retention{MinReady: ptr.To[int32](1)},
		}))
	})

	It("send every field unchanged", func() {
		s := &v1alpha1.SnapshotSchedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "complete"},
			Spec: v1alpha1.SnapshotScheduleSpec{
				Selector:          v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "my-app"}},
				StorageClassNames: []v1alpha1.StorageClassName{"fast", "standard"},
				Schedule:          "30 2 * * *",
				TimeZone:          "Europe/Oslo",
				SnapshotTTL:       "10d",
				Suspend:           true,
				StartingDeadline:  "2h",
				Jitter:            "15m",
				ReadyDeadline:     "2h",
				DeletionPolicy:    v1alpha1.DeletionOrphan,
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
		sent := s.DeepCopy()
		Expect(typed.Create(ctx, s, client.DryRunAll)).To(Succeed())
		Expect(s.Spec).To(Equal(sent.Spec))
		Expect(typed.List(ctx, &v1alpha1.SnapshotScheduleList{})).To(Succeed())
	})
})
