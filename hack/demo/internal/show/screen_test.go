// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package show

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/check"
)

// terminal shows what a terminal would, of what Screen writes to one.
type terminal struct {
	lines  []string
	row    int
	cursor bool
}

var control = regexp.MustCompile(`^\x1b\[(\??\d*)([A-Za-z])`)

func (v *terminal) Write(b []byte) (int, error) {
	for text := string(b); text != ""; {
		if v.row == len(v.lines) {
			v.lines = append(v.lines, "")
		}
		switch m := control.FindStringSubmatch(text); {
		case m != nil:
			v.obey(m[1], m[2])
			text = text[len(m[0]):]
		case text[0] == '\n':
			v.row++
			text = text[1:]
		default:
			end := strings.IndexAny(text, "\n\x1b")
			if end < 0 {
				end = len(text)
			}
			v.lines[v.row] = text[:end] // every line is written anew, and in one piece
			text = text[end:]
		}
	}
	return len(b), nil
}

func (v *terminal) obey(argument, letter string) {
	switch argument + letter {
	case "?25l":
		v.cursor = false
	case "?25h":
		v.cursor = true
	case "J":
		v.lines = v.lines[:v.row]
	default:
		if up, err := strconv.Atoi(argument); err == nil && letter == "F" {
			v.row -= up
		}
	}
}

func TestFramesAreDrawnInPlace(t *testing.T) {
	view := &terminal{cursor: true}
	s := New(view, true, false)
	s.Print("before")
	s.Frame([]string{"one", "two", "three"})
	if view.cursor {
		t.Error("the cursor should be hidden while a frame is live")
	}
	s.Frame([]string{"ONE", "TWO"})
	s.Print("after")
	if !view.cursor {
		t.Error("the cursor should be back")
	}
	s.Frame([]string{"next"})
	s.Settle()
	s.Settle()
	if got, want := strings.TrimRight(strings.Join(view.lines, "|"), "|"), "before|    ONE|    TWO|after|    next"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !view.cursor {
		t.Error("the cursor should be back")
	}
}

func TestPlainFramesComeNowAndThen(t *testing.T) {
	var out strings.Builder
	s := New(&out, false, false)
	now := time.Unix(1000, 0)
	s.now = func() time.Time { return now }
	for _, frame := range []string{"0", "2", "4", "6", "8"} {
		s.Frame([]string{frame})
		now = now.Add(2 * time.Second)
	}
	s.Settle()
	s.Settle()
	if got, want := out.String(), "    0\n    6\n    8\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("no control sequences where there is no terminal")
	}
}

func TestCheck(t *testing.T) {
	var out strings.Builder
	s := New(&out, false, false)
	s.Check(check.Result{Name: "n", Expected: "it is so", Seen: "3 of 3", OK: true})
	s.Check(check.Result{Name: "n", Expected: "it is so", Seen: "2 of 3"})
	want := "   ✓ it is so (3 of 3)\n   ✗ failed: n\n     expected: it is so\n     seen:     2 of 3\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{
		340 * time.Millisecond: "0.3s", 12400 * time.Millisecond: "12s", 72 * time.Second: "1m12s",
	} {
		if got := Elapsed(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
