// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// quiet is how long there is no other event of a condition of an object after one.
const quiet = time.Minute

// Turned warns of conditions that turn False, or are False for another reason than before.
type Turned struct {
	Events events.EventRecorder

	mu   sync.Mutex
	last map[types.NamespacedName]map[string]time.Time
}

// Warn compares the conditions that the API server had with those that were written. The types are those that count, the
// most important first. worst is the worst problem, as text; empty if there is none.
func (t *Turned) Warn(now time.Time, o client.Object, before, after []metav1.Condition, worst string, kinds ...string) {
	for _, kind := range kinds {
		was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
		if is == nil || is.Status != metav1.ConditionFalse || was != nil && was.Status == is.Status && was.Reason == is.Reason {
			continue
		}
		if !t.may(now, client.ObjectKeyFromObject(o), kind) {
			continue
		}
		note := kind + " is False: " + is.Message
		if worst != "" && !strings.Contains(is.Message, worst) {
			note += "; " + worst
		}
		t.Events.Eventf(o, nil, corev1.EventTypeWarning, is.Reason, "Reconcile", "%s", Text(note, MaxMessage))
	}
}

// may returns whether a condition of an object may have an event now.
func (t *Turned) may(now time.Time, name types.NamespacedName, kind string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, known := t.last[name][kind]; known && now.Sub(last) < quiet && !now.Before(last) {
		return false
	}
	if t.last == nil {
		t.last = map[types.NamespacedName]map[string]time.Time{}
	}
	if t.last[name] == nil {
		t.last[name] = map[string]time.Time{}
	}
	t.last[name][kind] = now
	return true
}

// Forget drops what is known of an object that is deleted.
func (t *Turned) Forget(name types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, name)
}
