// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the kubectl plugin "kubectl snapsched". It shows, explains and
// predicts what the operator does with the operator's own decisions, made from
// live objects. A command is in the file of its name, or in files that begin with it.
//
//	root.go      the list of commands, and how the program ends
//	factory.go   what every command needs: kubeconfig, client, streams, clock
//	servertime.go the API server's clock
//	read.go      paged lists, filtered by the API server
//	inventory.go the PVCs and snapshots of a namespace, as series
//	simulate.go  lets time pass over a series
//	words.go     verdicts, policies and times in words
//	output.go    -o json|yaml|name|wide, tables
//	style.go     colors and the width of the terminal
//	wrap.go      lines and tables that are wider than the terminal
//	errors.go    errors as kubectl prints them, exit codes
//	complete.go  completion of names
//	act.go       patches and their output, for the commands that act
//	follow.go    --wait
//
//	status.go, coverage.go, why.go    one command each, as hold.go and release.go
//	snapshot.go  requests a snapshot: request.go merges requests; snapshotwait.go waits for it
//	restore.go   restores PVCs: restoreset.go of one time, restoreplan.go what is created,
//	             restorerun.go creates it, restorewait.go waits for it
//	migrate.go   takes over from snapscheduler: migrateapply.go, migrateprint.go
//	timeline.go  draw.go              a timeline, and how it is drawn
//	preview.go   preview_compare.go   what a change would do, preview_print.go in words,
//	             preview_manifest.go  schedules before and after a manifest is applied
//	             preview_ahead.go     without simulating every slot
//	             steady.go            and what a series grows to
package cli
