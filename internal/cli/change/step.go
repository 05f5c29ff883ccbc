// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import "sigs.k8s.io/controller-runtime/pkg/client"

// Step is what a command does next, as a value: it sends changes or, without any, waits. A step without a text is none: all is done.
type Step struct {
	// Number is that of the step, if the command numbers them.
	Number int
	// Text says what is done, or what is waited for.
	Text string
	// Renewals go first. If one of them is out of date, nothing else is sent.
	Renewals []Change
	// Changes are independent of each other. Without any, the step is to wait.
	Changes []Change
	// For is what is waited for, whose events explain why; may be nil.
	For client.Object
	// Unawaited is true if the command need not wait: something else has to happen first, such as the start of a pod.
	Unawaited bool
	// Scales is true if a workload is scaled to zero, and Releases if a lock is taken off.
	Scales, Releases bool
	// Ends is why the command cannot go on once the changes are done.
	Ends error
}

// Write is a step that sends changes.
func Write(text string, changes ...Change) Step { return Step{Text: text, Changes: changes} }

// Wait is a step that waits for an object.
func Wait(on client.Object, text string) Step { return Step{Text: text, For: on} }
