// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const user = "system:serviceaccount:a:b"

func line(who, verb, stage, resource, subresource string) string {
	return `{"kind":"Event","level":"Metadata","stage":"` + stage + `","requestURI":"/x","verb":"` + verb +
		`","user":{"username":"` + who + `","extra":{"` + credentialID + `":["JTI=token"]}},` +
		`"objectRef":{"resource":"` + resource + `","subresource":"` + subresource + `","namespace":"n"}}` + "\n"
}

func with(field, line string) string { return strings.Replace(line, `"kind"`, field+`,"kind"`, 1) }

func TestSinceReadsTheRequestsOfOneUser(t *testing.T) {
	text := line(user, "create", "ResponseComplete", "volumesnapshots", "") +
		line(user, "create", "ResponseComplete", "volumesnapshots", "") +
		line("system:admin", "create", "ResponseComplete", "volumesnapshots", "") +
		line(user, "patch", "ResponseComplete", "snapshotschedules", "status") +
		line(user, "watch", "ResponseStarted", "volumesnapshots", "") +
		line(user, "watch", "ResponseComplete", "volumesnapshots", "") +
		line(user, "update", "ResponseComplete", "leases", "") +
		line(user, "get", "ResponseComplete", "", "") +
		with(`"responseStatus":{"code":404}`, line(user, "delete", "ResponseComplete", "volumesnapshots", "")) +
		with(`"annotations":{"authorization.k8s.io/decision":"forbid"}`, line(user, "list", "ResponseComplete", "secrets", "")) +
		line(user, "delete", "ResponseComplete", "volumesnapshots", "")[:40] // still being written
	log := Log{Path: filepath.Join(t.TempDir(), "audit.log"), User: user}
	before := line(user, "delete", "ResponseComplete", "volumesnapshots", "")
	if err := os.WriteFile(log.Path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	mark, err := log.Mark()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log.Path, []byte(before+text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := log.Since(mark)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"create volumesnapshots": 2, "delete volumesnapshots, answered 404": 1, "patch snapshotschedules/status": 1,
		"watch volumesnapshots": 1, "update leases": 1, "get /x": 1, "list secrets": 1,
	}
	if !maps.Equal(got.Counts(), want) {
		t.Errorf("got %v, want %v", got.Counts(), want)
	}
	for name, found := range map[string]struct{ got, want int }{
		"Of, also failed ones":       {len(got.Of("volumesnapshots", "create", "watch", "delete")), 4},
		"Busy, no watches or leases": {len(got.Busy()), 6},
		"Forbidden":                  {len(got.Forbidden()), 1},
		"In":                         {len(got.In("n")), 8},
		"By":                         {len(got.By("token")), 8},
		"By another token":           {len(got.By("JTI=token")), 0},
	} {
		if found.got != found.want {
			t.Errorf("%s: got %d, want %d", name, found.got, found.want)
		}
	}
}

func TestSinceRefusesWhatIsNotJSON(t *testing.T) {
	log := Log{Path: filepath.Join(t.TempDir(), "audit.log"), User: user}
	if err := os.WriteFile(log.Path, []byte(`{"`+user+`"`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := log.Since(0); err == nil {
		t.Errorf("got %v and no error", got)
	}
}
