// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"
)

// The messages that the API server answers with. Each names the field, if the path that goes
// with it doesn't, and shows a right value.
const (
	saysBoth       = "snapshotInterval and schedule are both set: set one only, such as snapshotInterval: 6h"
	saysNeither    = "snapshotInterval or schedule is required: set one, such as snapshotInterval: 6h"
	saysZoneAlone  = `timeZone goes with schedule only: set schedule, such as "30 2 * * *", or leave timeZone out`
	saysName       = "metadata.name must be at most 63 characters long, such as my-app-snapshots: it is a label value on every snapshot"
	saysDuration   = "must be a duration such as 90s, 6h, 10d or 1d12h: whole numbers with the units y w d h m s, largest first"
	saysTooShort   = "must be at least 1s, such as 6h"
	saysTooLong    = "must be at most 100y, such as 10d"
	saysZoneInLine = "must not hold TZ= or CRON_TZ=: set spec.timeZone instead, such as Europe/Oslo"
	saysFiveFields = `must be a cron line of five fields, such as "30 2 * * *", or one of @hourly @daily @weekly @monthly @yearly`
	saysMinute     = "the minute (first field) must be 0-59, such as 30, 0,30 or */15"
	saysHour       = "the hour (second field) must be 0-23, such as 2, 8-18 or */6"
	saysDay        = "the day of month (third field) must be 1-31 or *, such as 1 or 1,15"
	saysMonth      = "the month (fourth field) must be 1-12, JAN-DEC or *, such as 1 or JAN,JUL"
	saysWeekday    = "the day of week (fifth field) must be 0-6 (0 is Sunday), SUN-SAT or *, such as 0 or MON-FRI"
	saysZone       = "must be the IANA name of a time zone, such as Europe/Oslo or UTC"
	saysOperator   = "operator must be one of In, NotIn, Exists, DoesNotExist"
	saysValues     = "values must not be empty for operator In or NotIn, such as values: [my-app]"
	saysNoValues   = "values must be left out for operator Exists or DoesNotExist, such as {key: app, operator: Exists}"
	saysOurLabel   = "keys under snapshots.mapcontroller.dev/ belong to the controller: use another, such as example.com/tier"
	saysOurNote    = "keys under snapshots.mapcontroller.dev/ belong to the controller: use another, such as example.com/note"
	saysLabelKey   = "every key must be a valid label key, such as app or example.com/tier"
	saysNoteKey    = "every key must be a valid annotation key, such as note or example.com/note"
	saysLabelValue = "must be a valid label value, such as my-app: at most 63 letters, digits, '-', '_' and '.', a letter or digit first and last"
	saysClass      = "must be the name of a VolumeSnapshotClass, such as fast, or be left out for the driver's default class"
	saysAtLeast0   = "should be greater than or equal to 0"
	saysAtLeast1   = "should be greater than or equal to 1"
	saysAtMost32   = "must have at most 32 items"
	saysPolicy     = `supported values: "Delete", "Orphan"`
	saysRequired   = "Required value"
)

// tooManyBytes is what the schema says of a string beyond maxLength.
func tooManyBytes(limit int) string { return fmt.Sprintf("may not be more than %d bytes", limit) }

// refusal is one cause of a refusal: the field that it is about and what it says.
type refusal struct{ field, says string }

// refused is a schedule that the API server must refuse.
type refused struct {
	name string // of the schedule; "refused" if empty
	spec string
	// want is every cause, no more and no fewer.
	want []refusal
}

// durationFields are the paths of all durations, each with a spec to fill one in.
var durationFields = map[string]string{
	"spec.snapshotInterval":               `{snapshotInterval: %s}`,
	"spec.snapshotTTL":                    `{snapshotInterval: 6h, snapshotTTL: %s}`,
	"spec.startingDeadline":               `{snapshotInterval: 6h, startingDeadline: %s}`,
	"spec.jitter":                         `{snapshotInterval: 6h, jitter: %s}`,
	"spec.readyDeadline":                  `{snapshotInterval: 6h, readyDeadline: %s}`,
	"spec.retention.detached.snapshotTTL": `{snapshotInterval: 6h, retention: {detached: {snapshotTTL: %s}}}`,
}

// goodDurations are accepted in every duration field.
var goodDurations = []string{
	"1s", "90s", "6h", "10d", "1w", "1y", "1d12h", "1y1w1d1h1m1s", "06h", "0d1s", "100y", "36500d", "3153600000s",
}

// badDurations are refused in every duration field.
var badDurations = map[string]string{
	"":             saysDuration,
	"0":            saysDuration,
	"6":            saysDuration,
	"6x":           saysDuration,
	"-6h":          saysDuration,
	"+6h":          saysDuration,
	" 6h":          saysDuration,
	"6h ":          saysDuration,
	"6 h":          saysDuration,
	"1.5h":         saysDuration,
	"1,5h":         saysDuration,
	"6H":           saysDuration,
	"500ms":        saysDuration,
	"1s500ms":      saysDuration,
	"1h1d":         saysDuration,
	"1h1h":         saysDuration,
	"1d 12h":       saysDuration,
	"P1D":          saysDuration,
	"1us":          saysDuration,
	"6h\n":         saysDuration,
	"٦h":           saysDuration,
	"99999999999s": saysDuration,
	"0s":           saysTooShort,
	"0h":           saysTooShort,
	"0d0h":         saysTooShort,
	"101y":         saysTooLong,
	"36501d":       saysTooLong,
	"100y1s":       saysTooLong,
	"3153600001s":  saysTooLong,
	"9999999999y":  saysTooLong,
	"99y53w":       saysTooLong,
	"5214w2d1h":    saysTooLong,
	"52560000m1h":  saysDuration,
	"876000h1m":    saysTooLong,
	"52560000m1s":  saysTooLong,
	long("1", 128): saysDuration,
	long("1", 129): tooManyBytes(128),
}

func long(s string, n int) string { return strings.Repeat(s, n) }

// mapOf is a YAML map with n entries.
func mapOf(n int) string {
	var entries []string
	for i := range n {
		entries = append(entries, fmt.Sprintf("k%d: v", i))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func line(l string) string { return fmt.Sprintf("{schedule: %q}", l) }

func bad(spec, field, says string) refused {
	return refused{spec: spec, want: []refusal{{field, says}}}
}

func badLine(l, says string) refused { return bad(line(l), "spec.schedule", says) }

func badZone(zone string) refused {
	return bad(fmt.Sprintf(`{schedule: "@daily", timeZone: %q}`, zone), "spec.timeZone", saysZone)
}

func badTemplate(metadata, field, says string) refused {
	return bad("{snapshotInterval: 6h, snapshotTemplate: {metadata: "+metadata+"}}", "spec.snapshotTemplate.metadata."+field, says)
}

func badClass(name, says string) refused {
	return bad(fmt.Sprintf("{snapshotInterval: 6h, snapshotTemplate: {spec: {volumeSnapshotClassName: %q}}}", name),
		"spec.snapshotTemplate.spec.volumeSnapshotClassName", says)
}

func badSelector(expression, field, says string) refused {
	return bad("{snapshotInterval: 6h, selector: {matchExpressions: ["+expression+"]}}", "spec.selector"+field, says)
}

func badRetention(retention, field, says string) refused {
	return bad("{snapshotInterval: 6h, retention: "+retention+"}", "spec.retention."+field, says)
}

// refusedSchedules is every case of a schedule that must be refused. Together they touch each
// rule of the schema (see TestEveryRuleIsTried).
func refusedSchedules() map[string]refused {
	const key = "snapshots.mapcontroller.dev/"
	cases := map[string]refused{
		"both an interval and a schedule":    bad(`{snapshotInterval: 6h, schedule: "30 2 * * *"}`, "spec", saysBoth),
		"neither an interval nor a schedule": bad("{snapshotTTL: 10d}", "spec", saysNeither),
		"an empty spec":                      bad("{}", "spec", saysNeither),
		"a zone with an interval":            bad("{snapshotInterval: 6h, timeZone: UTC}", "spec.timeZone", saysZoneAlone),
		"a zone alone": {spec: "{timeZone: UTC}", want: []refusal{
			{"spec", saysNeither}, {"spec.timeZone", saysZoneAlone}}},

		"a name of 64 characters": {name: long("n", 64), spec: "{snapshotInterval: 6h}", want: []refusal{{"<nil>", saysName}}},

		"TZ in the line":             badLine("TZ=Europe/Oslo 30 2 * * *", saysZoneInLine),
		"CRON_TZ in the line":        badLine("CRON_TZ=Europe/Oslo 30 2 * * *", saysZoneInLine),
		"TZ in a line of five words": badLine("TZ=UTC 2 * * *", saysZoneInLine),
		"TZ before a macro":          badLine("TZ=UTC @daily", saysZoneInLine),
		"an empty line":              badLine("", saysFiveFields),
		"blanks":                     badLine("    ", saysFiveFields),
		"four fields":                badLine("2 * * *", saysFiveFields),
		"six fields, with seconds":   badLine("0 30 2 * * *", saysFiveFields),
		"@every":                     badLine("@every 1h", saysFiveFields),
		"@every of five words":       badLine("@every 1 2 3 4", saysFiveFields),
		"@reboot":                    badLine("@reboot", saysFiveFields),
		"@midnight":                  badLine("@midnight", saysFiveFields),
		"@annually":                  badLine("@annually", saysFiveFields),
		"a macro in capitals":        badLine("@DAILY", saysFiveFields),
		"a macro and a field":        badLine("@daily *", saysFiveFields),
		"a word":                     badLine("daily", saysFiveFields),
		"a duration":                 badLine("6h", saysFiveFields),
		"minute 60":                  badLine("60 2 * * *", saysMinute),
		"minute by name":             badLine("MON 2 * * *", saysMinute),
		"a minute below zero":        badLine("-5 2 * * *", saysMinute),
		"a comma for a minute":       badLine(", 2 * * *", saysMinute),
		"a comma for an hour":        badLine("30 , * * *", saysHour),
		"a comma for a month":        badLine("30 2 * , *", saysMonth),
		"a step of zero":             badLine("*/0 2 * * *", saysMinute),
		"a step without a number":    badLine("*/ 2 * * *", saysMinute),
		"two steps":                  badLine("*/5/2 2 * * *", saysMinute),
		"a range of three":           badLine("1-2-3 2 * * *", saysMinute),
		"a range without an end":     badLine("1- 2 * * *", saysMinute),
		"a step from a comma":        badLine("0,/5 2 * * *", saysMinute),
		"Jenkins' H":                 badLine("H 2 * * *", saysMinute),
		"hour 24":                    badLine("30 24 * * *", saysHour),
		"an hour with minutes":       badLine("30 2:30 * * *", saysHour),
		"day 0":                      badLine("30 2 0 * *", saysDay),
		"day 32":                     badLine("30 2 32 * *", saysDay),
		"Quartz's last day":          badLine("30 2 L * *", saysDay),
		"Quartz's nearest weekday":   badLine("30 2 15W * *", saysDay),
		"month 0":                    badLine("30 2 * 0 *", saysMonth),
		"month 13":                   badLine("30 2 * 13 *", saysMonth),
		"a month in full":            badLine("30 2 * january *", saysMonth),
		"Sunday as 7":                badLine("30 2 * * 7", saysWeekday),
		"weekdays up to 7":           badLine("30 2 * * 1-7", saysWeekday),
		"a macro after a blank":      badLine(" @daily", saysFiveFields),
		"a weekday in full":          badLine("30 2 * * monday", saysWeekday),
		"Quartz's third Friday":      badLine("30 2 * * FRI#3", saysWeekday),
		"a line of more than 512":    badLine(long("1,", 260)+"1 2 * * *", tooManyBytes(512)),
		"everything wrong in a line": {spec: line("60 24 32 13 8"), want: []refusal{
			{"spec.schedule", saysMinute}, {"spec.schedule", saysHour}, {"spec.schedule", saysDay},
			{"spec.schedule", saysMonth}, {"spec.schedule", saysWeekday}}},

		"an empty zone":            badZone(""),
		"the machine's zone":       badZone("Local"),
		"the machine's, lowercase": badZone("local"),
		"a zone with a blank":      badZone("Europe/ Oslo"),
		"a zone as a path":         badZone("/Europe/Oslo"),
		"a zone above the zones":   badZone("../etc/localtime"),
		"an offset":                badZone("+02:00"),
		"a zone of 257 characters": bad(`{schedule: "@daily", timeZone: `+long("a", 257)+"}", "spec.timeZone", tooManyBytes(256)),

		"a selector's unknown operator": badSelector("{key: app, operator: Like, values: [a]}", "", saysOperator),
		"In without values":             badSelector("{key: app, operator: In}", "", saysValues),
		"In with no values":             badSelector("{key: app, operator: In, values: []}", "", saysValues),
		"NotIn without values":          badSelector("{key: app, operator: NotIn}", "", saysValues),
		"Exists with values":            badSelector("{key: app, operator: Exists, values: [a]}", "", saysNoValues),
		"DoesNotExist with values":      badSelector("{key: app, operator: DoesNotExist, values: [a]}", "", saysNoValues),
		"an expression without a key":   badSelector("{operator: Exists}", ".matchExpressions[0].key", saysRequired),
		"one without an operator":       badSelector("{key: app}", ".matchExpressions[0].operator", saysRequired),

		"our label":                      badTemplate("{labels: {"+key+"map-key: x}}", "labels", saysOurLabel),
		"a label of ours yet to come":    badTemplate("{labels: {"+key+"anything: x}}", "labels", saysOurLabel),
		"a label key with a blank":       badTemplate("{labels: {a b: x}}", "labels", saysLabelKey),
		"an empty label key":             badTemplate(`{labels: {"": x}}`, "labels", saysLabelKey),
		"a label key that ends in -":     badTemplate("{labels: {a-: x}}", "labels", saysLabelKey),
		"a label key of 64 characters":   badTemplate("{labels: {"+long("a", 64)+": x}}", "labels", saysLabelKey),
		"a label prefix in capitals":     badTemplate("{labels: {Example.com/a: x}}", "labels", saysLabelKey),
		"a label prefix of 254":          badTemplate("{labels: {"+long("a", 254)+"/a: x}}", "labels", saysLabelKey),
		"a label key with two slashes":   badTemplate("{labels: {a/b/c: x}}", "labels", saysLabelKey),
		"a label value with a blank":     badTemplate("{labels: {app: a b}}", "labels[app]", saysLabelValue),
		"a label value that ends in .":   badTemplate("{labels: {app: a.}}", "labels[app]", saysLabelValue),
		"a label value of 64 characters": badTemplate("{labels: {app: "+long("a", 64)+"}}", "labels[app]", saysLabelValue),
		"a label value of 257":           badTemplate("{labels: {app: "+long("a", 257)+"}}", "labels.app", tooManyBytes(256)),
		"33 labels":                      badTemplate("{labels: "+mapOf(33)+"}", "labels", saysAtMost32),
		"our annotation":                 badTemplate("{annotations: {"+key+"hold: x}}", "annotations", saysOurNote),
		"an annotation key with a blank": badTemplate("{annotations: {a b: x}}", "annotations", saysNoteKey),
		"an annotation key of 64":        badTemplate("{annotations: {"+long("a", 64)+": x}}", "annotations", saysNoteKey),
		"33 annotations":                 badTemplate("{annotations: "+mapOf(33)+"}", "annotations", saysAtMost32),

		"an empty class":             badClass("", saysClass),
		"a class in capitals":        badClass("Fast", saysClass),
		"a class that ends in -":     badClass("fast-", saysClass),
		"a class of 254 characters":  badClass(long("a", 254), saysClass),
		"a class of 513 characters":  badClass(long("a", 513), tooManyBytes(512)),
		"a negative floor":           badRetention("{minReady: -1}", "minReady", saysAtLeast0),
		"a negative detached floor":  badRetention("{detached: {minReady: -1}}", "detached.minReady", saysAtLeast0),
		"a cap of zero":              badRetention("{maxCount: 0}", "maxCount", saysAtLeast1),
		"a negative cap":             badRetention("{maxCount: -1}", "maxCount", saysAtLeast1),
		"an unknown deletion policy": bad("{snapshotInterval: 6h, deletionPolicy: Keep}", "spec.deletionPolicy", saysPolicy),
		"a policy in lower case":     bad("{snapshotInterval: 6h, deletionPolicy: orphan}", "spec.deletionPolicy", saysPolicy),
		"an empty policy":            bad(`{snapshotInterval: 6h, deletionPolicy: ""}`, "spec.deletionPolicy", saysPolicy),
		"a schedule without a spec":  {spec: "", want: []refusal{{"spec", saysRequired}}},
	}
	for _, tier := range []string{"last", "hourly", "daily", "weekly", "monthly", "yearly"} {
		cases["zero for tier "+tier] = badRetention("{keep: {"+tier+": 0}}", "keep."+tier, saysAtLeast1)
		cases["less than zero for tier "+tier] = badRetention("{keep: {"+tier+": -1}}", "keep."+tier, saysAtLeast1)
	}
	for field, spec := range durationFields {
		for duration, says := range badDurations {
			name := fmt.Sprintf("%s %q", field, duration)
			cases[name] = bad(fmt.Sprintf(spec, fmt.Sprintf("%q", duration)), field, says)
		}
	}
	return cases
}

// acceptedSchedules is every case of a schedule that must be accepted.
func acceptedSchedules() map[string]string {
	cases := map[string]string{
		"everything at once": `
selector:
  matchLabels: {app: my-app}
  matchExpressions:
  - {key: tier, operator: In, values: [gold, silver]}
  - {key: tier, operator: NotIn, values: [lead]}
  - {key: app, operator: Exists}
  - {key: skip, operator: DoesNotExist, values: []}
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
    labels: {app: my-app, example.com/tier: "", not-snapshots.mapcontroller.dev/a: b}
    annotations: {note: "anything at all: ø, 'quotes', {braces}", Example.com/Note: x}
  spec: {volumeSnapshotClassName: fast.example.com}
retention:
  minReady: 0
  maxCount: 100
  keep: {last: 3, hourly: 24, daily: 7, weekly: 4, monthly: 12, yearly: 3}
  detached: {snapshotTTL: 30d, minReady: 2}
`,
		"an empty selector":               "{snapshotInterval: 6h, selector: {}}",
		"a TTL shorter than the interval": "{snapshotInterval: 1d, snapshotTTL: 1h}",
		"empty parents":                   "{snapshotInterval: 6h, snapshotTemplate: {metadata: {}, spec: {}}, retention: {keep: {}, detached: {}}}",
		"32 labels and annotations":       "{snapshotInterval: 6h, snapshotTemplate: {metadata: {labels: " + mapOf(32) + ", annotations: " + mapOf(32) + "}}}",
		"the longest label":               "{snapshotInterval: 6h, snapshotTemplate: {metadata: {labels: {" + long("a", 63) + ": " + long("a", 63) + "}}}}",
		"the longest class":               "{snapshotInterval: 6h, snapshotTemplate: {spec: {volumeSnapshotClassName: " + long("a", 253) + "}}}",
		"the largest numbers":             "{snapshotInterval: 6h, retention: {minReady: 2147483647, maxCount: 2147483647, keep: {last: 2147483647}}}",
	}
	for field, spec := range durationFields {
		for _, duration := range goodDurations {
			cases[field+" "+duration] = fmt.Sprintf(spec, duration)
		}
	}
	for _, l := range goodLines {
		cases[fmt.Sprintf("schedule %q", l)] = line(l)
	}
	for _, zone := range []string{"UTC", "Etc/UTC", "Europe/Oslo", "America/Argentina/Buenos_Aires", "Etc/GMT+1", "America/Port-au-Prince"} {
		cases["zone "+zone] = fmt.Sprintf(`{schedule: "@daily", timeZone: %s}`, zone)
	}
	return cases
}

// goodLines are cron lines that the API server accepts, and the controller too.
var goodLines = []string{
	"@hourly", "@daily", "@weekly", "@monthly", "@yearly",
	"30 2 * * *", "* * * * *", "*/15 * * * *", "0,30 8-18/2 1,15 1-12 1-5", "59 23 31 12 6", "0 0 1 1 0",
	"0 0 * * 0,6", "0 0 * * SUN", "0 0 * jan-MAR,Dec mon-FRI", "0 0 ? * ?", "5/20 * * * *", "00 02 01 01 00",
	"007 2 * * *", "*/05 * * * *", "  30\t2 *  * *\n", "0 0 29 2 *",
	// What CronJob takes too.
	"+5 2 * * *", ",0,,30, 2 * * *", "*-5 ?-x/+2 * * *", "0 */99 * * *", "*/9223372036854775807 2 * * *", "0 0 , * FRI", "0 0 1 * ,,",
	"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40," +
		"41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59 * * * *",
}

// linesForTheController can be read by no schema: the API server accepts them, and the
// controller says InvalidSpec.
var linesForTheController = []string{"0 0 30 2 *", "0 0 31 4,6,9,11 *", "30-10 * * * *", "0 0 * * FRI-MON", "0 0 , * *",
	"*/9223372036854775808 2 * * *"}
