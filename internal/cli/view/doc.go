// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view is what the commands of the plugin read of a cluster, and what that means to a user. It prints nothing.
//
//	schedules.go  schedules by name, and what there is instead of one that does not exist
//	inventory.go  what is read of a namespace, as series under a schedule with what the operator would do
//	series.go     the snapshots of one map key under a schedule
//	groups.go     the PVCs of a series that are in group snapshots of another one
//	classes.go    the classes of snapshots, as far as the user may read them
//	origins.go    the ClusterSnapshotSchedules and Namespaces that schedules are made of
//	snapshots.go  one snapshot by its name, of both kinds; objects that the user may not read
//	operator.go   in which namespaces the operator may be
//	problems.go   which problems the live objects show, and which only the operator knows
//	words.go      verdicts and policies in words
//
// The answers that several commands give are packages of their own: protection says whether a PVC is protected, state is the
// status of schedules, history their snapshots in time, and ahead what would become of them.
package view
