// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// DryRun is the value of --dry-run, as kubectl has it.
type DryRun string

// Values of --dry-run.
const (
	DryRunNone   DryRun = "none"
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

// On returns whether nothing is to be written.
func (d DryRun) On() bool { return d == DryRunClient || d == DryRunServer }

// words follow what would be done.
func (d DryRun) words() string {
	return map[DryRun]string{DryRunClient: " (dry run)", DryRunServer: " (server dry run)"}[d]
}

// errSeveralWrites refuses what the API server cannot check: it would check each write as if there were no other one.
var errSeveralWrites = errors.New("the command makes several writes, and the API server can check only one: use --dry-run=client")

// OneWrite returns an error if the API server is to check more than one write.
func (d DryRun) OneWrite(writes int) error {
	if d == DryRunServer && writes > 1 {
		return fmt.Errorf("--dry-run=server: %w", errSeveralWrites)
	}
	return nil
}

// AddDryRun adds --dry-run. several is set for a command that always makes several writes.
func (f *Factory) AddDryRun(cmd *cobra.Command, several bool) {
	values := []string{string(DryRunNone), string(DryRunClient)}
	usage := "\"client\": only print what would be done."
	if !several {
		values = append(values, string(DryRunServer))
		usage += " \"server\": let the API server check it, without doing it."
	}
	f.DryRun = DryRunNone
	flag := cmd.Flags().VarPF(&dryRunValue{&f.DryRun, several}, "dry-run", "", usage+" Without a value, client.")
	flag.NoOptDefVal = string(DryRunClient)
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// dryRunValue is --dry-run of one command.
type dryRunValue struct {
	to      *DryRun
	several bool
}

// Set reads the value.
func (v *dryRunValue) Set(text string) error {
	switch value := DryRun(text); {
	case value == DryRunServer && v.several:
		return errSeveralWrites
	case value != DryRunNone && !value.On():
		return errors.New("use one of none, client, server")
	default:
		*v.to = value
		return nil
	}
}

func (v *dryRunValue) String() string {
	if v.to == nil { // which pflag asks for
		return ""
	}
	return string(*v.to)
}

// Type is what the help calls the value.
func (v *dryRunValue) Type() string { return "string" }
