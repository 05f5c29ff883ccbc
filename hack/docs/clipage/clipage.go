// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clipage generates the part of docs/cli.md that repeats the help of the
// kubectl plugin's commands.
package clipage

import (
	"bytes"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/hack/docs/reference"
	"mapcontroller.dev/snapshotschedule/internal/cli"
)

// File is the path of the page in the repository.
const File = "docs/cli.md"

// Generate returns the page with its generated part updated.
func Generate(page []byte) ([]byte, error) {
	root := cli.NewCommand(genericiooptions.NewTestIOStreamsDiscard(), clock.RealClock{})
	root.DisableAutoGenTag = true
	root.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache"
	var text bytes.Buffer
	for _, cmd := range root.Commands() {
		if !cmd.IsAvailableCommand() || cmd.IsAdditionalHelpTopicCommand() {
			continue
		}
		// Without its parent, a command lists neither the flags of all commands nor links.
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: cmd.CommandPath()}
		root.RemoveCommand(cmd)
		cmd.DisableAutoGenTag = true
		if err := doc.GenMarkdown(cmd, &text); err != nil {
			return nil, err
		}
	}
	root.InitDefaultVersionFlag()
	if err := doc.GenMarkdown(root, &text); err != nil {
		return nil, err
	}
	return reference.ReplacePart(File, page, "commands", strings.TrimSpace(text.String())+"\n")
}
