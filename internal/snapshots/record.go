// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// reporter adds what the writes of a pass say to the note of a PVC, and tells
// of each problem that is new, once, as a warning.
type reporter struct {
	events events.EventRecorder
	clock  clock.PassiveClock

	mu sync.Mutex
	// told are the problems that keys had at their last passes.
	told *lru.Cache
}

// maxTold bounds the memory: nobody says when a schedule is gone. Beyond it a
// problem is told again.
const maxTold = 100_000

// toldKey names a schedule by its UID: one made anew under the name is another.
type toldKey struct {
	schedule types.UID
	mapKey   string
}

func newReporter(r events.EventRecorder, c clock.PassiveClock) *reporter {
	return &reporter{events: r, clock: c, told: lru.New(maxTold)}
}

// record implements the engine's Record.
func (r *reporter) record(s *v1alpha1.SnapshotSchedule, mapKey string, note Note, outcome mapcontroller.Outcome) Note {
	countOutcome(r.clock.Now(), s, outcome)
	for _, f := range outcome.Failed {
		if problem := problemOf(f); problem.Reason != "" {
			note.add(problem)
		}
	}
	// A problem of the schedule itself is told by whichever PVC comes first.
	r.tell(s, "", scheduleProblems(s))
	key := toldKey{schedule: s.UID, mapKey: mapKey}
	note.Paused = outcome.Paused != nil || outcome.Waiting && r.wasPaused(key)
	problems := note.Problems
	if note.Paused {
		problems = append(slices.Clip(problems), Problem{Reason: v1alpha1.ReasonRetentionPaused, Message: pausedMessage})
	}
	r.tell(s, mapKey, problems)
	return note
}

// wasPaused tells whether deletes of a key were not safe when they were last
// tried.
func (r *reporter) wasPaused(key toldKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, _ := r.told.Get(key)
	before, _ := known.([]Problem)
	return slices.ContainsFunc(before, func(p Problem) bool { return p.Reason == v1alpha1.ReasonRetentionPaused })
}

// untold are the problems that only status shows: they say that nothing
// happened, and an event is for what did.
var untold = []string{v1alpha1.ReasonSnapshotOverdue, v1alpha1.ReasonSnapshotSlow}

// tell warns of the problems that are new, and counts the snapshots that failed.
func (r *reporter) tell(s *v1alpha1.SnapshotSchedule, mapKey string, problems []Problem) {
	for _, p := range r.fresh(toldKey{schedule: s.UID, mapKey: mapKey}, problems) {
		if p.Reason == v1alpha1.ReasonSnapshotFailed {
			failedTotal.WithLabelValues(s.Namespace, s.Name).Inc()
		}
		if !slices.Contains(untold, p.Reason) {
			r.warn(s, p)
		}
	}
}

// fresh returns the problems that the last pass over the key did not have.
func (r *reporter) fresh(key toldKey, problems []Problem) []Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, _ := r.told.Get(key)
	before, _ := known.([]Problem)
	if len(problems) == 0 {
		r.told.Remove(key)
		return nil
	}
	r.told.Add(key, problems)
	var added []Problem
	for _, p := range problems {
		if !slices.Contains(before, p) {
			added = append(added, p)
		}
	}
	return added
}

func (r *reporter) warn(s *v1alpha1.SnapshotSchedule, p Problem) {
	if p.Claim == "" {
		r.events.Eventf(s, nil, corev1.EventTypeWarning, p.Reason, action(p.Reason), "%s", p.Message)
		return
	}
	// Events that differ in their text alone are counted as one, and only the
	// first one's text is kept: the PVC tells them apart.
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: p.Claim}}
	r.events.Eventf(s, claim, corev1.EventTypeWarning, p.Reason, action(p.Reason),
		"PersistentVolumeClaim %s: %s", p.Claim, p.Message)
}

// action is what the controller was doing, as the events API asks for.
func action(reason string) string {
	switch reason {
	case v1alpha1.ReasonAdoptionRefused:
		return "Adopt"
	case v1alpha1.ReasonRetentionPaused:
		return "Retire"
	}
	return "Snapshot"
}

// problemOf says what a failed write means to a user; no reason: nothing, it
// is only tried again.
func problemOf(f mapcontroller.Failure) Problem {
	p := Problem{Claim: claimName(f.Object)}
	switch {
	case f.Verb == "create" && errors.Is(f.Err, mapcontroller.ErrNameCollision):
		p.Reason = v1alpha1.ReasonNameCollision
		p.Message = fmt.Sprintf("VolumeSnapshot %s exists and is not this schedule's; delete or rename it", f.Object.GetName())
	case f.Verb == "create":
		p.Reason = v1alpha1.ReasonCreateFailed
		p.Message = settled(f.Err, f.Object.GetName())
	case f.Verb == "adopt" && errors.Is(f.Err, mapcontroller.ErrAdoptionRefused):
		p.Reason = v1alpha1.ReasonAdoptionRefused
		p.Message = fmt.Sprintf("VolumeSnapshot %s is left alone: %s", f.Object.GetName(), f.Err)
	}
	return p
}

// sourceAddress is our end, or a webhook's caller's, of a connection that broke:
// "read tcp 10.0.0.1:51234->10.0.0.2:443: connection reset by peer".
var sourceAddress = regexp.MustCompile(`\S+:[0-9]+->`)

// settled leaves out of an error what differs from try to try, so that status
// settles: the name of the object holds the slot, and ports are drawn.
func settled(err error, name string) string {
	message := err.Error()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		message = status.Status().Message
	}
	message = strings.ReplaceAll(message, fmt.Sprintf(" %q", name), "")
	return sourceAddress.ReplaceAllString(message, "")
}
