// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"
)

// durationFields are the paths of all durations. All have the rules of the first.
var durationFields = []string{
	"spec.snapshotInterval", "spec.snapshotTTL", "spec.startingDeadline", "spec.jitter", "spec.readyDeadline", "spec.retention.editDelay",
	"spec.retention.detached.snapshotTTL", "status.retention.editDelay",
}

// texts are the values of a field that is parsed.
type texts struct {
	Valid                []string
	Invalid              map[string][]string // by a part of the message
	InvalidForController []string
}

func durations() texts { return unmarshal[texts]("durations") }
func cronLines() texts { return unmarshal[texts]("cronlines") }

// acceptedSpecs returns every spec that must be accepted.
func acceptedSpecs() map[string]string {
	cases := map[string]string{
		"every field":                     testdata("every-field"),
		"a TTL shorter than the interval": "{snapshotInterval: 1d, snapshotTTL: 1h}",
		"empty objects": "{snapshotInterval: 6h, selector: {}, snapshotTemplate: {metadata: {}, spec: {}}, " +
			"retention: {keep: {}, detached: {}}}",
		"the longest class": "{snapshotInterval: 6h, snapshotTemplate: {spec: {volumeSnapshotClassName: " + long(253) + "}}}",
		"a list of classes": "{snapshotInterval: 6h, snapshotTemplate: {spec: {volumeSnapshotClassNames: [fast, archive, fast]}}}",
		"the largest spec":  largestSpec(),
		"the largest numbers": "{snapshotInterval: 6h, " +
			"retention: {minReady: 2147483647, maxCount: 2147483647, minVerified: 100, keep: {last: 2147483647}}}",
		"a group of all":                 "{snapshotInterval: 6h, group: {}, selector: {matchLabels: {app: a}}}",
		"a group by label":               "{snapshotInterval: 6h, group: {byLabel: example.com/x, volumeGroupSnapshotClassName: fast}, snapshotTemplate: {metadata: {labels: {a: b}}}}",
		"an integer in another notation": "{snapshotInterval: 6h, retention: {maxCount: 1e3}}",
	}
	for _, duration := range durations().Valid {
		cases["interval "+duration] = fmt.Sprintf("{snapshotInterval: %s}", duration)
	}
	for _, line := range cronLines().Valid {
		cases[fmt.Sprintf("schedule %q", line)] = fmt.Sprintf("{schedule: %q}", line)
	}
	for _, zone := range []string{"UTC", "Etc/UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+1", "America/Port-au-Prince"} {
		cases["zone "+zone] = fmt.Sprintf(`{schedule: "@daily", timeZone: %s}`, zone)
	}
	return cases
}

// largestSpec returns a spec with everything that is bounded at its bound. Its rules are within the cost that the API server allows.
func largestSpec() string {
	key := long(253) + "/" + long(61)
	expression := "{key: " + key + ", operator: In, values: " + list(64, long(63)) + "}"
	return `
  selector: {matchLabels: ` + entries(32, key, long(63)) + ", matchExpressions: " + list(16, expression) + `}
  storageClassNames: ` + list(16, long(253)) + `
  schedule: "` + strings.Repeat("1,", 251) + `1 * * * *"
  timeZone: ` + long(64) + `
  snapshotTemplate:
    metadata: {labels: ` + entries(32, key, long(63)) + ", annotations: " + entries(32, key, strings.Repeat("😀", 1024)) + `}
    spec: {volumeSnapshotClassNames: ` + list(16, long(253)) + "}\n"
}
