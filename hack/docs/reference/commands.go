// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/internal/cli"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// flagColumns is the width of a block of flags.
const flagColumns = 110

// commandParts returns the help of each command of the plugin, for a page of its own, and for the index the list of commands and
// the flags that all of them have.
func commandParts() []part {
	root := cli.NewCommand(genericiooptions.NewTestIOStreamsDiscard(), clock.RealClock{})
	var shared []string
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		shared = append(shared, "--"+f.Name)
		f.Hidden = true
	})
	parts, lists := []part{{"cli.md", "flags", codes(shared)}}, map[string]string{}
	for _, cmd := range root.Commands() {
		if !cmd.IsAvailableCommand() || cmd.GroupID == "" {
			continue
		}
		lists[cmd.GroupID] += "- [`" + cmd.Name() + "`](cli/" + cmd.Name() + ".md): " + sentence(cmd.Short) + "\n"
		page := "cli/" + cmd.Name() + ".md"
		if text := term.RightsInWords(cmd); text != "" {
			parts = append(parts, part{page, "permissions", text})
		}
		parts = append(parts, part{page, "help", commandHelp(cmd)})
	}
	return append(parts, part{"cli.md", "inspect", lists[term.GroupShow]}, part{"cli.md", "change", lists[term.GroupAct]})
}

// flagName matches a flag in a text.
var flagName = regexp.MustCompile(`(^|[ (])(--[a-z-]+)`)

// commandHelp returns the help of a command in Markdown, without the flags of all commands and the short text, which the index has.
func commandHelp(cmd *cobra.Command) string {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, text := range paragraphs { // without the line breaks of a terminal
		paragraphs[i] = flagName.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1`$2`")
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	cmd.Example = strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n")
	cmd.InitDefaultHelpFlag()
	cmd.Flags().Lookup("help").Hidden = true
	var page bytes.Buffer
	_ = doc.GenMarkdown(cmd, &page) // a buffer takes everything
	flags := cmd.NonInheritedFlags()
	text := strings.Replace(page.String(), flags.FlagUsages(), flags.FlagUsagesWrapped(flagColumns), 1)
	text, _, _ = strings.Cut(text, "### SEE ALSO")
	text = strings.NewReplacer("## "+cmd.CommandPath()+"\n\n"+cmd.Short+"\n\n", "# "+cmd.CommandPath()+"\n\n",
		"### Synopsis\n\n", "", "\n### ", "\n## ", "\n```\n"+cmd.UseLine(), "\n```text\n"+cmd.UseLine(),
		"Examples\n\n```", "Examples\n\n```sh", "Options\n\n```", "Flags\n\n```text").Replace(text)
	return text
}
