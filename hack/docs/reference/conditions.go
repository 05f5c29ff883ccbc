// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"regexp"
	"slices"
	"strings"
)

// conditionReason is one allowed combination of condition type, status and reason.
type conditionReason struct{ condition, status, reason string }

var (
	statusLine = regexp.MustCompile(`^(True|False|Unknown), with reason:$`)
	reasonLine = regexp.MustCompile(`^\s*- (\w+)$`)
)

// conditionReasons parses the comments of the condition types, which list the reasons
// of each status.
func (groups constantGroups) conditionReasons() []conditionReason {
	var found []conditionReason
	for _, group := range groups {
		for _, c := range group.constants {
			if !strings.HasPrefix(c.goName, "Condition") {
				continue
			}
			next := conditionReason{condition: c.value}
			for line := range strings.Lines(c.doc) {
				line = strings.TrimRight(line, "\n")
				if m := statusLine.FindStringSubmatch(line); m != nil {
					next.status = m[1]
				} else if m := reasonLine.FindStringSubmatch(line); m != nil {
					next.reason = m[1]
					found = append(found, next)
				}
			}
		}
	}
	return found
}

func (groups constantGroups) conditionTable() string {
	rows := [][]string{}
	for _, r := range groups.conditionReasons() {
		rows = append(rows, []string{code(r.condition), code(r.status), code(r.reason), sentence(groups.reason(r.reason).doc)})
	}
	return markdownTable([]string{"condition", "status", "reason", "meaning"}, rows)
}

// reason returns the constant of a reason.
func (groups constantGroups) reason(value string) constant {
	for _, group := range groups {
		for _, c := range group.constants {
			if strings.HasPrefix(c.goName, "Reason") && c.value == value {
				return c
			}
		}
	}
	return constant{}
}

// reasonTables returns a table for each group of reasons of events and problems, that
// is, of reasons that belong to no condition.
func (groups constantGroups) reasonTables() string {
	var tables []string
	conditionReasons := groups.conditionReasons()
	for _, group := range groups {
		rows := [][]string{}
		for _, c := range group.constants {
			ofCondition := slices.ContainsFunc(conditionReasons, func(r conditionReason) bool { return r.reason == c.value })
			if strings.HasPrefix(c.goName, "Reason") && !ofCondition {
				rows = append(rows, []string{code(c.value), sentence(c.doc)})
			}
		}
		if len(rows) > 0 {
			tables = append(tables, sentence(group.doc)+"\n\n"+markdownTable([]string{"reason", "meaning"}, rows))
		}
	}
	return strings.Join(tables, "\n")
}
