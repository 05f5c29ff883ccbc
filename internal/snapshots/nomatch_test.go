// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// labeled are PVCs, each with one label key=value; an empty text is one without labels.
func labeled(all ...string) (claims []client.Object) {
	for _, label := range all {
		claim := &corev1.PersistentVolumeClaim{}
		claim.Namespace, claim.Name = "shop", fmt.Sprintf("data-%d", len(claims))
		if key, value, has := strings.Cut(label, "="); has {
			claim.Labels = map[string]string{key: value}
		}
		claims = append(claims, claim)
	}
	return claims
}

// Contract: STAT-21.
func TestNoMatchNamesTheLabelsThatExist(t *testing.T) {
	excluded := labeled("app=shop")
	excluded[0].SetAnnotations(map[string]string{v1alpha1.AnnotationExclude: ""})
	app := map[string]v1alpha1.LabelValue{"app": "shop"}
	for name, test := range map[string]struct {
		wanted map[string]v1alpha1.LabelValue
		claims []client.Object
		want   string
	}{
		"another value": {app, labeled("app=store", "app=store", "app=store"), "none of the PVCs of this namespace (3) matches app=shop; 3 have app=store; all labels: kubectl get pvc -n 'shop' --show-labels"},
		"several values, the most frequent first": {
			app, labeled("app=z", "app=b", "app=a", "app=z", "app=c"),
			"none of the PVCs of this namespace (5) matches app=shop; 2 have app=z, 1 app=a, 1 app=b; all labels: kubectl get pvc -n 'shop' --show-labels",
		},
		"no such label": {
			app, labeled("tier=db", ""), "none of the PVCs of this namespace (2) matches app=shop; none has the label app, and 1 has tier=db; " +
				"to select data-0: kubectl label pvc -n 'shop' 'data-0' 'app=shop'",
		},
		"no label at all": {
			app, labeled(""), "none of the PVCs of this namespace (1) matches app=shop; none has the label app; " +
				"to select data-0: kubectl label pvc -n 'shop' 'data-0' 'app=shop'",
		},
		"one label of two": {
			map[string]v1alpha1.LabelValue{"app": "shop", "tier": "db"}, labeled("app=shop", "tier=cache"),
			"none of the PVCs of this namespace (2) matches app=shop,tier=db; 1 has tier=cache; all labels: kubectl get pvc -n 'shop' --show-labels",
		},
		"each label, and never both": {
			map[string]v1alpha1.LabelValue{"app": "shop", "tier": "db"}, labeled("app=shop", "tier=db"), "none of the PVCs of this namespace (2) matches app=shop,tier=db; all labels: kubectl get pvc -n 'shop' --show-labels",
		},
		"no PVC":   {app, nil, noMatchMessage + ", which has none"},
		"excluded": {app, excluded, noMatchMessage + ": those that match its selector (1) have the annotation snapshots.mapcontroller.dev/exclude, or are not of its storageClassNames"},
		"more labels than are named": {
			map[string]v1alpha1.LabelValue{"a": "1", "b": "1", "c": "1"}, labeled("a=2", "b=2", "c=2"),
			"none of the PVCs of this namespace (3) matches a=1,b=1,c=1; 1 has a=2; 1 has b=2; all labels: kubectl get pvc -n 'shop' --show-labels",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := every("6h").Spec
			spec.Selector.MatchLabels = test.wanted
			if got := NoMatch(&spec, test.claims); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// A label that does not do alone is no command.
//
// Contract: STAT-21.
func TestNoMatchOffersNoLabelThatSelectsNothing(t *testing.T) {
	for name, spec := range map[string]v1alpha1.SnapshotScheduleSpec{
		"an expression": {Selector: v1alpha1.LabelSelector{
			MatchLabels:      map[string]v1alpha1.LabelValue{"app": "shop"},
			MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "tier", Operator: "Exists"}},
		}},
		"a StorageClass": {
			Selector:          v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "shop"}},
			StorageClassNames: []v1alpha1.StorageClassName{"fast"},
		},
	} {
		if got := NoMatch(&spec, labeled("tier=db")); strings.Contains(got, "kubectl label") || !strings.Contains(got, "kubectl get pvc -n 'shop' --show-labels") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestNoMatchIsShortWhateverTheLabelsAre(t *testing.T) {
	long := strings.Repeat("x", 63)
	spec := every("6h").Spec
	spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{}
	for key := range strings.SplitSeq("abcdefghijklm", "") {
		spec.Selector.MatchLabels[long[1:]+key] = v1alpha1.LabelValue(long)
	}
	if got := NoMatch(&spec, labeled("app=store")); len(got) > maxFirst {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// Contract: STAT-21.
func TestWhatElseExistsIsLookedForOncePerSpecAndOnceAMinute(t *testing.T) {
	looked, claims := 0, labeled("app=store")
	n := newNoMatches(NewStores())
	n.claims = func(string) []client.Object { looked++; return claims }
	s := every("6h").SnapshotSchedule
	s.Spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "shop"}
	message := func(at time.Time, refused bool) string {
		k := known(0)
		k.Refused = refused
		setStatusOf(at, s, origin{}, k)
		n.explain(at, s, origin{})
		for _, c := range s.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady {
				return c.Message
			}
		}
		return ""
	}
	const show = "; all labels: kubectl get pvc -n 'shop' --show-labels"
	const want, two = "none of the PVCs of this namespace (1) matches app=shop; 1 has app=store" + show, "none of the PVCs of this namespace (2) matches app=shop; 2 have app=store" + show
	for _, step := range []struct {
		name    string
		after   time.Duration
		change  func()
		refused bool
		looked  int
		want    string
	}{
		{name: "first", looked: 1, want: want},
		{name: "again", after: time.Second, looked: 1, want: want},
		{name: "another spec", after: 2 * time.Second, change: func() { s.Generation++ }, looked: 2, want: want},
		{name: "within the minute", after: time.Minute, change: func() { claims = labeled("app=store", "app=store") }, looked: 2, want: want},
		{name: "after it", after: 2*time.Second + time.Minute, looked: 3, want: two},
		{name: "a status that is refused", after: time.Hour, refused: true, looked: 3, want: report.RefusedMessage},
		{name: "a schedule of the name", after: time.Minute + 3*time.Second, change: func() { s.UID = "another" }, looked: 4, want: two},
		{name: "suspended", after: 3 * time.Hour, change: func() { s.Spec.Suspend = true }, looked: 4, want: "spec.suspend is true: no snapshots are taken; retention continues"},
	} {
		if step.change != nil {
			step.change()
		}
		if got := message(noon.Add(step.after), step.refused); got != step.want || looked != step.looked {
			t.Errorf("%s: %q, looked %d times, want %q and %d", step.name, got, looked, step.want, step.looked)
		}
	}
	if len(n.known) > 0 {
		t.Errorf("%d schedules are still known", len(n.known))
	}
	s.Status.Conditions = []metav1.Condition{}
	n.explain(noon, s, origin{}) // without a condition there is nothing to say
}
