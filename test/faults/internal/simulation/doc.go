// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation simulates a cluster in which the operator runs for weeks or months, and judges each of its writes while it passes.
//
// A simulation is a state machine of pgregory.net/rapid in a bubble of testing/synctest, whose clock stands still while anything runs. In
// it are
//
//   - an API server in memory (package kube), which operators reach through an http.RoundTripper: a link, which delays, refuses and
//     loses requests and answers, ends with its operator, and freezes watches,
//   - operators: the product's engine with its real queues, informers and clients, started without a manager, whose queues measure
//     themselves twice a simulated second; with one worker each, because those that share a live read wait for it on a lock,
//   - the controllers around them: snapshot drivers and the garbage collector,
//   - users, who take one action after the other: on PVCs, snapshots and schedules, and on the network, the clocks and the drivers.
//
// After the last action the faults stop, and days later the state is judged by the contract (L1). At last nothing is due any more, and
// nothing but watches may be sent (L2).
//
// A failure prints the actions, and the seed that repeats them. Their consequences repeat nearly always: the order of what happens in the
// same nanosecond differs, and so do the delays before client-go tries again. ClusterSnapshotSchedules are not simulated.
//
//	world.go                            the API server, what it has held, the clocks
//	link.go                             the network of an operator, its faults, and the judging of writes
//	watch.go                            what an operator is shown, and when
//	operator.go                         operators: start, crash, start again
//	driver.go                           snapshot drivers, the garbage collector
//	users.go, objects.go, schedules.go  what users do
//	end.go                              what must be at the end
//
// Tests: simulation_test.go has the state machine; scenario_test.go runs fixed scenarios, which clocks_test.go has of clocks that are wrong
// and late_test.go of caches that are late.
package simulation
