// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// Parts of the messages. CEL messages are recognized by the valid values that they show, so that their wording may change.
const (
	oneOfIntervalAndSchedule = "snapshotInterval: 6h"
	zoneWithoutSchedule      = `"30 2 * * *"`
	nameTooLong              = "my-app-snapshots"
	durationSyntax           = "1d12h"
	tooShort                 = "1s"
	tooLong                  = "100y"
	zoneInCronLine           = "Europe/Oslo"
	cronFields               = `"30 2 * * *"`
	minuteRange              = "0-59"
	hourRange                = "0-23"
	dayRange                 = "1-31"
	monthRange               = "JAN-DEC"
	weekdayRange             = "SUN-SAT"
	zoneName                 = "Europe/Oslo"
	operators                = `supported values: "In", "NotIn", "Exists", "DoesNotExist"`
	valuesRequired           = "values: [my-app]"
	valuesForbidden          = "{key: app, operator: Exists}"
	ownLabelPrefix           = "snapshots.mapcontroller.dev/ are reserved: use another, such as example.com/tier"
	ownAnnotationPrefix      = "snapshots.mapcontroller.dev/ are reserved: use another, such as example.com/note"
	claimedLabel             = "GitOps tool would claim the snapshots and delete them: use another, such as example.com/tier"
	claimedAnnotation        = "GitOps tool would claim the snapshots and delete them: use another, such as example.com/note"
	peerLabel                = "snapscheduler would take the snapshots for its own and delete them: use another, such as example.com/tier"
	peerAnnotation           = "snapscheduler would take the snapshots for its own and delete them: use another, such as example.com/note"
	labelKey                 = "example.com/tier"
	annotationKey            = "example.com/note"
	labelValue               = "my-app"
	className                = "fast"
	atLeast0                 = "should be greater than or equal to 0"
	atLeast1                 = "should be greater than or equal to 1"
	atMost32Bits             = "should be less than or equal to 2147483647"
	annotationValue          = "at most 1024 characters long, such as nightly"
	policies                 = `supported values: "Delete", "Orphan"`
	required                 = "Required value"
)

// tooManyBytes returns the message for a string longer than maxLength.
func tooManyBytes(limit int) string { return fmt.Sprintf("may not be more than %d bytes", limit) }

// tooManyItems returns the message for a list or map with more than maxItems or maxProperties entries.
func tooManyItems(limit int) string { return fmt.Sprintf("must have at most %d items", limit) }

// rejected is a schedule that the API server must reject.
type rejected struct {
	// scheduleName is the name of the schedule, if it matters.
	scheduleName string
	// spec is YAML; empty means that the object has no spec.
	spec string
	// want lists every cause, each with a part of its message.
	want []cause
}

// entries returns a table entry for each case.
func entries[C any](cases map[string]C) []TableEntry {
	var all []TableEntry
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		all = append(all, Entry(name, cases[name]))
	}
	return all
}

// durationFields maps the path of every duration to a spec with a placeholder for its value.
var durationFields = map[string]string{
	"spec.snapshotInterval":               `{snapshotInterval: %s}`,
	"spec.snapshotTTL":                    `{snapshotInterval: 6h, snapshotTTL: %s}`,
	"spec.startingDeadline":               `{snapshotInterval: 6h, startingDeadline: %s}`,
	"spec.jitter":                         `{snapshotInterval: 6h, jitter: %s}`,
	"spec.readyDeadline":                  `{snapshotInterval: 6h, readyDeadline: %s}`,
	"spec.retention.editDelay":            `{snapshotInterval: 6h, retention: {editDelay: %s}}`,
	"spec.retention.detached.snapshotTTL": `{snapshotInterval: 6h, retention: {detached: {snapshotTTL: %s}}}`,
}

// validDurations are accepted in every duration field.
var validDurations = []string{
	"1s", "90s", "6h", "10d", "1w", "1y", "1d12h", "1y1w1d1h1m1s", "06h", "0d1s", "100y", "36500d", "3153600000s",
}

// invalidDurations are rejected in every duration field.
var invalidDurations = map[string]string{
	"":                       durationSyntax,
	"0":                      durationSyntax,
	"6":                      durationSyntax,
	"6x":                     durationSyntax,
	"-6h":                    durationSyntax,
	"+6h":                    durationSyntax,
	" 6h":                    durationSyntax,
	"6h ":                    durationSyntax,
	"6 h":                    durationSyntax,
	"1.5h":                   durationSyntax,
	"1,5h":                   durationSyntax,
	"6H":                     durationSyntax,
	"500ms":                  durationSyntax,
	"1s500ms":                durationSyntax,
	"1h1d":                   durationSyntax,
	"1h1h":                   durationSyntax,
	"1d 12h":                 durationSyntax,
	"P1D":                    durationSyntax,
	"1us":                    durationSyntax,
	"6h\n":                   durationSyntax,
	"٦h":                     durationSyntax,
	"99999999999s":           durationSyntax,
	"0s":                     tooShort,
	"0h":                     tooShort,
	"0d0h":                   tooShort,
	"101y":                   tooLong,
	"36501d":                 tooLong,
	"100y1s":                 tooLong,
	"3153600001s":            tooLong,
	"9999999999y":            tooLong,
	"99y53w":                 tooLong,
	"5214w2d1h":              tooLong,
	"52560000m1h":            durationSyntax,
	"876000h1m":              tooLong,
	"52560000m1s":            tooLong,
	strings.Repeat("1", 128): durationSyntax,
	strings.Repeat("1", 129): tooManyBytes(128),
}

// long returns a string of n letters.
func long(n int) string { return strings.Repeat("a", n) }

// listOf returns a YAML list of n equal items.
func listOf(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+", ", n), ", ") + "]"
}

// mapWithEntries returns a YAML map with n entries.
func mapWithEntries(n int) string {
	var entries []string
	for i := range n {
		entries = append(entries, fmt.Sprintf("k%d: v", i))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func cronSpec(line string) string { return fmt.Sprintf("{schedule: %q}", line) }

func rejectedSpec(spec, field, message string) rejected {
	return rejected{spec: spec, want: []cause{{field, message}}}
}

func rejectedCronLine(line, message string) rejected {
	return rejectedSpec(cronSpec(line), "spec.schedule", message)
}

func rejectedZone(zone string) rejected {
	return rejectedSpec(fmt.Sprintf(`{schedule: "@daily", timeZone: %q}`, zone), "spec.timeZone", zoneName)
}

func rejectedTemplate(metadata, field, message string) rejected {
	return rejectedSpec("{snapshotInterval: 6h, snapshotTemplate: {metadata: "+metadata+"}}", "spec.snapshotTemplate.metadata."+field, message)
}

func rejectedClass(name, message string) rejected {
	return rejectedSpec(fmt.Sprintf("{snapshotInterval: 6h, snapshotTemplate: {spec: {volumeSnapshotClassName: %q}}}", name),
		"spec.snapshotTemplate.spec.volumeSnapshotClassName", message)
}

func rejectedClasses(names, item, message string) rejected {
	return rejectedSpec("{snapshotInterval: 6h, snapshotTemplate: {spec: {volumeSnapshotClassNames: "+names+"}}}",
		"spec.snapshotTemplate.spec.volumeSnapshotClassNames"+item, message)
}

func rejectedSelector(selector, field, message string) rejected {
	return rejectedSpec("{snapshotInterval: 6h, selector: "+selector+"}", "spec.selector."+field, message)
}

func rejectedExpression(expression, field, message string) rejected {
	return rejectedSelector("{matchExpressions: ["+expression+"]}", "matchExpressions[0]"+field, message)
}

func rejectedRetention(retention, field, message string) rejected {
	return rejectedSpec("{snapshotInterval: 6h, retention: "+retention+"}", "spec.retention."+field, message)
}

// rejectedSpecs returns every schedule that must be rejected. Together they violate every rule of the schema (coverage_test.go).
func rejectedSpecs() map[string]rejected {
	const key = "snapshots.mapcontroller.dev/"
	cases := map[string]rejected{
		"both an interval and a schedule":    rejectedSpec(`{snapshotInterval: 6h, schedule: "30 2 * * *"}`, "spec", oneOfIntervalAndSchedule),
		"neither an interval nor a schedule": rejectedSpec("{snapshotTTL: 10d}", "spec", oneOfIntervalAndSchedule),
		"an empty spec":                      rejectedSpec("{}", "spec", oneOfIntervalAndSchedule),
		"a time zone with an interval":       rejectedSpec("{snapshotInterval: 6h, timeZone: UTC}", "spec.timeZone", zoneWithoutSchedule),
		"a time zone only": {spec: "{timeZone: UTC}", want: []cause{
			{"spec", oneOfIntervalAndSchedule}, {"spec.timeZone", zoneWithoutSchedule}}},

		"a name of 64 characters": {scheduleName: strings.Repeat("n", 64), spec: "{snapshotInterval: 6h}", want: []cause{{"<nil>", nameTooLong}}},

		"TZ= in the cron line":             rejectedCronLine("TZ=Europe/Oslo 30 2 * * *", zoneInCronLine),
		"CRON_TZ= in the cron line":        rejectedCronLine("CRON_TZ=Europe/Oslo 30 2 * * *", zoneInCronLine),
		"TZ= in a line of five words":      rejectedCronLine("TZ=UTC 2 * * *", zoneInCronLine),
		"TZ= before a macro":               rejectedCronLine("TZ=UTC @daily", zoneInCronLine),
		"an empty line":                    rejectedCronLine("", cronFields),
		"only blanks":                      rejectedCronLine("    ", cronFields),
		"four fields":                      rejectedCronLine("2 * * *", cronFields),
		"six fields, with seconds":         rejectedCronLine("0 30 2 * * *", cronFields),
		"@every":                           rejectedCronLine("@every 1h", cronFields),
		"@every of five words":             rejectedCronLine("@every 1 2 3 4", cronFields),
		"@reboot":                          rejectedCronLine("@reboot", cronFields),
		"@midnight":                        rejectedCronLine("@midnight", cronFields),
		"@annually":                        rejectedCronLine("@annually", cronFields),
		"a macro in capitals":              rejectedCronLine("@DAILY", cronFields),
		"a macro and a field":              rejectedCronLine("@daily *", cronFields),
		"a word instead of a line":         rejectedCronLine("daily", cronFields),
		"a duration instead of a line":     rejectedCronLine("6h", cronFields),
		"minute 60":                        rejectedCronLine("60 2 * * *", minuteRange),
		"minute by name":                   rejectedCronLine("MON 2 * * *", minuteRange),
		"a negative minute":                rejectedCronLine("-5 2 * * *", minuteRange),
		"a comma instead of a minute":      rejectedCronLine(", 2 * * *", minuteRange),
		"a comma instead of an hour":       rejectedCronLine("30 , * * *", hourRange),
		"a comma instead of a month":       rejectedCronLine("30 2 * , *", monthRange),
		"a step of zero":                   rejectedCronLine("*/0 2 * * *", minuteRange),
		"a step without a number":          rejectedCronLine("*/ 2 * * *", minuteRange),
		"two steps":                        rejectedCronLine("*/5/2 2 * * *", minuteRange),
		"a range of three":                 rejectedCronLine("1-2-3 2 * * *", minuteRange),
		"a range without an end":           rejectedCronLine("1- 2 * * *", minuteRange),
		"a step after a comma":             rejectedCronLine("0,/5 2 * * *", minuteRange),
		"H as in Jenkins":                  rejectedCronLine("H 2 * * *", minuteRange),
		"hour 24":                          rejectedCronLine("30 24 * * *", hourRange),
		"an hour with minutes":             rejectedCronLine("30 2:30 * * *", hourRange),
		"day 0":                            rejectedCronLine("30 2 0 * *", dayRange),
		"day 32":                           rejectedCronLine("30 2 32 * *", dayRange),
		"the last day as in Quartz":        rejectedCronLine("30 2 L * *", dayRange),
		"the nearest weekday as in Quartz": rejectedCronLine("30 2 15W * *", dayRange),
		"month 0":                          rejectedCronLine("30 2 * 0 *", monthRange),
		"month 13":                         rejectedCronLine("30 2 * 13 *", monthRange),
		"a month in full":                  rejectedCronLine("30 2 * january *", monthRange),
		"Sunday as 7":                      rejectedCronLine("30 2 * * 7", weekdayRange),
		"weekdays up to 7":                 rejectedCronLine("30 2 * * 1-7", weekdayRange),
		"a macro after a blank":            rejectedCronLine(" @daily", cronFields),
		"a weekday in full":                rejectedCronLine("30 2 * * monday", weekdayRange),
		"the third Friday as in Quartz":    rejectedCronLine("30 2 * * FRI#3", weekdayRange),
		"a line of more than 512 bytes":    rejectedCronLine(strings.Repeat("1,", 260)+"1 2 * * *", tooManyBytes(512)),
		"every field of a line out of range": {spec: cronSpec("60 24 32 13 8"), want: []cause{
			{"spec.schedule", minuteRange}, {"spec.schedule", hourRange}, {"spec.schedule", dayRange},
			{"spec.schedule", monthRange}, {"spec.schedule", weekdayRange}}},

		"an empty zone":                   rejectedZone(""),
		"the local zone":                  rejectedZone("Local"),
		"the local zone in lower case":    rejectedZone("local"),
		"a zone with a blank":             rejectedZone("Europe/ Oslo"),
		"a zone that is an absolute path": rejectedZone("/Europe/Oslo"),
		"a zone that is a relative path":  rejectedZone("../etc/localtime"),
		"a zone offset":                   rejectedZone("+02:00"),
		"a zone of 65 characters":         rejectedZone(long(65)),
		"a zone of 257 characters":        rejectedSpec(`{schedule: "@daily", timeZone: `+long(257)+"}", "spec.timeZone", tooManyBytes(256)),

		"an unknown selector operator":       rejectedExpression("{key: app, operator: Like, values: [a]}", ".operator", operators),
		"In without values":                  rejectedExpression("{key: app, operator: In}", ".values", valuesRequired),
		"In with no values":                  rejectedExpression("{key: app, operator: In, values: []}", ".values", valuesRequired),
		"NotIn without values":               rejectedExpression("{key: app, operator: NotIn}", ".values", valuesRequired),
		"Exists with values":                 rejectedExpression("{key: app, operator: Exists, values: [a]}", ".values", valuesForbidden),
		"DoesNotExist with values":           rejectedExpression("{key: app, operator: DoesNotExist, values: [a]}", ".values", valuesForbidden),
		"an expression without a key":        rejectedExpression("{operator: Exists}", ".key", required),
		"an expression without an operator":  rejectedExpression("{key: app}", ".operator", required),
		"an expression with an invalid key":  rejectedExpression("{key: a b, operator: Exists}", ".key", labelKey),
		"an expression with an empty key":    rejectedExpression(`{key: "", operator: Exists}`, ".key", labelKey),
		"a selector key of 318 characters":   rejectedExpression("{key: "+long(254)+"/"+long(63)+", operator: Exists}", ".key", labelKey),
		"a selector key of 513 characters":   rejectedExpression("{key: "+long(513)+", operator: Exists}", ".key", tooManyBytes(512)),
		"a selector value with a blank":      rejectedExpression("{key: app, operator: In, values: [a, b c]}", ".values[1]", labelValue),
		"a selector value of 64 characters":  rejectedExpression("{key: app, operator: In, values: ["+long(64)+"]}", ".values[0]", labelValue),
		"a selector value of 257 characters": rejectedExpression("{key: app, operator: In, values: ["+long(257)+"]}", ".values[0]", tooManyBytes(256)),
		"65 selector values":                 rejectedExpression("{key: app, operator: In, values: "+listOf(65, "v")+"}", ".values", tooManyItems(64)),
		"17 expressions":                     rejectedSelector("{matchExpressions: "+listOf(17, "{key: app, operator: Exists}")+"}", "matchExpressions", tooManyItems(16)),
		"33 labels to match":                 rejectedSelector("{matchLabels: "+mapWithEntries(33)+"}", "matchLabels", tooManyItems(32)),
		"an invalid key to match":            rejectedSelector("{matchLabels: {a b: x}}", "matchLabels", labelKey),
		"a key of 318 characters to match":   rejectedSelector("{matchLabels: {"+long(254)+"/"+long(63)+": x}}", "matchLabels", labelKey),
		"an invalid value to match":          rejectedSelector("{matchLabels: {app: a b}}", "matchLabels[app]", labelValue),
		"a value of 64 characters to match":  rejectedSelector("{matchLabels: {app: "+long(64)+"}}", "matchLabels[app]", labelValue),
		"a value of 257 characters to match": rejectedSelector("{matchLabels: {app: "+long(257)+"}}", "matchLabels.app", tooManyBytes(256)),

		"a label of the controller":                      rejectedTemplate("{labels: {"+key+"map-key: x}}", "labels", ownLabelPrefix),
		"an unknown label under the controller's prefix": rejectedTemplate("{labels: {"+key+"anything: x}}", "labels", ownLabelPrefix),
		"a label by which GitOps tools claim objects":    rejectedTemplate("{labels: {app.kubernetes.io/instance: shop}}", "labels", claimedLabel),
		"a label of Argo CD":                             rejectedTemplate("{labels: {argocd.argoproj.io/instance: shop}}", "labels", claimedLabel),
		"a label of snapscheduler":                       rejectedTemplate("{labels: {snapscheduler.backube/schedule: shop}}", "labels", peerLabel),
		"a label key with a blank":                       rejectedTemplate("{labels: {a b: x}}", "labels", labelKey),
		"an empty label key":                             rejectedTemplate(`{labels: {"": x}}`, "labels", labelKey),
		"a label key that ends in -":                     rejectedTemplate("{labels: {a-: x}}", "labels", labelKey),
		"a label key of 64 characters":                   rejectedTemplate("{labels: {"+long(64)+": x}}", "labels", labelKey),
		"a label prefix in capitals":                     rejectedTemplate("{labels: {Example.com/a: x}}", "labels", labelKey),
		"a label prefix of 254 characters":               rejectedTemplate("{labels: {"+long(254)+"/a: x}}", "labels", labelKey),
		"a label key with two slashes":                   rejectedTemplate("{labels: {a/b/c: x}}", "labels", labelKey),
		"a label value with a blank":                     rejectedTemplate("{labels: {app: a b}}", "labels[app]", labelValue),
		"a label value that ends in .":                   rejectedTemplate("{labels: {app: a.}}", "labels[app]", labelValue),
		"a label value of 64 characters":                 rejectedTemplate("{labels: {app: "+long(64)+"}}", "labels[app]", labelValue),
		"a label value of 257 characters":                rejectedTemplate("{labels: {app: "+long(257)+"}}", "labels.app", tooManyBytes(256)),
		"33 labels":                                      rejectedTemplate("{labels: "+mapWithEntries(33)+"}", "labels", tooManyItems(32)),
		"an annotation of the controller":                rejectedTemplate("{annotations: {"+key+"hold: x}}", "annotations", ownAnnotationPrefix),
		"an annotation by which GitOps tools claim objects": rejectedTemplate(
			"{annotations: {app.kubernetes.io/instance: shop}}", "annotations", claimedAnnotation),
		"an annotation of Argo CD": rejectedTemplate(
			"{annotations: {argocd.argoproj.io/tracking-id: x}}", "annotations", claimedAnnotation),
		"an annotation of snapscheduler": rejectedTemplate(
			"{annotations: {snapscheduler.backube/schedule: shop}}", "annotations", peerAnnotation),
		"an annotation key with a blank":     rejectedTemplate("{annotations: {a b: x}}", "annotations", annotationKey),
		"an annotation key of 64 characters": rejectedTemplate("{annotations: {"+long(64)+": x}}", "annotations", annotationKey),
		"an annotation of 1025 characters":   rejectedTemplate("{annotations: {note: "+long(1025)+"}}", "annotations", annotationValue),
		"33 annotations":                     rejectedTemplate("{annotations: "+mapWithEntries(33)+"}", "annotations", tooManyItems(32)),

		"an empty class":            rejectedClass("", className),
		"a class in capitals":       rejectedClass("Fast", className),
		"a class that ends in -":    rejectedClass("fast-", className),
		"a class of 254 characters": rejectedClass(long(254), className),
		"a class of 513 characters": rejectedClass(long(513), tooManyBytes(512)),
		"both a class and a list of classes": rejectedSpec(
			"{snapshotInterval: 6h, snapshotTemplate: {spec: {volumeSnapshotClassName: fast, volumeSnapshotClassNames: [fast]}}}",
			"spec.snapshotTemplate.spec", "volumeSnapshotClassNames: [fast, archive]"),
		"an empty list of classes":              rejectedClasses("[]", "", "[fast]"),
		"a list of 17 classes":                  rejectedClasses(listOf(17, "fast"), "", tooManyItems(16)),
		"a list with an empty class":            rejectedClasses(`[fast, ""]`, "[1]", className),
		"a list with a class in capitals":       rejectedClasses("[Fast]", "[0]", className),
		"a list with a class of 513 characters": rejectedClasses("["+long(513)+"]", "[0]", tooManyBytes(512)),
		"an empty list of storage classes":      rejectedSpec("{snapshotInterval: 6h, storageClassNames: []}", "spec.storageClassNames", "[fast]"),
		"a list of 17 storage classes": rejectedSpec(
			"{snapshotInterval: 6h, storageClassNames: "+listOf(17, "fast")+"}", "spec.storageClassNames", tooManyItems(16)),
		"an empty storage class":       rejectedSpec(`{snapshotInterval: 6h, storageClassNames: [fast, ""]}`, "spec.storageClassNames[1]", className),
		"a storage class with a blank": rejectedSpec(`{snapshotInterval: 6h, storageClassNames: [a b]}`, "spec.storageClassNames[0]", className),
		"a storage class of 254 characters": rejectedSpec(
			"{snapshotInterval: 6h, storageClassNames: ["+long(254)+"]}", "spec.storageClassNames[0]", className),
		"a storage class of 513 characters": rejectedSpec(
			"{snapshotInterval: 6h, storageClassNames: ["+long(513)+"]}", "spec.storageClassNames[0]", tooManyBytes(512)),
		"a negative minReady":             rejectedRetention("{minReady: -1}", "minReady", atLeast0),
		"a negative detached minReady":    rejectedRetention("{detached: {minReady: -1}}", "detached.minReady", atLeast0),
		"a maxCount of zero":              rejectedRetention("{maxCount: 0}", "maxCount", atLeast1),
		"a negative maxCount":             rejectedRetention("{maxCount: -1}", "maxCount", atLeast1),
		"a large minReady":                rejectedRetention("{minReady: 2147483648}", "minReady", atMost32Bits),
		"a large detached minReady":       rejectedRetention("{detached: {minReady: 2147483648}}", "detached.minReady", atMost32Bits),
		"a large maxCount":                rejectedRetention("{maxCount: 2147483648}", "maxCount", atMost32Bits),
		"an unknown deletion policy":      rejectedSpec("{snapshotInterval: 6h, deletionPolicy: Keep}", "spec.deletionPolicy", policies),
		"a deletion policy in lower case": rejectedSpec("{snapshotInterval: 6h, deletionPolicy: orphan}", "spec.deletionPolicy", policies),
		"an empty deletion policy":        rejectedSpec(`{snapshotInterval: 6h, deletionPolicy: ""}`, "spec.deletionPolicy", policies),
		"a schedule without a spec":       {spec: "", want: []cause{{"spec", required}}},
	}
	for _, tier := range []string{"last", "hourly", "daily", "weekly", "monthly", "yearly"} {
		cases["zero for tier "+tier] = rejectedRetention("{keep: {"+tier+": 0}}", "keep."+tier, atLeast1)
		cases["a negative number for tier "+tier] = rejectedRetention("{keep: {"+tier+": -1}}", "keep."+tier, atLeast1)
		cases["a large number for tier "+tier] = rejectedRetention("{keep: {"+tier+": 2147483648}}", "keep."+tier, atMost32Bits)
	}
	for field, spec := range durationFields {
		for duration, message := range invalidDurations {
			name := fmt.Sprintf("%s %q", field, duration)
			cases[name] = rejectedSpec(fmt.Sprintf(spec, fmt.Sprintf("%q", duration)), field, message)
		}
	}
	return cases
}

// acceptedSpecs returns every spec that must be accepted.
func acceptedSpecs() map[string]string {
	cases := map[string]string{
		"every field": `
selector:
  matchLabels: {app: my-app}
  matchExpressions:
  - {key: tier, operator: In, values: [gold, silver]}
  - {key: tier, operator: NotIn, values: [lead]}
  - {key: app, operator: Exists}
  - {key: skip, operator: DoesNotExist, values: []}
storageClassNames: [fast, standard.example.com]
schedule: 30 2 * * *
timeZone: Europe/Oslo
snapshotTTL: 10d
suspend: true
startingDeadline: 2h
jitter: 15m
readyDeadline: 1h
deletionPolicy: Orphan
snapshotTemplate:
  metadata:
    labels: {app: my-app, app.kubernetes.io/name: shop, example.com/tier: "", not-snapshots.mapcontroller.dev/a: b}
    annotations: {note: "anything at all: ø, 'quotes', {braces}", Example.com/Note: x}
  spec: {volumeSnapshotClassName: fast.example.com}
retention:
  minReady: 0
  maxCount: 100
  keep: {last: 3, hourly: 24, daily: 7, weekly: 4, monthly: 12, yearly: 3}
  editDelay: 1h
  detached: {snapshotTTL: 30d, minReady: 2}
`,
		"an empty selector":               "{snapshotInterval: 6h, selector: {}}",
		"a TTL shorter than the interval": "{snapshotInterval: 1d, snapshotTTL: 1h}",
		"empty objects":                   "{snapshotInterval: 6h, snapshotTemplate: {metadata: {}, spec: {}}, retention: {keep: {}, detached: {}}}",
		"32 labels and annotations":       "{snapshotInterval: 6h, snapshotTemplate: {metadata: {labels: " + mapWithEntries(32) + ", annotations: " + mapWithEntries(32) + "}}}",
		"the longest label":               "{snapshotInterval: 6h, snapshotTemplate: {metadata: {labels: {" + long(63) + ": " + long(63) + "}}}}",
		"the longest class":               "{snapshotInterval: 6h, snapshotTemplate: {spec: {volumeSnapshotClassName: " + long(253) + "}}}",
		"a list of classes":               "{snapshotInterval: 6h, snapshotTemplate: {spec: {volumeSnapshotClassNames: [fast, archive, fast]}}}",
		"the longest annotation":          "{snapshotInterval: 6h, snapshotTemplate: {metadata: {annotations: {" + long(253) + "/" + long(63) + ": " + long(1024) + "}}}}",
		"the longest zone":                `{schedule: "@daily", timeZone: ` + long(64) + "}",
		"the largest spec":                largestSpec(),
		"the largest numbers":             "{snapshotInterval: 6h, retention: {minReady: 2147483647, maxCount: 2147483647, keep: {last: 2147483647}}}",
	}
	for field, spec := range durationFields {
		for _, duration := range validDurations {
			cases[field+" "+duration] = fmt.Sprintf(spec, duration)
		}
	}
	for _, line := range validCronLines {
		cases[fmt.Sprintf("schedule %q", line)] = cronSpec(line)
	}
	for _, zone := range []string{"UTC", "Etc/UTC", "Europe/Oslo", "America/Argentina/Buenos_Aires", "Etc/GMT+1", "America/Port-au-Prince"} {
		cases["zone "+zone] = fmt.Sprintf(`{schedule: "@daily", timeZone: %s}`, zone)
	}
	return cases
}

// largestSpec returns a spec with everything that is bounded at its bound. Its rules are within the cost that the API server allows.
func largestSpec() string {
	key := func(i int) string { return fmt.Sprintf("%s/%s%02d", long(253), long(61), i) }
	entries := func(n int, value string) string {
		var all []string
		for i := range n {
			all = append(all, key(i)+": "+value)
		}
		return "{" + strings.Join(all, ", ") + "}"
	}
	expression := "{key: " + key(0) + ", operator: In, values: " + listOf(64, long(63)) + "}"
	return `
selector: {matchLabels: ` + entries(32, long(63)) + ", matchExpressions: " + listOf(16, expression) + `}
storageClassNames: ` + listOf(16, long(253)) + `
schedule: "` + strings.Repeat("1,", 251) + `1 * * * *"
timeZone: ` + long(64) + `
snapshotTemplate:
  metadata: {labels: ` + entries(32, long(63)) + ", annotations: " + entries(32, strings.Repeat("😀", 1024)) + `}
  spec: {volumeSnapshotClassNames: ` + listOf(16, long(253)) + "}\n"
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

// cronLinesForController cannot be checked by a schema: the API server accepts them, and the controller reports InvalidSpec.
var cronLinesForController = []string{"0 0 30 2 *", "0 0 31 4,6,9,11 *", "30-10 * * * *", "0 0 * * FRI-MON", "0 0 , * *",
	"*/9223372036854775808 2 * * *"}
