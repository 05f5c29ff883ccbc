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

var validDurations = []string{
	"1s", "90s", "6h", "10d", "1w", "1y", "1d12h", "1y1w1d1h1m1s", "06h", "0d1s", "100y", "36500d", "3153600000s",
}

// invalidDurations are those that are rejected with a message.
var invalidDurations = map[string][]string{
	durationSyntax: {
		"", "0", "6", "6x", "-6h", "+6h", " 6h", "6h ", "6 h", "1.5h", "1,5h", "6H", "500ms", "1s500ms", "1h1d", "1h1h", "1d 12h", "P1D",
		"1us", "6h\n", "٦h", "99999999999s", "52560000m1h", strings.Repeat("1", 128),
	},
	tooShort: {"0s", "0h", "0d0h"},
	tooLong: {
		"101y", "36501d", "100y1s", "3153600001s", "9999999999y", "99y53w", "5214w2d1h", "876000h1m", "52560000m1s",
	},
	tooManyBytes: {strings.Repeat("1", 129)},
}

// validCronLines are accepted by the API server and by the controller.
var validCronLines = []string{
	"@hourly", "@daily", "@weekly", "@monthly", "@yearly",
	"30 2 * * *", "* * * * *", "*/15 * * * *", "0,30 8-18/2 1,15 1-12 1-5", "59 23 31 12 6", "0 0 1 1 0",
	"0 0 * * 0,6", "0 0 * * SUN", "0 0 * jan-MAR,Dec mon-FRI", "0 0 ? * ?", "5/20 * * * *", "00 02 01 01 00",
	"007 2 * * *", "*/05 * * * *", "  30\t2 *  * *\n", "0 0 29 2 *",
	// CronJob accepts these too.
	"+5 2 * * *", ",0,,30, 2 * * *", "*-5 ?-x/+2 * * *", "0 */99 * * *", "*/9223372036854775807 2 * * *", "0 0 , * FRI", "0 0 1 * ,,",
	"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40," +
		"41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59 * * * *",
}

// invalidCronLines are those that are rejected with a message.
var invalidCronLines = map[string][]string{
	zone: {"TZ=Europe/Oslo 30 2 * * *", "CRON_TZ=Europe/Oslo 30 2 * * *", "TZ=UTC 2 * * *", "TZ=UTC @daily"},
	cronFields: {
		"", "    ", "2 * * *", "0 30 2 * * *", "daily", "6h",
		"@every 1h", "@every 1 2 3 4", "@reboot", "@midnight", "@annually", "@DAILY", "@daily *", " @daily",
	},
	minuteRange: {
		"60 2 * * *", "MON 2 * * *", "-5 2 * * *", ", 2 * * *", "*/0 2 * * *", "*/ 2 * * *", "*/5/2 2 * * *", "1-2-3 2 * * *", "1- 2 * * *",
		"0,/5 2 * * *",
		"H 2 * * *", // as in Jenkins
	},
	hourRange: {"30 , * * *", "30 24 * * *", "30 2:30 * * *"},
	// The last day and the nearest weekday as in Quartz.
	dayRange:   {"30 2 0 * *", "30 2 32 * *", "30 2 L * *", "30 2 15W * *"},
	monthRange: {"30 2 * , *", "30 2 * 0 *", "30 2 * 13 *", "30 2 * january *"},
	// Sunday is 0. The third Friday as in Quartz.
	weekdayRange: {"30 2 * * 7", "30 2 * * 1-7", "30 2 * * monday", "30 2 * * FRI#3"},
}

// cronLinesForController cannot be checked by a schema: the API server accepts them, and the controller reports InvalidSpec.
var cronLinesForController = []string{
	"0 0 30 2 *", "0 0 31 4,6,9,11 *", "30-10 * * * *", "0 0 * * FRI-MON", "0 0 , * *", "*/9223372036854775808 2 * * *",
}

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
		"an integer in another notation": "{snapshotInterval: 6h, retention: {maxCount: 1e3}}",
	}
	for _, duration := range validDurations {
		cases["interval "+duration] = fmt.Sprintf("{snapshotInterval: %s}", duration)
	}
	for _, line := range validCronLines {
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
