// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	tomorrow = "2026-11-22T12:00:00Z"
	nextWeek = "2026-11-28T12:00:00Z"
)

func at(text string) time.Time {
	if text == "" {
		return Forever
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return end
}

// snapshot has the given annotations hold and holders; "-" is none.
func snapshot(hold, holders string) *snapshotv1.VolumeSnapshot {
	v := &snapshotv1.VolumeSnapshot{}
	v.Annotations = map[string]string{}
	if hold != "-" {
		v.Annotations[v1alpha1.AnnotationHold] = hold
	}
	if holders != "-" {
		v.Annotations[v1alpha1.AnnotationHolders] = holders
	}
	return v
}

// write applies the changes as a merge patch.
func write(v *snapshotv1.VolumeSnapshot, h Holders) {
	for key, value := range h.Changes(v) {
		if value == nil {
			delete(v.Annotations, key)
		} else {
			v.Annotations[key] = value.(string)
		}
	}
}

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		hold, holders string
		want          map[string]string
	}{
		"no hold":                                   {"-", "-", nil},
		"no hold but entries: kubectl ended all":    {"-", `{"audit":""}`, nil},
		"a hold from before there were entries":     {"audit", "-", map[string]string{"audit": ""}},
		"the same with an end":                      {tomorrow, "-", map[string]string{tomorrow: tomorrow}},
		"an empty hold":                             {"", "-", map[string]string{Nobody: ""}},
		"one that an entry explains":                {"forever: audit", `{"audit":"","b":"` + tomorrow + `"}`, map[string]string{"audit": "", "b": tomorrow}},
		"one that an end explains":                  {tomorrow, `{"b":"` + tomorrow + `"}`, map[string]string{"b": tomorrow}},
		"the same end in another zone":              {"2026-11-22T13:00:00+01:00", `{"b":"` + tomorrow + `"}`, map[string]string{"b": tomorrow}},
		"one that somebody else set over it":        {"incident", `{"b":"` + tomorrow + `"}`, map[string]string{"incident": "", "b": tomorrow}},
		"one that somebody else shortened":          {tomorrow, `{"b":""}`, map[string]string{tomorrow: tomorrow, "b": ""}},
		"one forever whose entry has an end":        {"forever: b", `{"b":"` + tomorrow + `"}`, map[string]string{"b": ""}},
		"an entry that is no time":                  {"forever: b", `{"b":"soon","c":5,"d":null}`, map[string]string{"b": "", "c": "", "d": ""}},
		"entries that are no JSON":                  {"forever: b", `{"b":""`, map[string]string{unreadable: ""}},
		"entries that are no object, and an end":    {tomorrow, `["b"]`, map[string]string{unreadable: tomorrow}},
		"entries that are too long":                 {tomorrow, `{"` + strings.Repeat("b", maxText) + `":""}`, map[string]string{unreadable: tomorrow}},
		"a long hold":                               {strings.Repeat("é", 200), "-", map[string]string{strings.Repeat("é", 128): ""}},
		"a hold of several lines, and bytes of all": {"a\nb\x1b\xff", "-", map[string]string{"a\uFFFDb\uFFFD\uFFFD": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			h := Of(snapshot(c.hold, c.holders))
			if got := h.Names(); len(got) != len(c.want) {
				t.Errorf("holders %q", got)
			}
			for name, end := range c.want {
				if got := h.Until(name); !got.Equal(at(end)) {
					t.Errorf("%s: until %s", name, got)
				}
			}
		})
	}
}

// Contract: CLI-3.
func TestAHoldIsTheLongestOfItsHolders(t *testing.T) {
	v := snapshot("before the upgrade", "-")
	for _, step := range []struct {
		name    string
		do      func(h Holders) (Holders, error)
		hold    string
		entries string
	}{
		{"a hold forever stays when one with an end comes", func(h Holders) (Holders, error) { return h.With("incident", at(nextWeek), noon) },
			"forever: before the upgrade", `{"before the upgrade":"","incident":"` + nextWeek + `"}`},
		{"the other one may not be shortened by chance", func(h Holders) (Holders, error) { return h.With("incident", at(tomorrow), noon) },
			"forever: before the upgrade", `{"before the upgrade":"","incident":"` + nextWeek + `"}`},
		{"but on purpose", func(h Holders) (Holders, error) { return h.Shortened("incident", at(tomorrow), noon) },
			"forever: before the upgrade", `{"before the upgrade":"","incident":"` + tomorrow + `"}`},
		{"a rollback comes", func(h Holders) (Holders, error) { return h.With(OfRollback("x1"), at(nextWeek), noon) },
			"forever: before the upgrade", `{"before the upgrade":"","incident":"` + tomorrow + `","rollback x1":"` + nextWeek + `"}`},
		{"the first one ends", func(h Holders) (Holders, error) { return h.Without("before the upgrade"), nil },
			nextWeek, `{"incident":"` + tomorrow + `","rollback x1":"` + nextWeek + `"}`},
		{"what does not hold ends", func(h Holders) (Holders, error) { return h.Without("nothing"), nil },
			nextWeek, `{"incident":"` + tomorrow + `","rollback x1":"` + nextWeek + `"}`},
		{"all but rollbacks end", func(h Holders) (Holders, error) { return h.Rollbacks(), nil },
			nextWeek, `{"rollback x1":"` + nextWeek + `"}`},
		{"the rollback's loses its end", func(h Holders) (Holders, error) { return h.With(OfRollback("x1"), Forever, noon) },
			"forever: rollback x1", `{"rollback x1":""}`},
		{"the last one ends", func(h Holders) (Holders, error) { return h.Without(OfRollback("x1")), nil }, "", ""},
	} {
		h, err := step.do(Of(v))
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		write(v, h)
		if hold, entries := v.Annotations[v1alpha1.AnnotationHold], v.Annotations[v1alpha1.AnnotationHolders]; hold != step.hold || entries != step.entries {
			t.Fatalf("%s: hold %q, holders %s", step.name, hold, entries)
		}
		if changes := h.Changes(v); changes != nil {
			t.Fatalf("%s: written again: %v", step.name, changes)
		}
	}
	if len(v.Annotations) > 0 {
		t.Errorf("left: %v", v.Annotations)
	}
}

func TestWhoCannotHold(t *testing.T) {
	full := Holders{}
	for i := range maxHolders {
		var err error
		if full, err = full.With("holder "+strconv.Itoa(i), at(tomorrow), noon); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		before Holders
		name   string
		now    time.Time
		want   string
	}{
		"a name of no length":         {Holders{}, "", noon, "a reason is one line"},
		"a long name":                 {Holders{}, strings.Repeat("x", maxName+1), noon, "a reason is one line"},
		"a name of two lines":         {Holders{}, "a\nb", noon, "a reason is one line"},
		"one more than there may be":  {full, "another", noon, "it is held for 64 reasons"},
		"one that is there":           {full, "holder 7", noon, ""},
		"after the others have ended": {full, "another", at(tomorrow).Add(2 * time.Hour), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := c.before.With(c.name, Forever, c.now)
			if c.want == "" {
				if err != nil || !h.Until(c.name).Equal(Forever) {
					t.Errorf("got %v, %v", h, err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || !maps.Equal(h.ends, c.before.ends) {
				t.Errorf("got %v, %v", h, err)
			}
		})
	}
	v := snapshot("-", "-")
	write(v, full)
	if text := v.Annotations[v1alpha1.AnnotationHolders]; len(text) > maxText {
		t.Errorf("%d bytes", len(text))
	}
}

// The names that fit can all be read again.
func TestTheMostThatIsWrittenIsRead(t *testing.T) {
	h := Holders{}
	for i := range 2 * maxHolders {
		name := strings.Repeat(`"<`, maxName/2-9) + strconv.Itoa(i)
		if i%2 == 0 {
			name = CopyPrefix + name
		}
		var err error
		if h, err = h.With(name, at(tomorrow).Add(time.Duration(i)), noon); err != nil {
			t.Fatal(err)
		}
	}
	v := snapshot("-", "-")
	write(v, h)
	if got := Of(v); !maps.Equal(got.ends, h.ends) {
		t.Errorf("read %d holders", len(got.ends))
	}
}

// Whatever the other holders do, who do not know each other, a snapshot is held for as long as I hold it, and what it says is
// the longest of all. This also holds if others set a hold where there was none, lengthen it with kubectl, or break the entries.
//
// Contract: CLI-3.
func TestNoOtherHolderShortensMine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawEnd := func(label string) time.Time {
			if rapid.Bool().Draw(t, label+" has an end") {
				return noon.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, label)) * time.Hour)
			}
			return Forever
		}
		v := snapshot(rapid.SampledFrom([]string{"-", "", "audit", "forever: audit", "rollback r1", tomorrow, "mine"}).Draw(t, "hold"),
			rapid.SampledFrom([]string{"-", "{}", `{"audit":"` + nextWeek + `"}`, `{"mine":"` + tomorrow + `"}`, "[", `{"audit":5}`}).Draw(t, "holders"))
		mine := rapid.SampledFrom([]string{"mine", OfRollback("mine")}).Draw(t, "name")
		end := drawEnd("mine")
		h, err := Of(v).With(mine, end, noon)
		if err != nil {
			t.Fatal(err)
		}
		write(v, h)

		others := []string{"a", "audit", tomorrow, OfRollback("other"), Nobody, unreadable + "?"}
		broken := false
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				until, held := backup.HeldUntil(v)
				if !held || until.Before(end) {
					t.Fatalf("mine until %s, but held until %s (%v): %v", end, until, held, v.Annotations)
				}
				if longest := Of(v).Longest(); longest.After(until) && !broken {
					t.Fatalf("hold says %s, the longest entry %s", until, longest)
				}
			},
			"another comes": func(t *rapid.T) {
				h, err := Of(v).With(rapid.SampledFrom(others).Draw(t, "name"), drawEnd("end"), noon)
				if err != nil {
					t.Fatal(err)
				}
				write(v, h)
			},
			"another shortens its own": func(t *rapid.T) {
				h, err := Of(v).Shortened(rapid.SampledFrom(others).Draw(t, "name"), drawEnd("end"), noon)
				if err != nil {
					t.Fatal(err)
				}
				write(v, h)
			},
			"another goes": func(t *rapid.T) { write(v, Of(v).Without(rapid.SampledFrom(others).Draw(t, "name"))) },
			"all but rollbacks go": func(*rapid.T) {
				if IsRollback(mine) && !broken {
					write(v, Of(v).Rollbacks())
				}
			},
			"somebody lengthens it with kubectl": func(*rapid.T) {
				if until, _ := backup.HeldUntil(v); !until.Equal(Forever) {
					v.Annotations[v1alpha1.AnnotationHold] = until.Add(time.Hour).Format(time.RFC3339)
				}
			},
			"somebody gives another reason with kubectl": func(*rapid.T) { v.Annotations[v1alpha1.AnnotationHold] = "because" },
			"somebody breaks the entries": func(t *rapid.T) {
				v.Annotations[v1alpha1.AnnotationHolders], broken = rapid.SampledFrom([]string{"{", "[]", "5"}).Draw(t, "text"), true
			},
		})
	})
}

func FuzzRead(f *testing.F) {
	f.Add("forever: a", `{"a":""}`)
	f.Add(tomorrow, `{"a":"2026-11-22T12:00:00.5+01:00"}`)
	f.Add("\xff", `{"\ud800":{}}`)
	f.Fuzz(func(t *testing.T, hold, entries string) {
		v := snapshot(hold, entries)
		until, held := backup.HeldUntil(v)
		if h := Of(v); held && h.Longest().Before(until) || !held && len(h.Names()) > 0 {
			t.Fatalf("%q %q: held until %s, read as %v", hold, entries, until, h)
		}
		h, err := Of(v).With("mine", at(nextWeek), noon)
		if err != nil {
			return
		}
		write(v, h)
		if again, _ := backup.HeldUntil(v); again.Before(until) && until.After(noon) {
			t.Fatalf("%q %q: shortened from %s to %s", hold, entries, until, again)
		}
		var read map[string]string
		if err := json.Unmarshal([]byte(v.Annotations[v1alpha1.AnnotationHolders]), &read); err != nil || !slices.Contains(Of(v).Names(), "mine") {
			t.Fatalf("%q %q: wrote %v: %v", hold, entries, v.Annotations, err)
		}
	})
}
