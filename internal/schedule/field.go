/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// field is one of the five fields of a cron line.
type field struct {
	name     string
	min, max int // what * stands for
	// names, in order from min on, each of three letters; empty: numbers only.
	names []string
}

// fields in the order of a cron line. Sunday is 0; sunday makes 7 of it too.
var fields = [5]field{
	{name: "minute", min: 0, max: 59},
	{name: "hour", min: 0, max: 23},
	{name: "day of month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{name: "day of week", min: 0, max: 6, names: strings.Fields("sun mon tue wed thu fri sat")},
}

// sunday is the second number that Vixie's cron has for Sunday, in the day of week only.
const sunday = 7

// parse reads a comma-separated list of items into a mask with a bit for each
// value. star reports an unrestricted field: one with a bare * (or ?, which is
// the same) among its items. As for CronJob, */2 restricts.
func (f field) parse(text string) (mask uint64, star bool, err error) {
	for item := range strings.SplitSeq(text, ",") {
		bits, bare, err := f.parseItem(item)
		if err != nil {
			return 0, false, fmt.Errorf("%s %q: %w", f.name, text, err)
		}
		mask |= bits
		star = star || bare
	}
	return mask, star, nil
}

// parseItem reads a span, or a span/step.
func (f field) parseItem(item string) (mask uint64, bare bool, err error) {
	span, stepText, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		if step, err = number(stepText); err != nil || step == 0 {
			return 0, false, fmt.Errorf("step %q is not a number from 1 on", stepText)
		}
	}
	low, high, err := f.parseSpan(span, stepped)
	if err != nil {
		return 0, false, err
	}
	for v := low; v <= high; v += step {
		mask |= 1 << v
	}
	if f.max == 6 && mask&(1<<sunday) != 0 {
		mask = mask&^(1<<sunday) | 1
	}
	return mask, isStar(span) && step == 1, nil
}

// parseSpan reads *, n or a-b. With a step, n runs to the field's end.
func (f field) parseSpan(span string, stepped bool) (low, high int, err error) {
	if isStar(span) {
		return f.min, f.max, nil
	}
	from, to, isRange := strings.Cut(span, "-")
	if low, err = f.value(from); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange:
		if high, err = f.value(to); err == nil && low > high {
			err = fmt.Errorf("range %q runs backwards; split it in two", span)
		}
	case stepped:
		high = max(low, f.max) // 7 is Sunday, beyond the end
	default:
		high = low
	}
	return low, high, err
}

func isStar(span string) bool { return span == "*" || span == "?" }

// value reads one number or name of the field.
func (f field) value(s string) (int, error) {
	for i, name := range f.names {
		if s == name {
			return f.min + i, nil
		}
	}
	top := f.max
	if top == 6 {
		top = sunday
	}
	v, err := number(s)
	if err != nil || v < f.min || v > top {
		return 0, fmt.Errorf("%q is not a number from %d to %d%s", s, f.min, top, f.orName())
	}
	return v, nil
}

func (f field) orName() string {
	if len(f.names) == 0 {
		return ""
	}
	return " or a name such as " + f.names[0]
}

// number reads digits only: strconv would also take a sign.
func number(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err
}
