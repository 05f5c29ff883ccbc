// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"regexp"
	"strings"
)

// change is an entry of Artifact Hub's annotation artifacthub.io/changes.
type change struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

// kinds are Artifact Hub's by the headings of Keep a Changelog. What has another heading is a change.
var kinds = map[string]string{
	"Added": "added", "Changed": "changed", "Deprecated": "deprecated", "Removed": "removed", "Fixed": "fixed", "Security": "security",
}

var (
	section = regexp.MustCompile(`(?m)^## `)
	heading = regexp.MustCompile(`(?m)^### `)
	item    = regexp.MustCompile(`(?m)^- `)
	link    = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	// sentence is the first one of an item: a list is for those who look for one thing.
	sentence = regexp.MustCompile(`^.*?\.(?: |$)`)
)

// changesOf returns what the newest section of a changelog says, one sentence an item.
func changesOf(changelog string) []change {
	all := []change{}
	sections := section.Split(changelog, 3)
	if len(sections) < 2 {
		return all
	}
	for _, part := range heading.Split(sections[1], -1)[1:] {
		title, text, _ := strings.Cut(part, "\n")
		for _, entry := range item.Split(text, -1)[1:] {
			entry = link.ReplaceAllString(strings.Join(strings.Fields(entry), " "), "$1")
			entry = strings.TrimRight(cmp.Or(sentence.FindString(entry), entry), ". ")
			all = append(all, change{Kind: cmp.Or(kinds[strings.TrimSpace(title)], "changed"), Description: entry})
		}
	}
	return all
}
