// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
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
		typed = client.WithFieldValidation(suite.Must(client.New(config, client.Options{Scheme: cluster.Scheme})), metav1.FieldValidationStrict)
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
		s := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "complete"}}
		every := parseYAML(acceptedSpecs()["every field"])
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(every, &s.Spec, true)).To(Succeed())
		sent := s.DeepCopy()
		Expect(typed.Create(ctx, s, client.DryRunAll)).To(Succeed())
		Expect(s.Spec).To(BeComparableTo(sent.Spec, cmpopts.EquateEmpty()))
		Expect(typed.List(ctx, &v1alpha1.SnapshotScheduleList{})).To(Succeed())
	})
})
