// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the kubectl plugin "kubectl snapsched". It shows, explains and
// predicts what the operator does with the operator's own decisions, made from
// live objects. A command is in the file of its name, or in files that begin with it.
//
//	root.go      the list of commands
//	term/doc.go  what every command needs between the user and the cluster
//	inventory.go what is read of a namespace, as series under a schedule with what the operator would do
//	classes.go   the classes of snapshots, as far as the user may read them
//	simulate.go  lets time pass over a series, and what a series grows to
//	words.go     verdicts and policies in words
//	follow.go    --wait
//	act.go       patches, for the commands that act; release
//	hold.go      hold and unhold, as holders/holders.go decides
//	status_life.go whether the operator lives; status_problems.go which problems only it knows
//	coverage_claim.go whether a PVC is protected; coverage_contexts.go of several clusters; coverage_print.go its table
//	snapshot_request.go the annotation of a request; snapshot_many.go requests for many schedules;
//	snapshot_wait.go what snapshot waits for
//	confirm.go   has deleted at once what waits
//	restore_plan.go what a restore reads and plans
//	restoreset.go restores of a whole schedule, and the wait for restored PVCs
//	clone.go     restore --to-namespace
//	rollback_observe.go what a rollback reads before each step
//	rollback_storage.go how the storage takes a snapshot of the data that a rollback replaces
//	report_page.go the page that report writes, from report.html and report.js
//	preview_compare.go what a change would do; preview_fates.go how long snapshots would stay;
//	preview_stops.go what would stop; preview_fields.go what it changes;
//	preview_manifest.go schedules before and after a manifest is applied, preview_cluster.go those of a
//	ClusterSnapshotSchedule
package cli
