// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedules "mapcontroller.dev/snapshotschedule/internal/schedule"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// object returns a valid object with the change that makes it invalid.
func (r rejected) object() *unstructured.Unstructured {
	GinkgoHelper()
	object := newObject(r.kind, "rejected", testdata(r.kind))
	if r.field == "spec.schedule" || r.field == "spec.timeZone" {
		object.Object["spec"] = parseYAML(`{schedule: "@daily"}`)
	}
	fields := strings.Split(r.field, ".")
	if r.value == nil {
		unstructured.RemoveNestedField(object.Object, fields...)
		return object
	}
	var value any
	Expect(yaml.Unmarshal(r.value, &value)).To(Succeed(), string(r.value))
	Expect(unstructured.SetNestedField(object.Object, value, fields...)).To(Succeed())
	return object
}

// send sends the object and returns why it is rejected.
func (r rejected) send() []cause {
	GinkgoHelper()
	object := r.object()
	if !strings.HasPrefix(r.field, "status.") {
		return causesOf(dryRun(object))
	}
	stored := newObject(r.kind, "status-of-"+strings.ToLower(r.kind), testdata(r.kind))
	Expect(client.IgnoreAlreadyExists(api.Create(ctx, stored))).To(Succeed())
	causes := causesOf(patchStatus(stored, object.Object["status"].(map[string]any), client.DryRunAll))
	for i, c := range causes { // older API servers name the fields of a status without the prefix
		causes[i].Field = "status." + strings.TrimPrefix(c.Field, "status.")
	}
	return causes
}

// tableEntries returns an entry for each case.
func tableEntries[C any](cases map[string]C) (all []TableEntry) {
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		all = append(all, Entry(name, cases[name]))
	}
	return all
}

var _ = Describe("Validation", func() {
	// Contract: API-1, FLEET-7, GRP-13.
	DescribeTable("rejects an invalid object, names the field and shows a valid value",
		func(r rejected) {
			Expect(r.send()).To(ConsistOf(And(HaveField("Field", r.want.Field), HaveField("Message", ContainSubstring(r.want.Message)))))
		},
		tableEntries(allRejected()),
	)

	// Contract: API-2.
	DescribeTable("accepts a valid spec",
		func(spec string) { Expect(dryRun(newSchedule("accepted", spec))).To(Succeed()) },
		tableEntries(acceptedSpecs()),
	)

	// Contract: API-2.
	DescribeTable("accepts a name of 63 characters", func(kind string) {
		Expect(dryRun(newObject(kind, long(63), testdata(kind)))).To(Succeed())
	}, Entry(nil, schedule), Entry(nil, fleet))

	It("names every mistake", func() {
		causes := causesOf(dryRun(newSchedule("mistakes", "{timeZone: UTC, snapshotTTL: 0s}")))
		Expect(causes).To(ConsistOf(HaveField("Field", "spec"), HaveField("Field", "spec.timeZone"), HaveField("Field", "spec.snapshotTTL")))
	})

	// The operator keeps every spec in memory, and SECURITY.md promises this bound.
	// Contract: API-1.
	It("accepts no spec of more than 250 kB", func() {
		text := suite.Must(json.Marshal(parseYAML(acceptedSpecs()["the largest spec"])))
		Expect(len(text)).To(And(BeNumerically(">", 225_000), BeNumerically("<", 250_000)))
	})

	// Any other number would be stored, and break every Go client that lists it. Kubernetes 1.30 does not check the format int32.
	DescribeTable("rejects a number that does not fit the Go type", func(number string) {
		err := dryRun(newSchedule("number", "{snapshotInterval: 6h, retention: {maxCount: "+number+"}}"))
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("spec.retention.maxCount")))
	},
		Entry("more than 32 bits", "2147483648"),
		Entry("a fraction", "1.5"),
		Entry("a string", `"1"`),
	)

	DescribeTable("rejects an unknown field", func(spec string) {
		Expect(dryRun(newSchedule("unknown", spec))).To(MatchError(ContainSubstring("unknown field")))
	},
		Entry("in spec", "{snapshotInterval: 6h, snapshotTtl: 10d}"),
		Entry("in selector", "{snapshotInterval: 6h, selector: {matchLabel: {app: my-app}}}"),
		Entry("in retention", "{snapshotInterval: 6h, retention: {minimumReady: 1}}"),
		Entry("in template metadata", "{snapshotInterval: 6h, snapshotTemplate: {metadata: {name: x}}}"),
		Entry("a class outside of the template's spec", "{snapshotInterval: 6h, snapshotTemplate: {volumeSnapshotClassName: fast}}"),
	)
})

// The API server and the controller must not disagree about what a duration or a cron line is.
var _ = Describe("The controller", func() {
	// Contract: API-3.
	It("accepts the durations that the API server accepts", func() {
		for _, duration := range durations().Valid {
			_, err := schedules.ParseDuration(duration)
			Expect(err).NotTo(HaveOccurred(), duration)
		}
		for _, all := range durations().Invalid {
			for _, duration := range all {
				d, err := schedules.ParseDuration(duration)
				Expect(err).To(HaveOccurred(), "the controller parses %q as %v", duration, d)
			}
		}
	})

	// Contract: API-3.
	It("accepts the cron lines that the API server accepts", func() {
		for _, line := range cronLines().Valid {
			_, err := schedules.ParseCron(line, time.UTC)
			Expect(err).NotTo(HaveOccurred(), line)
		}
		for _, lines := range cronLines().Invalid {
			for _, line := range lines {
				_, err := schedules.ParseCron(line, time.UTC)
				Expect(err).To(HaveOccurred(), "%q", line)
			}
		}
	})

	// Contract: API-3.
	It("rejects the invalid cron lines that the API server cannot detect", func() {
		for _, line := range cronLines().InvalidForController {
			Expect(dryRun(newSchedule("line", fmt.Sprintf("{schedule: %q}", line)))).To(Succeed(), line)
			_, err := schedules.ParseCron(line, time.UTC)
			Expect(err).To(HaveOccurred(), "%q", line)
		}
	})
})
