// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// AnyNumber is the most arguments where there is no limit.
const AnyNumber = 0

// Argument returns the check of a command that needs an argument, and takes at most so many. Its error says what is missing.
func Argument(what string, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("specify %s: %s", what, cmd.UseLine())
		case most != AnyNumber && len(args) > most:
			return fmt.Errorf("specify only one %s, not %d: %s", what, len(args), cmd.UseLine())
		}
		return nil
	}
}

// AtMostOne returns the check of a command that can do without its argument.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return Argument(what, 1)(cmd, args)
	}
}

// NotEmpty adds to the check of a command that also works without its argument and some flags: an empty one is an error. It is that of
// a shell's variable that is not set, and must not mean more than what the user has named.
func NotEmpty(check cobra.PositionalArgs, flags ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if slices.Contains(args, "") {
			return fmt.Errorf("the argument is empty: specify a name, or leave it out: %s", cmd.UseLine())
		}
		for _, name := range flags {
			if flag := cmd.Flags().Lookup(name); flag.Changed && strings.Trim(flag.Value.String(), `[],"`) == "" {
				return fmt.Errorf("--%s is empty: specify a value, or leave it out: %s", name, cmd.UseLine())
			}
		}
		return check(cmd, args)
	}
}
