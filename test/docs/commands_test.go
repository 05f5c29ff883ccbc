// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/internal/cli"
)

var (
	// words are those of a command line: quoted text is one word.
	words = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
	// endsCommand begins what is no argument: a comment, another command, a file.
	endsCommand = regexp.MustCompile(`^(?:#.*|[|&;]+|\d?>.*)$`)
)

// arguments returns the arguments of each command of the plugin in a script.
func arguments(text string) (all [][]string) {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		_, line, found := strings.Cut(line, "kubectl snapsched ")
		if !found || strings.Contains(line, "…") {
			continue
		}
		var args []string
		for _, word := range words.FindAllString(line, -1) {
			if endsCommand.MatchString(word) {
				break
			}
			args = append(args, strings.Trim(word, `'"`))
		}
		all = append(all, args)
	}
	return all
}

// The plugin has the commands of the pages, with these flags and numbers of arguments.
func TestThePluginUnderstandsTheCommandsOfThePages(t *testing.T) {
	found := 0
	for name, page := range pages(t) {
		text := strings.Join(matches(page, "(?ms)^ *```sh\n(.*?)^ *```$"), "")
		for _, block := range matches(page, "(?ms)^ *```console\n(.*?)^ *```$") {
			text += strings.Join(matches(block, `(?m)^\$ (.*\n)`), "")
		}
		for _, args := range arguments(text) {
			found++
			cmd, rest, err := cli.NewCommand(genericiooptions.NewTestIOStreamsDiscard(), clock.RealClock{}).Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil && !cmd.Flags().Changed("help") && len(rest) > 0 {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: kubectl snapsched %s: %v", name, strings.Join(args, " "), err)
			}
		}
	}
	if found < 100 {
		t.Errorf("found only %d commands", found)
	}
}
