// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARecordingIsTheSameEachTime(t *testing.T) {
	record := func(namespace, volume, at, snapshot, before string) string {
		r := &Recording{}
		r.Call(namespace, "shop")
		r.Ran("look -n "+namespace, "volume pvc-"+volume+", again pvc-"+volume+"\nat "+at+": "+snapshot+", "+before+"\n\n")
		return r.String()
	}
	first := record("test-1", "11111111-2222-3333-4444-555555555555", "2026-11-01T10:00:00Z", "data-20261101100000-abcdefghij", "data-before-20261031000000")
	again := record("test-7", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "2027-01-01T23:59:59Z", "data-20270101235959-zyxwvutsrq", "data-before-20270101000000")
	const want = `$ look -n shop
volume pvc-5f2c6f0e-7d1b-4c47-9a4e-000000000001, again pvc-5f2c6f0e-7d1b-4c47-9a4e-000000000001
at 2026-11-21T09:01:00Z: data-20261121090100-k7xq2m2222, data-before-20261121090000
`
	if first != want || again != want {
		t.Errorf("%s\n%s", first, again)
	}
}

func TestAPlaceIsNeeded(t *testing.T) {
	if err := new(Recording).Check("tasks/rollback.md", "nothing"); err == nil {
		t.Error("a recording that no page shows is not compared")
	}
}

func TestATerminalShowsAllAndExecutesNothing(t *testing.T) {
	long := strings.Repeat("x", Columns) + "y"
	svg := Still(`a "label"`, "look", "<script>&\r\n  indented \x1b[31mred\x1b[0m plain\r\n"+long+"\r\n")
	type text struct{ Class, X, Y, Text string }
	var texts []text
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var element struct {
			Class string `xml:"class,attr"`
			X     string `xml:"x,attr"`
			Y     string `xml:"y,attr"`
			Text  string `xml:",chardata"`
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			if err := decoder.DecodeElement(&element, &start); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text(element))
		} else if ok && start.Name.Local == "script" {
			t.Error("a script")
		}
	}
	want := []text{
		{"command", "20.0", "50", "$ look"},
		{"c0", "20.0", "68", "<script>&"},
		{"c0", "20.0", "86", "  indented "}, {"c31", "105.8", "86", "red"}, {"c0", "129.2", "86", " plain"},
		{"c0", "20.0", "104", long[:Columns]}, {"c0", "20.0", "122", "y"},
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}
