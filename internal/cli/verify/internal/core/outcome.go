// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"fmt"
	"slices"
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
	// Failed means that the command ran and ended with an error, or that the storage cannot restore the snapshot.
	Failed
	// Inconclusive means that nothing was learned about the data.
	Inconclusive
)

// ExitInconclusive is the exit code of the default command where it could not look at the data.
const ExitInconclusive = 3

// Drill is what is known about a drill.
type Drill struct {
	// Job is the Job as it was created. Its template says what its pod has to be.
	Job *batchv1.Job
	// Now is the Job as it is; nil if it is gone.
	Now  *batchv1.Job
	Pods []corev1.Pod
	// Events are about the Job and its pods.
	Events []corev1.Event
	Volume Volume
	// IsDefault means that the default command runs.
	IsDefault bool
}

// Verdict is the outcome of a drill.
type Verdict struct {
	Result Result
	// Reason says of a Running drill what it waits for, and else why it is not Verified.
	Reason string
	// FailedIfOthers means that an Inconclusive drill has Failed if another snapshot of the same class was restored
	// meanwhile: the storage works, and does not restore this one.
	FailedIfOthers bool
}

// Outcome returns the result of a drill. Only the container of the drill's command, in a pod that is what the Job's
// template says, shows something about the data: not one that something else added, and not one that was killed, ran out
// of memory, or was never started.
func (d Drill) Outcome() Verdict {
	pods := d.Own()
	if len(pods) > 1 { // its controller makes one, which cannot be told from one that somebody else makes
		return Verdict{Result: Inconclusive, Reason: fmt.Sprintf("pods %s and %s both say that they are of the Job", pods[0].Name, pods[1].Name)}
	}
	var ended []Verdict
	for i := range pods {
		if diff := difference(&d.Job.Spec.Template.Spec, &pods[i].Spec); diff != "" {
			ended = append(ended, Verdict{Inconclusive, fmt.Sprintf("%s of pod %s is not what the Job says", diff, pods[i].Name), false})
			continue
		}
		if v := outcomeOf(&pods[i], d.IsDefault); v.Result != Running {
			ended = append(ended, v)
		}
	}
	for _, result := range []Result{Failed, Verified} {
		if i := slices.IndexFunc(ended, func(v Verdict) bool { return v.Result == result }); i >= 0 {
			return ended[i]
		}
	}
	return d.ofJob(pods, ended)
}

// ofJob returns the result of a drill that no container decides: pods are its own, ended the inconclusive ends of some.
func (d Drill) ofJob(pods []corev1.Pod, ended []Verdict) Verdict {
	if d.Now == nil {
		return Verdict{Result: Inconclusive, Reason: "its Job was deleted"}
	}
	ends := func(kind batchv1.JobConditionType) int {
		return slices.IndexFunc(d.Now.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == kind && c.Status == corev1.ConditionTrue
		})
	}
	i := max(ends(batchv1.JobFailed), ends(batchv1.JobComplete))
	switch {
	case i < 0 && len(ended) > 0:
		return Verdict{Result: Running, Reason: ended[0].Reason}
	case i < 0 && ends(batchv1.JobFailureTarget) >= 0:
		return Verdict{} // its pods are being deleted
	case i < 0:
		return Verdict{Result: Running, Reason: d.waits(pods)}
	case len(ended) > 0:
		return ended[0]
	}
	end := d.Now.Status.Conditions[i]
	if end.Reason == batchv1.JobReasonDeadlineExceeded {
		if v := d.Volume.verdict(d.Job); v.Result != Running {
			return v
		}
	}
	return Verdict{Result: Inconclusive, Reason: end.Reason + ": " + cmp.Or(d.waits(pods), end.Message)}
}

func outcomeOf(pod *corev1.Pod, isDefault bool) Verdict {
	if end := statusOf(pod).State.Terminated; end != nil {
		switch {
		case end.ExitCode == 0 && end.Reason == "Completed":
			return Verdict{Result: Verified}
		case end.Reason != "Error", end.Signal != 0, end.ExitCode > 128, pod.DeletionTimestamp != nil, pod.Status.Reason != "":
			why := fmt.Sprintf("it was ended: %s, exit code %d %s", end.Reason, end.ExitCode, pod.Status.Reason)
			return Verdict{Result: Inconclusive, Reason: why}
		case isDefault && end.ExitCode == ExitInconclusive:
			return Verdict{Result: Inconclusive, Reason: lastLine(end.Message)}
		default:
			return Verdict{Result: Failed, Reason: fmt.Sprintf("exit code %d: %s", end.ExitCode, lastLine(end.Message))}
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return Verdict{Result: Inconclusive, Reason: strings.TrimSpace(pod.Status.Reason + " " + pod.Status.Message)}
	}
	return Verdict{}
}

// statusOf returns the status of the drill's container.
func statusOf(pod *corev1.Pod) (status corev1.ContainerStatus) {
	if i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container }); i >= 0 {
		status = pod.Status.ContainerStatuses[i]
	}
	return status
}

// Runs returns whether the drill's command runs.
func (d Drill) Runs() bool {
	return slices.ContainsFunc(d.Own(), func(p corev1.Pod) bool { return statusOf(&p).State.Running != nil })
}

// waits says what a drill waits for, in the words of whatever stops it; empty if it runs.
func (d Drill) waits(pods []corev1.Pod) string {
	if d.Runs() {
		return ""
	}
	if words := d.Volume.words(); words != "" {
		return words
	}
	missing := "no pod yet"
	for i := range pods {
		if w := statusOf(&pods[i]).State.Waiting; w != nil && w.Message != "" {
			return strings.TrimSpace(w.Reason + " " + w.Message)
		}
		missing = ""
		for _, c := range pods[i].Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				missing = c.Message
			}
		}
	}
	if last := latestWarning(d.Events); last != nil {
		return last.Reason + ": " + last.Message
	}
	if d.Volume.Claim != "" && len(pods) == 0 {
		return "" // its pod is gone
	}
	return missing
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
