// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

const (
	// noMatchMessage is that of a schedule that selects no PVC.
	noMatchMessage = "the spec selects no PersistentVolumeClaim of this namespace"
	// noMatchEvery is how long it holds what else exists in a namespace.
	noMatchEvery = time.Minute
	// Of so many labels, so many values are named.
	maxMissingLabels = 2
	maxOtherValues   = 3
)

// NoMatch says why a spec selects none of the PVCs of its namespace, what labels exist instead, and what helps.
func NoMatch(spec *v1alpha1.SnapshotScheduleSpec, claims []client.Object) string {
	selector, err := spec.Selector.AsSelector()
	if err != nil {
		return noMatchMessage
	}
	matching := 0
	for _, claim := range claims {
		if selector.Matches(labels.Set(claim.GetLabels())) {
			matching++
		}
	}
	wanted := make([]string, 0, len(spec.Selector.MatchLabels))
	for _, key := range slices.Sorted(maps.Keys(spec.Selector.MatchLabels)) {
		wanted = append(wanted, key+"="+string(spec.Selector.MatchLabels[key]))
	}
	switch {
	case len(claims) == 0:
		return noMatchMessage + ", which has none"
	case matching > 0:
		return fmt.Sprintf("%s: those that match its selector (%d) have the annotation %s, or are not of its storageClassNames",
			noMatchMessage, matching, v1alpha1.AnnotationExclude)
	case len(wanted) == 0:
		return fmt.Sprintf("%s: its selector matches none of the %d", noMatchMessage, len(claims))
	}
	message := report.Text(fmt.Sprintf("none of the PVCs of this namespace (%d) matches %s%s",
		len(claims), strings.Join(wanted, ","), otherLabels(spec.Selector.MatchLabels, claims)), maxFirst)
	if command := whatSelects(spec, wanted, claims); len(message)+len(command) <= maxFirst {
		message += command
	}
	return message
}

// whatSelects is the command that gives a PVC the labels, if one has none of them, or that shows which labels there are.
func whatSelects(spec *v1alpha1.SnapshotScheduleSpec, pairs []string, claims []client.Object) string {
	show := fmt.Sprintf("; all labels: kubectl get pvc -n '%s' --show-labels", claims[0].GetNamespace())
	if len(spec.Selector.MatchExpressions)+len(spec.StorageClassNames) > 0 { // labels alone may not do
		return show
	}
	var first client.Object
	for _, o := range claims {
		for key := range spec.Selector.MatchLabels {
			if _, has := o.GetLabels()[key]; has { // then the value in the schedule is more likely the wrong one
				return show
			}
		}
		if claim, is := o.(*corev1.PersistentVolumeClaim); is && !Excluded(claim) && (first == nil || o.GetName() < first.GetName()) {
			first = o
		}
	}
	if first == nil {
		return show
	}
	return fmt.Sprintf("; to select %s: kubectl label pvc -n '%s' '%s' '%s'",
		first.GetName(), first.GetNamespace(), first.GetName(), strings.Join(pairs, "' '"))
}

// otherLabels names the values that PVCs have of labels whose wanted value none has, the most frequent first. Where none has one of
// the labels, it names the labels that exist.
func otherLabels(wanted map[string]v1alpha1.LabelValue, claims []client.Object) (text string) {
	missing := 0
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		counts := map[string]int{}
		for _, claim := range claims {
			if value, has := claim.GetLabels()[key]; has {
				counts[key+"="+value]++
			}
		}
		if counts[key+"="+string(wanted[key])] > 0 {
			continue
		}
		if missing++; missing > maxMissingLabels {
			break
		}
		if len(counts) > 0 {
			text += "; " + frequent(counts)
			continue
		}
		text += "; none has the label " + key
		if missing > 1 {
			continue
		}
		for _, claim := range claims {
			for key, value := range claim.GetLabels() {
				counts[key+"="+value]++
			}
		}
		if len(counts) > 0 {
			text += ", and " + frequent(counts)
		}
	}
	return text
}

// frequent names the most frequent of some labels, with how many PVCs have them.
func frequent(counts map[string]int) (text string) {
	pairs := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, pair := range pairs[:min(len(pairs), maxOtherValues)] {
		switch {
		case i > 0:
			text += fmt.Sprintf(", %d %s", counts[pair], pair)
		case counts[pair] == 1:
			text += "1 has " + pair
		default:
			text += fmt.Sprintf("%d have %s", counts[pair], pair)
		}
	}
	return text
}

// noMatches knows what else there is where a schedule selects nothing. It looks once for each spec, and then at most once in
// noMatchEvery: how often a status is computed must not decide what that costs.
type noMatches struct {
	claims func(namespace string) []client.Object

	mu    sync.Mutex
	known map[types.NamespacedName]noMatch
}

type noMatch struct {
	uid        types.UID
	generation int64
	at         time.Time
	text       string
}

func newNoMatches(stores *Stores) *noMatches {
	return &noMatches{known: map[types.NamespacedName]noMatch{}, claims: func(namespace string) []client.Object {
		return stores.List(&corev1.PersistentVolumeClaim{}, namespace)
	}}
}

// explain completes the message of a schedule that selects no PVC.
func (n *noMatches) explain(now time.Time, s *v1alpha1.SnapshotSchedule, from origin) {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != v1alpha1.ReasonNoMatchingClaims {
		n.forget(client.ObjectKeyFromObject(s))
		return
	}
	if notes, found := strings.CutPrefix(ready.Message, noMatchMessage); found {
		ready.Message = report.Text(n.of(now, s, from)+notes, report.MaxMessage)
	}
}

func (n *noMatches) of(now time.Time, s *v1alpha1.SnapshotSchedule, from origin) string {
	name := client.ObjectKeyFromObject(s)
	n.mu.Lock()
	found := n.known[name]
	n.mu.Unlock()
	age := now.Sub(found.at)
	if found.uid == s.UID && found.generation == s.Generation && age >= 0 && age < noMatchEvery {
		return found.text
	}
	// Without the lock: a namespace with many PVCs must not delay the status of others.
	found = noMatch{uid: s.UID, generation: s.Generation, at: now, text: NoMatch(&from.decided(s).Spec, n.claims(s.Namespace))}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[name] = found
	return found.text
}

func (n *noMatches) forget(schedule types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, schedule)
}
