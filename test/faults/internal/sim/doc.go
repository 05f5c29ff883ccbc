// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sim simulates 90 days of a cluster in which the operator runs, from watch events to writes and status, and judges the
// result with the oracles.
//
// A simulation is a single-threaded discrete-event run that is drawn from a seed: one seed gives one history, byte for byte. Its
// parts are
//
//   - an API server in memory (package kube) and the history of all changes and requests,
//   - operators: the product's engine, each with informers, work queues, a client and a clock of the simulation's own,
//   - the controllers around them: snapshot drivers, the garbage collector, and a supervisor that restarts the operator,
//   - a scenario: what users and backup tools do, and which faults happen when. An Environment has no scenario: a test drives it.
//
// One step takes the earliest timer, sets the clock to its time and calls its function: a watch event is delivered, a queue's item is
// reconciled, a driver cuts a snapshot, a user edits a spec. A request takes time: while it travels, later timers run, except those
// of the worker that waits for the answer.
//
// After 90 days the faults stop, the final state is judged, and at last nothing is due any more, so that an idle operator can be judged.
//
// Files: simulation.go the parts and the loop, timers.go what is due when, run.go one seed from start to verdict, and many
// seeds, report.go what a failed seed prints, environment.go the Environment.
// The operator: operator.go (everything that uses the engine's API), queue.go, informer.go, index.go, client.go, request.go
// (and how requests fail), clocks.go, supervisor.go. Around it: driver.go, collector.go.
// The scenario: scenario.go, claims.go, schedules.go, specs.go, snapshots.go, faults.go.
// Verdicts beyond the oracles: finalstate.go.
package sim
