// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the kubectl plugin "kubectl snapsched". It shows, explains and
// predicts what the operator does with the operator's own decisions, made from
// live objects. A command is a folder, and no command names another one: what two of
// them need is in a folder below them. Imports point upwards in this list only:
//
//	root.go    the list of commands
//	status     status, timeline and why
//	list   doctor   coverage   preview   simulate   report   snapshot   restore   verify   rollback   hold   confirm   suspend   migrate
//	steps      what commands that act share: which snapshots they are about, patches, holds, waits
//	view       what commands read: schedules, PVCs and snapshots, and what the operator would do with them
//	recovery   decides which snapshot is restored, and to which PVC
//	manifests  schedules in files
//	change     a request that a command sends, as a value
//	holders    decides who holds a snapshot, and until when
//	term       what every command needs between the user and the cluster
//	clitest    what their tests share
//
// A decision that needs no cluster is a package of its own below its command: rollback/internal/core,
// verify/internal/core and migrate/internal/core.
package cli
