// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/check"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

func TestOptions(t *testing.T) {
	for line, want := range map[string]options{
		"":               {},
		"--keep":         {keep: true},
		"--keep -o json": {keep: true, output: "json"},
		"--down":         {down: true},
	} {
		if got, err := parse(strings.Fields(line), io.Discard); err != nil || got != want {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"-o yaml", "--keep --down", "more", "--nonsense"} {
		if _, err := parse(strings.Fields(line), io.Discard); err == nil {
			t.Errorf("%q should be refused", line)
		}
	}
}

func TestReport(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{nil, 0, `"ok": true`},
		{errCheck, exitFailed, `"ok": false`},
		{errors.New("no cluster"), exitFailed, `"error": "no cluster"`},
		{errors.Join(errInterrupted, io.EOF), exitInterrupted, `"error": "interrupted`},
	} {
		r := &report{}
		r.end(c.err, 1234*time.Millisecond)
		var out strings.Builder
		if err := r.write(&out); err != nil {
			t.Fatal(err)
		}
		if r.exitCode() != c.code || !strings.Contains(out.String(), c.want) || !strings.Contains(out.String(), `"seconds": 1.2`) {
			t.Errorf("%v: exit code %d, %s", c.err, r.exitCode(), &out)
		}
		if !strings.Contains(out.String(), `"checks": []`) {
			t.Errorf("no checks is an empty list: %s", &out)
		}
	}
}

// The schedule of the demo has to be quick, and to select what the acts speak of.
func TestTermsOfTheManifest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", scheduleFile))
	if err != nil {
		t.Fatal(err)
	}
	s := &v1alpha1.SnapshotSchedule{}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		t.Fatal(err)
	}
	if s.Name != scheduleName || s.Namespace != namespace {
		t.Errorf("it is %s/%s", s.Namespace, s.Name)
	}
	s.UID = "uid"
	w := record.World{Schedule: s, Claims: []record.Claim{
		{Name: "db", Labels: map[string]string{"app": "my-app"}},
		{Name: "scratch", Labels: map[string]string{"app": "other"}},
	}}
	terms, err := termsOf(w)
	if err != nil {
		t.Fatal(err)
	}
	if len(terms.Selected) != 1 || terms.Selected[0] != "db" || terms.ScheduleUID != "uid" {
		t.Errorf("%+v", terms)
	}
	if terms.Interval < time.Second || terms.TTL < 3*terms.Interval || terms.TTL > 30*time.Second {
		t.Errorf("the times are not for a demo: %+v", terms)
	}
	s.Spec.SnapshotInterval = "1d"
	if _, err := termsOf(w); err == nil {
		t.Error("a time that the demo can't read should be an error")
	}
}

func TestQuiet(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &play{terms: check.Terms{Interval: 4 * time.Second}}
	for _, c := range []struct {
		name  string
		ready bool
		after time.Duration
		want  bool
	}{
		{"just ready", true, time.Second, true},
		{"under way", false, time.Second, false},
		{"the next is near", true, 3 * time.Second, false},
	} {
		w := record.World{Now: start.Add(c.after), Snapshots: []record.Snapshot{{Claim: lost, Slot: start, Ready: c.ready}}}
		if got := p.quiet(w); got.OK != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if p.quiet(record.World{Now: start}).OK {
		t.Error("without a snapshot there is nothing to outlive the PVC")
	}
}

func TestDescribe(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &v1alpha1.SnapshotSchedule{}
	s.Status.LastSnapshotTime = &metav1.Time{Time: now.Add(-2 * time.Second)}
	s.Status.NextSnapshotTime = &metav1.Time{Time: now.Add(3 * time.Second)}
	s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "db", Reason: "CreateFailed", Message: "no room"}}
	got := describe(s, now)
	for _, want := range []string{"(2s ago)", "(in 3s)", "oldestRecoveryPoint   none", "db CreateFailed: no room"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
