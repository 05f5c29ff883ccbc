// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Result is what a drill says about its snapshot.
type Result int

// The results of a drill.
const (
	Running Result = iota
	Verified
	// Failed means that the command ran, and ended with an error.
	Failed
	// Inconclusive means that nothing was learned about the data.
	Inconclusive
)

// ExitInconclusive is the exit code of the default command where it could not look at the data.
const ExitInconclusive = 3

// Outcome returns the result of a drill, with the reason where it is not Verified. The Job is nil if it is
// gone. Only a command that has ended by itself says something about the data: not one that was killed,
// ran out of memory, or was never started.
func Outcome(job *batchv1.Job, pods []corev1.Pod, isDefault bool) (Result, string) {
	for i := range pods {
		if result, reason := outcomeOf(&pods[i], isDefault); result == Verified || result == Failed {
			return result, reason
		}
	}
	if job == nil {
		return Inconclusive, "its Job was deleted"
	}
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Type != batchv1.JobFailed && c.Type != batchv1.JobComplete {
			continue
		}
		for i := range pods {
			if result, reason := outcomeOf(&pods[i], isDefault); result == Inconclusive {
				return result, reason
			}
		}
		return Inconclusive, fmt.Sprintf("%s: %s", c.Reason, c.Message)
	}
	return Running, waitsFor(pods)
}

func outcomeOf(pod *corev1.Pod, isDefault bool) (Result, string) {
	for i := range pod.Status.ContainerStatuses {
		end := pod.Status.ContainerStatuses[i].State.Terminated
		switch {
		case end == nil:
		case end.ExitCode == 0 && end.Reason == "Completed":
			return Verified, ""
		case end.Reason != "Error", end.Signal != 0, end.ExitCode > 128, pod.DeletionTimestamp != nil, pod.Status.Reason != "":
			return Inconclusive, fmt.Sprintf("it was ended: %s, exit code %d %s", end.Reason, end.ExitCode, pod.Status.Reason)
		case isDefault && end.ExitCode == ExitInconclusive:
			return Inconclusive, lastLine(end.Message)
		default:
			return Failed, fmt.Sprintf("exit code %d: %s", end.ExitCode, lastLine(end.Message))
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return Inconclusive, strings.TrimSpace(pod.Status.Reason + " " + pod.Status.Message)
	}
	return Running, ""
}

// waitsFor says what a drill waits for; empty if it runs.
func waitsFor(pods []corev1.Pod) string {
	for i := range pods {
		for j := range pods[i].Status.ContainerStatuses {
			if w := pods[i].Status.ContainerStatuses[j].State.Waiting; w != nil {
				return strings.TrimSpace(w.Reason + " " + w.Message)
			}
			return ""
		}
		for _, c := range pods[i].Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return c.Message
			}
		}
	}
	return "no pod yet"
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
