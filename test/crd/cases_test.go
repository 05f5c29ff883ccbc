// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Parts of the messages. CEL messages are recognized by the valid values that they show, so that their wording may change.
const (
	oneOfIntervalAndSchedule = "snapshotInterval: 6h"
	cronFields               = `"30 2 * * *"`
	durationSyntax           = "1d12h"
	tooShort                 = "at least 1s"
	tooLong                  = "at most 100y"
	zone                     = "Europe/Oslo"
	minuteRange              = "0-59"
	hourRange                = "0-23"
	dayRange                 = "1-31"
	monthRange               = "JAN-DEC"
	weekdayRange             = "SUN-SAT"
	operators                = `supported values: "In", "NotIn", "Exists", "DoesNotExist"`
	valuesRequired           = "values: [my-app]"
	valuesForbidden          = "{key: app, operator: Exists}"
	reserved                 = "snapshots.mapcontroller.dev/ are reserved: use another, such as example.com/"
	claimed                  = "GitOps tool would claim the %s and delete them: use another, such as example.com/%s"
	taken                    = "snapscheduler would take the snapshots for its own and delete them: use another, such as example.com/"
	labelKey                 = "example.com/tier"
	annotationKey            = "example.com/note"
	labelValue               = "my-app"
	className                = "fast"
	annotationValue          = "at most 1024 characters long, such as nightly"
	policies                 = `supported values: "Delete", "Orphan"`
	required                 = "Required value"
	empty                    = "should be at least 1 chars long"
)

// tooManyBytes returns the message for a string longer than maxLength.
func tooManyBytes(limit int) string { return fmt.Sprintf("may not be more than %d bytes", limit) }

// tooManyItems returns the message for a list or map with more than maxItems or maxProperties entries.
func tooManyItems(limit int) string { return fmt.Sprintf("must have at most %d items", limit) }

// long returns a string of n letters.
func long(n int) string { return strings.Repeat("a", n) }

// list returns a YAML list of n equal items.
func list(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+", ", n), ", ") + "]"
}

// entries returns a YAML map with n entries, whose keys begin with the prefix.
func entries(n int, prefix, value string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s%02d: %s", prefix, i, value))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// rejected is an object that the API server must reject for one cause, with a part of its message: a valid one with another value, in YAML,
// of one field. An empty value stands for no value.
type rejected struct {
	kind, field, value string
	want               cause
}

// group has cases of one field.
type group struct {
	kind, field string
	cases       map[string]rejection
}

// rejection is a value, and why it is rejected: the path below the field, and a part of the message.
type rejection struct{ value, below, message string }

// allRejected returns all objects that must be rejected. Together they violate every rule of the schemas (schema_test.go).
func allRejected() map[string]rejected {
	all := map[string]rejected{
		"a long name of a SnapshotSchedule":        {schedule, "metadata.name", long(64), cause{"<nil>", "my-app-snapshots"}},
		"a long name of a ClusterSnapshotSchedule": {fleet, "metadata.name", long(64), cause{"<nil>", "such as gold"}},
	}
	for _, g := range slices.Concat(specGroups(), durationGroups(), numberGroups(), fleetGroups(), statusGroups()) {
		for name, r := range g.cases {
			all[fmt.Sprintf("%s %s: %s", g.kind, g.field, name)] = rejected{g.kind, g.field, r.value, cause{g.field + r.below, r.message}}
		}
	}
	return all
}

// specGroups are about the fields of a SnapshotSchedule.
func specGroups() []group {
	lines := map[string]rejection{
		"a line of more than 512 bytes": {`"` + strings.Repeat("1,", 260) + `1 2 * * *"`, "", tooManyBytes(512)},
	}
	for message, invalid := range invalidCronLines {
		for _, line := range invalid {
			lines[fmt.Sprintf("%q", line)] = rejection{fmt.Sprintf("%q", line), "", message}
		}
	}
	const template = "spec.snapshotTemplate."
	return []group{
		{schedule, "spec", map[string]rejection{
			"omitted":                            {"", "", required},
			"both an interval and a schedule":    {`{snapshotInterval: 6h, schedule: "30 2 * * *"}`, "", oneOfIntervalAndSchedule},
			"neither an interval nor a schedule": {"{snapshotTTL: 10d}", "", oneOfIntervalAndSchedule},
			"empty":                              {"{}", "", oneOfIntervalAndSchedule},
			"a time zone with an interval":       {"{snapshotInterval: 6h, timeZone: UTC}", ".timeZone", cronFields},
		}},
		{schedule, "spec.schedule", lines},
		{schedule, "spec.timeZone", map[string]rejection{
			"empty":                       {`""`, "", zone},
			"the local zone":              {"Local", "", zone},
			"the local one in lower case": {"local", "", zone},
			"with a blank":                {"Europe/ Oslo", "", zone},
			"an absolute path":            {"/Europe/Oslo", "", zone},
			"a relative path":             {"../etc/localtime", "", zone},
			"an offset":                   {`"+02:00"`, "", zone},
			"65 characters":               {long(65), "", zone},
			"257 characters":              {long(257), "", tooManyBytes(256)},
		}},
		{schedule, "spec.selector.matchExpressions", map[string]rejection{
			"an unknown operator":       {"[{key: app, operator: Like, values: [a]}]", "[0].operator", operators},
			"In without values":         {"[{key: app, operator: In}]", "[0].values", valuesRequired},
			"In with no values":         {"[{key: app, operator: In, values: []}]", "[0].values", valuesRequired},
			"NotIn without values":      {"[{key: app, operator: NotIn}]", "[0].values", valuesRequired},
			"Exists with values":        {"[{key: app, operator: Exists, values: [a]}]", "[0].values", valuesForbidden},
			"DoesNotExist with values":  {"[{key: app, operator: DoesNotExist, values: [a]}]", "[0].values", valuesForbidden},
			"without a key":             {"[{operator: Exists}]", "[0].key", required},
			"without an operator":       {"[{key: app}]", "[0].operator", required},
			"an invalid key":            {"[{key: a b, operator: Exists}]", "[0].key", labelKey},
			"an empty key":              {`[{key: "", operator: Exists}]`, "[0].key", labelKey},
			"a key of 318 characters":   {"[{key: " + long(254) + "/" + long(63) + ", operator: Exists}]", "[0].key", labelKey},
			"a key of 513 characters":   {"[{key: " + long(513) + ", operator: Exists}]", "[0].key", tooManyBytes(512)},
			"a value with a blank":      {"[{key: app, operator: In, values: [a, b c]}]", "[0].values[1]", labelValue},
			"a value of 64 characters":  {"[{key: app, operator: In, values: [" + long(64) + "]}]", "[0].values[0]", labelValue},
			"a value of 257 characters": {"[{key: app, operator: In, values: [" + long(257) + "]}]", "[0].values[0]", tooManyBytes(256)},
			"65 values":                 {"[{key: app, operator: In, values: " + list(65, "v") + "}]", "[0].values", tooManyItems(64)},
			"17 expressions":            {list(17, "{key: app, operator: Exists}"), "", tooManyItems(16)},
		}},
		labels(schedule, "spec.selector.matchLabels", nil),
		labels(schedule, template+"metadata.labels", map[string]rejection{
			"a label of the controller":                      {"{snapshots.mapcontroller.dev/map-key: x}", "", reserved + "tier"},
			"an unknown label under the controller's prefix": {"{snapshots.mapcontroller.dev/anything: x}", "", reserved + "tier"},
			"a label by which GitOps tools claim objects":    {"{app.kubernetes.io/instance: shop}", "", claims("snapshots", "tier")},
			"a label of Argo CD":                             {"{argocd.argoproj.io/instance: shop}", "", claims("snapshots", "tier")},
			"a label of snapscheduler":                       {"{snapscheduler.backube/schedule: shop}", "", taken + "tier"},
		}),
		annotations(schedule, template+"metadata.annotations", map[string]rejection{
			"one of the controller":                   {"{snapshots.mapcontroller.dev/hold: x}", "", reserved + "note"},
			"one by which GitOps tools claim objects": {"{app.kubernetes.io/instance: shop}", "", claims("snapshots", "note")},
			"one of Argo CD":                          {"{argocd.argoproj.io/tracking-id: x}", "", claims("snapshots", "note")},
			"one of snapscheduler":                    {"{snapscheduler.backube/schedule: shop}", "", taken + "note"},
		}),
		{schedule, template + "spec", map[string]rejection{
			"both a class and a list of classes": {"{volumeSnapshotClassName: fast, volumeSnapshotClassNames: [fast]}", "", "[fast, archive]"},
		}},
		names(template + "spec.volumeSnapshotClassName"),
		listOfNames(template + "spec.volumeSnapshotClassNames"),
		listOfNames("spec.storageClassNames"),
		{schedule, "spec.deletionPolicy", map[string]rejection{
			"unknown":       {"Keep", "", policies},
			"in lower case": {"orphan", "", policies},
			"empty":         {`""`, "", policies},
		}},
	}
}

func claims(objects, alternative string) string { return fmt.Sprintf(claimed, objects, alternative) }

// labels returns the cases of a map of labels, and others.
func labels(kind, field string, others map[string]rejection) group {
	cases := map[string]rejection{
		"a key with a blank":                   {"{a b: x}", "", labelKey},
		"an empty key":                         {`{"": x}`, "", labelKey},
		"a key that ends in -":                 {"{a-: x}", "", labelKey},
		"a key of 64 characters":               {"{" + long(64) + ": x}", "", labelKey},
		"a key with capitals before its slash": {"{Example.com/a: x}", "", labelKey},
		"a prefix of 254 characters":           {"{" + long(254) + "/a: x}", "", labelKey},
		"a key with two slashes":               {"{a/b/c: x}", "", labelKey},
		"a value with a blank":                 {"{app: a b}", "[app]", labelValue},
		"a value that ends in .":               {"{app: a.}", "[app]", labelValue},
		"a value of 64 characters":             {"{app: " + long(64) + "}", "[app]", labelValue},
		"a value of 257 characters":            {"{app: " + long(257) + "}", ".app", tooManyBytes(256)},
		"33 labels":                            {entries(33, "k", "v"), "", tooManyItems(32)},
	}
	maps.Copy(cases, others)
	return group{kind, field, cases}
}

// annotations returns the cases of a map of annotations, and others.
func annotations(kind, field string, others map[string]rejection) group {
	cases := map[string]rejection{
		"a key with a blank":         {"{a b: x}", "", annotationKey},
		"a key of 64 characters":     {"{" + long(64) + ": x}", "", annotationKey},
		"a value of 1025 characters": {"{note: " + long(1025) + "}", "", annotationValue},
		"33 annotations":             {entries(33, "k", "v"), "", tooManyItems(32)},
	}
	maps.Copy(cases, others)
	return group{kind, field, cases}
}

// names returns the cases of the name of a class.
func names(field string) group {
	return group{schedule, field, map[string]rejection{
		"empty":          {`""`, "", className},
		"with a blank":   {"a b", "", className},
		"in capitals":    {"Fast", "", className},
		"ends in -":      {"fast-", "", className},
		"254 characters": {long(254), "", className},
		"513 characters": {long(513), "", tooManyBytes(512)},
	}}
}

// listOfNames returns the cases of a list of names of classes.
func listOfNames(field string) group {
	g := names(field)
	for name, r := range g.cases {
		g.cases[name] = rejection{"[fast, " + r.value + "]", "[1]", r.message}
	}
	g.cases["no item"] = rejection{"[]", "", "[fast]"}
	g.cases["17 items"] = rejection{list(17, "fast"), "", tooManyItems(16)}
	return g
}

// durationGroups have all cases for one field, and one for each rule for the others, which have the same rules (schema_test.go).
func durationGroups() (all []group) {
	each := map[string]rejection{
		"malformed":      {"1 hour", "", durationSyntax},
		"zero":           {"0s", "", tooShort},
		"101 years":      {"101y", "", tooLong},
		"129 characters": {long(129), "", tooManyBytes(128)},
	}
	for _, field := range durationFields {
		all = append(all, group{schedule, field, each})
	}
	cases := map[string]rejection{}
	for message, durations := range invalidDurations {
		for _, duration := range durations {
			cases[fmt.Sprintf("%q", duration)] = rejection{fmt.Sprintf("%q", duration), "", message}
		}
	}
	return append(all, group{schedule, durationFields[0], cases})
}

func numberGroups() (all []group) {
	for field, least := range map[string]int{
		"minReady": 0, "detached.minReady": 0, "maxCount": 1,
		"keep.last": 1, "keep.hourly": 1, "keep.daily": 1, "keep.weekly": 1, "keep.monthly": 1, "keep.yearly": 1,
	} {
		all = append(all, group{schedule, "spec.retention." + field, map[string]rejection{
			"too small": {fmt.Sprint(least - 1), "", fmt.Sprintf("should be greater than or equal to %d", least)},
			"negative":  {"-1", "", fmt.Sprintf("should be greater than or equal to %d", least)},
			"too large": {"2147483648", "", "should be less than or equal to 2147483647"},
		}})
	}
	return append(all, group{schedule, "spec.retention.minVerified", map[string]rejection{
		"negative":  {"-1", "", "should be greater than or equal to 0"},
		"too large": {"101", "", "should be less than or equal to 100"},
	}})
}

// fleetGroups are about the fields of a ClusterSnapshotSchedule. Those of a SnapshotSchedule have the same rules (schema_test.go).
func fleetGroups() []group {
	omitted := map[string]rejection{"omitted": {"", "", required}}
	return []group{
		{fleet, "spec", omitted},
		{fleet, "spec.namespaceSelector", omitted},
		{fleet, "spec.template", omitted},
		{fleet, "spec.template.spec", omitted},
		{fleet, "spec.template.spec", map[string]rejection{
			"no deletionPolicy": {"{snapshotInterval: 6h}", ".deletionPolicy", "one of Delete and Orphan"},
			"no interval":       {"{deletionPolicy: Delete}", "", oneOfIntervalAndSchedule},
		}},
		{fleet, "spec.template.spec.snapshotTemplate.metadata.labels", map[string]rejection{
			"a label of snapscheduler": {"{snapscheduler.backube/when: x}", "", taken + "tier"},
		}},
		labels(fleet, "spec.template.metadata.labels", map[string]rejection{
			"a label of the controller": {"{snapshots.mapcontroller.dev/map-key: x}", "", reserved + "tier"},
			"a label of a GitOps tool":  {"{app.kubernetes.io/instance: x}", "", claims("SnapshotSchedules", "tier")},
		}),
		annotations(fleet, "spec.template.metadata.annotations", map[string]rejection{
			"one of the controller": {"{snapshots.mapcontroller.dev/hold: x}", "", reserved + "note"},
			"one of a GitOps tool":  {"{argocd.argoproj.io/tracking-id: x}", "", claims("SnapshotSchedules", "note")},
		}),
	}
}

// statusGroups are about the status of both kinds.
func statusGroups() (all []group) {
	for kind, fields := range map[string][]string{
		schedule: {
			"inputs.persistentvolumeclaims.total", "outputs.volumesnapshots.total", "outputs.volumesnapshots.ready",
			"detached.mapKeys", "detached.volumesnapshots", "retention.generation", "retention.sinceTime", "retention.editDelay",
		},
		fleet: {
			"inputs.namespaces", "inputs.namespaces.total", "outputs.snapshotschedules.total", "outputs.snapshotschedules.ready",
			"outputs.snapshotschedules.updated", "detached.snapshotschedules", "persistentVolumeClaims.total",
			"persistentVolumeClaims.skipped", "volumeSnapshots.total", "volumeSnapshots.ready",
		},
	} {
		for _, field := range fields {
			all = append(all, group{kind, "status." + field, map[string]rejection{"omitted": {"", "", required}}})
		}
		all = append(all,
			group{kind, "status.moreProblems", map[string]rejection{"negative": {"-1", "", "should be greater than or equal to 0"}}},
			group{kind, "status.conditions", map[string]rejection{"nine": {conditions(9), "", tooManyItems(8)}}})
	}
	const since = `, sinceTime: "2026-01-02T03:04:05Z"}`
	const failed, ofFleet = "{reason: CreateFailed" + since, "{namespace: a, reason: CreateFailed" + since
	return append(all,
		group{fleet, "status.oldestRecoveryPointNamespace", map[string]rejection{"64 characters": {long(64), "", tooManyBytes(63)}}},
		group{schedule, "status.problems", map[string]rejection{
			"eleven":                       {list(11, failed), "", tooManyItems(10)},
			"no reason":                    {`[{sinceTime: "2026-01-02T03:04:05Z"}]`, "[0].reason", required},
			"an empty reason":              {`[{reason: ""` + since + "]", "[0].reason", empty},
			"a reason of 65 characters":    {"[{reason: " + long(65) + since + "]", "[0].reason", tooManyBytes(64)},
			"no time":                      {"[{reason: CreateFailed}]", "[0].sinceTime", required},
			"a message of 1025 characters": {"[{reason: CreateFailed, message: " + long(1025) + since + "]", "[0].message", tooManyBytes(1024)},
			"a PVC of 254 characters": {"[{reason: CreateFailed, persistentVolumeClaim: " + long(254) + since + "]",
				"[0].persistentVolumeClaim", tooManyBytes(253)},
		}},
		group{fleet, "status.problems", map[string]rejection{
			"eleven":                       {list(11, ofFleet), "", tooManyItems(10)},
			"no namespace":                 {"[" + failed + "]", "[0].namespace", required},
			"an empty namespace":           {`[{namespace: "", reason: CreateFailed` + since + "]", "[0].namespace", empty},
			"a namespace of 64 characters": {"[{reason: CreateFailed, namespace: " + long(64) + since + "]", "[0].namespace", tooManyBytes(63)},
			"no reason":                    {"[{namespace: a" + since + "]", "[0].reason", required},
			"an empty reason":              {`[{namespace: a, reason: ""` + since + "]", "[0].reason", empty},
			"a reason of 1025 characters":  {"[{namespace: a, reason: " + long(1025) + since + "]", "[0].reason", tooManyBytes(1024)},
			"no time":                      {"[{namespace: a, reason: CreateFailed}]", "[0].sinceTime", required},
			"a message of 1025 characters": {"[{namespace: a, reason: CreateFailed, message: " + long(1025) + since + "]",
				"[0].message", tooManyBytes(1024)},
		}})
}
