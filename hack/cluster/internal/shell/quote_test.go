// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package shell

import "testing"

func TestQuoteLeavesPlainWords(t *testing.T) {
	const want = `/a/b-c.d '/a b' 'it'\''s' '' '$(rm -rf)' 'a b'`
	if got := Quote("/a/b-c.d", "/a b", "it's", "", "$(rm -rf)", "a b"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
