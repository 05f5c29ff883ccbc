// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func auditLine(who, verb, stage, resource, subresource string) string {
	return `{"kind":"Event","level":"Metadata","stage":"` + stage + `","requestURI":"/x","verb":"` + verb +
		`","user":{"username":"` + who + `"},"objectRef":{"resource":"` + resource + `","subresource":"` + subresource + `"}}` + "\n"
}

func TestAuditCounts(t *testing.T) {
	log := auditLine(user, "create", "ResponseComplete", "volumesnapshots", "") +
		auditLine(user, "create", "ResponseComplete", "volumesnapshots", "") +
		auditLine("system:admin", "create", "ResponseComplete", "volumesnapshots", "") +
		auditLine(user, "patch", "ResponseComplete", "snapshotschedules", "status") +
		auditLine(user, "watch", "ResponseStarted", "volumesnapshots", "") +
		auditLine(user, "watch", "ResponseComplete", "volumesnapshots", "") +
		auditLine(user, "update", "ResponseComplete", "leases", "") +
		auditLine(user, "get", "ResponseComplete", "", "") +
		strings.Replace(auditLine(user, "delete", "ResponseComplete", "volumesnapshots", ""),
			`"kind"`, `"responseStatus":{"code":404},"kind"`, 1) +
		auditLine(user, "delete", "ResponseComplete", "volumesnapshots", "")[:40] // being written
	path := filepath.Join(t.TempDir(), "audit.log")
	before := auditLine(user, "delete", "ResponseComplete", "volumesnapshots", "")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	mark, err := Audit(path).Mark()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(before+log), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Audit(path).Since(mark)
	if err != nil {
		t.Fatal(err)
	}
	want := Requests{
		{Verb: "create", Resource: "volumesnapshots"}:              2,
		{Verb: "delete", Resource: "volumesnapshots", Failed: 404}: 1,
		{Verb: "patch", Resource: "snapshotschedules/status"}:      1,
		{Verb: "watch", Resource: "volumesnapshots"}:               1,
		{Verb: "update", Resource: "leases"}:                       1,
		{Verb: "get", Resource: "/x"}:                              1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := got.Of("volumesnapshots", "create", "watch", "delete"); n != 4 {
		t.Errorf("Of: %d, want 4: also what failed", n)
	}
	if n := got.Busy(); n != 5 {
		t.Errorf("Busy: %d, want 5: neither watches nor leases", n)
	}
}

func TestAuditRefusesWhatIsNoJSON(t *testing.T) {
	if got, err := countRequests(strings.NewReader("{" + user + "\n")); err == nil {
		t.Errorf("got %v and no error", got)
	}
}
