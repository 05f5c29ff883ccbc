// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

func (r rejected) send() error {
	GinkgoHelper()
	object := newSchedule("rejected", r.spec)
	if r.scheduleName != "" {
		object.SetName(r.scheduleName)
	}
	if r.spec == "" {
		delete(object.Object, "spec")
	}
	return dryRun(object)
}

var _ = Describe("Validation", func() {
	// Contract: API-1.
	DescribeTable("rejects an invalid spec, names the field and shows a valid value",
		func(r rejected) {
			var want []any
			for _, c := range r.want {
				want = append(want, And(HaveField("Field", c.Field), HaveField("Message", ContainSubstring(c.Message))))
			}
			Expect(causesOf(r.send())).To(ConsistOf(want...))
		},
		entries(rejectedSpecs()),
	)

	// Contract: API-2.
	DescribeTable("accepts a valid spec",
		func(spec string) { Expect(dryRun(newSchedule("accepted", spec))).To(Succeed()) },
		entries(acceptedSpecs()),
	)

	// Contract: API-2.
	It("accepts a name of 63 characters", func() {
		Expect(dryRun(newSchedule(strings.Repeat("n", 63), "{snapshotInterval: 6h}"))).To(Succeed())
	})

	// The operator keeps every spec in memory, and SECURITY.md promises this bound.
	// Contract: API-1.
	It("accepts no spec of more than 250 kB", func() {
		Expect(dryRun(newSchedule("largest", largestSpec()))).To(Succeed())
		text, err := json.Marshal(parseYAML(largestSpec()))
		Expect(err).NotTo(HaveOccurred())
		Expect(len(text)).To(And(BeNumerically(">", 225_000), BeNumerically("<", 250_000)))
	})

	// Any other number would be stored, and break every Go client that lists it. Kubernetes 1.30 does not check the format int32.
	DescribeTable("rejects a number that does not fit the Go type",
		func(number string) {
			err := dryRun(newSchedule("number", "{snapshotInterval: 6h, retention: {maxCount: "+number+"}}"))
			Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(ContainSubstring("spec.retention.maxCount")))
		},
		Entry("more than 32 bits", "2147483648"),
		Entry("a fraction", "1.5"),
		Entry("a string", `"1"`),
	)

	It("accepts an integer in another notation", func() {
		Expect(dryRun(newSchedule("number", "{snapshotInterval: 6h, retention: {maxCount: 1e3}}"))).To(Succeed())
	})

	DescribeTable("rejects an unknown field",
		func(spec string) {
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
		for _, duration := range validDurations {
			_, err := schedule.ParseDuration(duration)
			Expect(err).NotTo(HaveOccurred(), duration)
		}
		for duration := range invalidDurations {
			d, err := schedule.ParseDuration(duration)
			Expect(err).To(HaveOccurred(), "the controller parses %q as %v", duration, d)
		}
	})

	// Contract: API-3.
	It("accepts the cron lines that the API server accepts", func() {
		for _, line := range validCronLines {
			_, err := schedule.ParseCron(line, time.UTC)
			Expect(err).NotTo(HaveOccurred(), line)
		}
		compared := 0
		for name, r := range rejectedSpecs() {
			if slices.ContainsFunc(r.want, func(c cause) bool { return c.Field != "spec.schedule" || c.Message == tooManyBytes(512) }) {
				continue // not rejected for the content of the line
			}
			compared++
			line := parseYAML(r.spec)["schedule"].(string)
			_, err := schedule.ParseCron(line, time.UTC)
			Expect(err).To(HaveOccurred(), "%s: %q", name, line)
		}
		Expect(compared).To(BeNumerically(">", 40))
	})

	// Contract: API-3.
	It("rejects the invalid cron lines that the API server cannot detect", func() {
		for _, line := range cronLinesForController {
			Expect(dryRun(newSchedule("line", cronSpec(line)))).To(Succeed(), line)
			_, err := schedule.ParseCron(line, time.UTC)
			Expect(err).To(HaveOccurred(), fmt.Sprintf("%q", line))
		}
	})
})
