// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Quoted quotes a word for a shell. Names of owners may contain anything.
func Quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Listed is how many deletes, and how many PVCs of a wait, are listed.
const Listed = 10

// Day is a day of 24 hours.
const Day = 24 * time.Hour

// Age is how long ago a time was, as kubectl writes it, but rounded; empty for none.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Rounded(now.Sub(t))
}

// Rounded is a duration as kubectl writes one, rounded to what is shown of it, and not cut.
func Rounded(d time.Duration) string {
	if d >= 8*Day-Day/2 {
		d = d.Round(Day)
	}
	return duration.HumanDuration(toHour(d))
}

// toHour rounds a duration to what is shown of it, but to no more than an hour.
func toHour(d time.Duration) time.Duration {
	switch {
	case d >= 8*time.Hour-time.Minute/2:
		return d.Round(time.Hour)
	case d >= 10*time.Minute-time.Second/2:
		return d.Round(time.Minute)
	}
	return d.Round(time.Second)
}

// Until is how far in the future a time is; empty for none. It is rounded, as ages are: nine days and 23 hours
// and 40 minutes are ten days. Days are rounded to hours only: what is deleted lives for no half a day less than is said.
func Until(now, t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case !t.After(now):
		return "now"
	}
	return duration.HumanDuration(toHour(t.Sub(now)))
}

// Due is until when a snapshot is taken. What is late is not taken now: no operator runs, or something holds it up.
func Due(now, slot time.Time) string {
	if late := now.Sub(slot); !slot.IsZero() && late >= time.Minute {
		return "overdue " + Rounded(late)
	}
	return Until(now, slot)
}

// Timestamp writes a time as users see it in annotations.
func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// TimeOf is a time for JSON; nil for none.
func TimeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
}

// Plural returns "1 snapshot" or "2 snapshots".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ValueOf is the inverse of TimeOf.
func ValueOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// plain matches a word that a shell takes as it is.
var plain = regexp.MustCompile(`^[a-zA-Z0-9_./:,][a-zA-Z0-9_./:,-]*$`)

// ShellWord returns an argument of a command line that a user may copy: the claim names of a Deployment's template, for example, may be
// any text.
func ShellWord(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return Quoted(text)
}
