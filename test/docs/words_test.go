// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"
)

// The limits of the pages for users, in words: of one page, of all, and of what is written by hand, which is neither generated nor code.
// Who writes more raises a limit, and who shortens a page lowers it.
const (
	wordsOfAPage = 1500
	wordsOfAll   = 41_100
	wordsWritten = 21_400
	wordsToSpare = 300
)

var (
	generatedPart = regexp.MustCompile(`(?ms)^<!-- generated: .*?^<!-- end of [^\n]*-->$`)
	codeBlock     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	comment       = regexp.MustCompile(`(?s)<!--.*?-->`)
)

func TestPagesForUsersAreShort(t *testing.T) {
	all, written := 0, 0
	for name, page := range pages(t) {
		if !strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "docs/contribute/") {
			continue
		}
		byHand := generatedPart.ReplaceAllString(page, "")
		page = comment.ReplaceAllString(page, "")
		n := len(strings.Fields(page))
		if n > wordsOfAPage {
			t.Errorf("%s has %d words, more than %d", name, n, wordsOfAPage)
		}
		all += n
		written += len(strings.Fields(comment.ReplaceAllString(codeBlock.ReplaceAllString(byHand, ""), "")))
	}
	for what, sum := range map[string]struct{ is, limit int }{"words": {all, wordsOfAll}, "words by hand": {written, wordsWritten}} {
		if sum.is > sum.limit || sum.is < sum.limit-wordsToSpare {
			t.Errorf("the pages for users have %d %s, and the limit is %d", sum.is, what, sum.limit)
		}
	}
}
