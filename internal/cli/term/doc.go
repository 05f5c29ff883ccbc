// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package term is what every command of the plugin needs between the user and the cluster, and it knows no snapshots.
//
//	kinds.go     names of the command, of kinds and of resources
//	factory.go   cluster, namespace, lists, the API server's clock
//	rights.go    which permissions a command needs, and its user lacks
//	complete.go  what a shell completes
//	help.go      the width of help texts
//	args.go      what arguments a command needs
//	named.go     names with a type before them
//	asof.go      points in time of --as-of
//	duration.go  durations of flags, and how often a wait says for what
//	dryrun.go    --dry-run
//	exit.go      how a command ends: exit codes, and errors as kubectl prints them
//	interrupt.go questions and input that end with a signal
//	did.go       what was done, warnings, who the user is
//	template.go  -o jsonpath, custom-columns and go-template
//	output.go    -o json|yaml|name|wide, tables, colors, the terminal: its width, and what would control it
//	words.go     times and numbers in words, words of a command line
package term
