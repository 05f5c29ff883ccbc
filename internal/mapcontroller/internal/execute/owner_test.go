// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
)

// byLabels makes a parent own by labels, if ownsByLabels is asked.
func byLabels(p *appsv1.Deployment) { p.Annotations = map[string]string{"test/by": "labels"} }

func ownsByLabels(parent client.Object) bool { return parent.GetAnnotations()["test/by"] == "labels" }

// Contract: OWN-1, OWN-6.
func TestAdopt(t *testing.T) {
	for name, test := range map[string]struct {
		parent      *appsv1.Deployment
		orphan      []func(*corev1.Pod)
		fail        error
		wantAdopted bool
		wantErr     error
		wantDelay   time.Duration
	}{
		"the parent exists":    {parent: fixture.Parent(), wantAdopted: true, wantDelay: longestDelay},
		"it is deleted":        {wantErr: guard.ErrAdoptionRefused, wantDelay: firstRetry},
		"it was created again": {parent: fixture.Parent(func(p *appsv1.Deployment) { p.UID = "new" }), wantErr: guard.ErrAdoptionRefused, wantDelay: firstRetry},
		"it is being deleted":  {parent: fixture.Parent(fixture.Deleting), wantErr: guard.ErrAdoptionRefused, wantDelay: firstRetry},
		"the orphan changed":   {parent: fixture.Parent(), orphan: []func(*corev1.Pod){changed}, wantDelay: firstRetry},
		"the patch is denied":  {parent: fixture.Parent(), fail: forbidden, wantErr: forbidden, wantDelay: firstRetry},
		"it owns by labels":    {parent: fixture.Parent(byLabels), wantDelay: firstRetry},
	} {
		t.Run(name, func(t *testing.T) {
			orphan := fixture.Output("in", fixture.Orphan)
			stored := []client.Object{fixture.Output("in", append(test.orphan, fixture.Orphan)...)}
			if test.parent != nil {
				stored = append(stored, test.parent)
			}
			h := newHarness(t, []client.Object{fixture.Parent(), orphan}, stored)
			h.keepAll()
			h.Kinds.Ownership.OwnsByLabels = ownsByLabels
			h.api.Fail(test.fail, "patch")
			outcome, delay, err := h.pass(t)
			if !errors.Is(err, test.wantErr) || (len(outcome.Failed) > 0) != (test.wantErr != nil) || delay != test.wantDelay {
				t.Errorf("failed %v, error %v, delay %s", failures(outcome), err, delay)
			}
			if adopted := metav1.IsControlledBy(h.api.Pod(t, "in"), fixture.Parent()); adopted != test.wantAdopted {
				t.Errorf("adopted: %v, want %v", adopted, test.wantAdopted)
			}
			if len(orphan.OwnerReferences) > 0 {
				t.Error("the cached object was changed")
			}
		})
	}
}

// The cache has an older version of an orphan, which people may edit: who does so again and again must not keep it an
// orphan. What they gave to something else stays so.
//
// Contract: FLEET-2, FLEET-13.
func TestAdoptWhateverElseHasChanged(t *testing.T) {
	another := metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: "s", UID: "s-uid"}
	controller := another
	controller.Controller = new(true)
	for name, test := range map[string]struct {
		recorded string
		stored   []func(*corev1.Pod)
		want     bool
	}{
		"an annotation":                  {"", []func(*corev1.Pod){fixture.Orphan}, true},
		"an owner that is no controller": {"", []func(*corev1.Pod){fixture.Owners(another)}, true},
		"a controller":                   {"p-uid", []func(*corev1.Pod){fixture.Owners(controller)}, false},
		"the tags":                       {"", []func(*corev1.Pod){fixture.Orphan, fixture.Unlabeled}, false},
		"the tags, and it is recorded":   {"p-uid", []func(*corev1.Pod){fixture.Orphan, fixture.Unlabeled}, true},
		"the map key":                    {"", []func(*corev1.Pod){fixture.Orphan, fixture.Label(fixture.Tags.MapKey, "x")}, false},
		"the UID":                        {"p-uid", []func(*corev1.Pod){fixture.Orphan, func(o *corev1.Pod) { o.UID = "new" }}, false},
		"it is being deleted":            {"p-uid", []func(*corev1.Pod){fixture.Orphan, fixture.Deleting[*corev1.Pod]}, false},
		"what makes it adoptable":        {"p-uid", []func(*corev1.Pod){fixture.Orphan, fixture.Foreign}, false},
	} {
		t.Run(name, func(t *testing.T) {
			kind := fixture.Outputs()[0]
			kind.Update = func(client.Object, client.Object) {}
			kind.Adoptable = func(_, o client.Object) bool { return !fixture.IsForeign(o) }
			record := fixture.RecordOf(test.recorded)
			cached := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in", record, fixture.Orphan)}
			stored := fixture.Output("in", append([]func(*corev1.Pod){record, changed}, test.stored...)...)
			h := newHarness(t, cached, []client.Object{fixture.Parent(), stored}, kind)
			h.Kinds.Ownership.Recorded = fixture.Recorded
			outcome, _, err := h.pass(t)
			if err != nil || len(outcome.Failed) > 0 {
				t.Errorf("failed %v, error %v", failures(outcome), err)
			}
			pod := h.api.Pod(t, "in")
			if got := metav1.IsControlledBy(pod, fixture.Parent()); got != test.want || len(pod.OwnerReferences) != len(stored.OwnerReferences)+map[bool]int{true: 1}[got] {
				t.Errorf("adopted: %v, want %v; owners %v", got, test.want, pod.OwnerReferences)
			}
		})
	}
}

// If the parent is deleted between the check and the patch, the garbage collector
// would delete what was adopted: it is given back, and the rest is not adopted.
func TestAdoptChecksTheParentAgain(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a", fixture.Orphan), fixture.Output("b", fixture.Orphan)}
	h := newHarness(t, all, all)
	h.keepAll()
	h.api.After = func(verb string, _ runtime.Object) {
		if verb == "patch" {
			_ = h.api.Stored.Delete(t.Context(), fixture.Parent())
		}
	}
	outcome, _, err := h.pass(t)
	if !errors.Is(err, guard.ErrAdoptionRefused) || !slices.Contains(failures(outcome), "adopt a") || !slices.Contains(failures(outcome), "adopt b") {
		t.Errorf("failed %v, error %v", failures(outcome), err)
	}
	for _, name := range []string{"a", "b"} {
		if refs := h.api.Pod(t, name).OwnerReferences; len(refs) > 0 {
			t.Errorf("%s is owned by %v", name, refs)
		}
	}
}

// unanswered makes patches, and then loses the answers.
type unanswered struct {
	client.Client
	lose func() error
}

func (u *unanswered) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := u.Client.Patch(ctx, o.DeepCopyObject().(client.Object), p, opts...); err != nil || u.lose == nil {
		return err
	}
	lose := u.lose
	u.lose = nil
	return lose()
}

// The same holds if an adoption is made and its answer is lost, or the manager stops.
func TestAdoptWithoutAnswerChecksTheParentAgain(t *testing.T) {
	for name, stops := range map[string]bool{"the answer is lost": false, "the manager stops": true} {
		for _, exists := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, and the parent exists: %v", name, exists), func(t *testing.T) {
				all := []client.Object{fixture.Parent(), fixture.Output("a", fixture.Orphan)}
				h := newHarness(t, all, all)
				h.keepAll()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				h.api.Before = func(ctx context.Context, _ string, _ runtime.Object) error { return ctx.Err() }
				h.Client = &unanswered{Client: h.Client, lose: func() error {
					if stops {
						stop()
					}
					if !exists {
						if err := h.api.Stored.Delete(t.Context(), fixture.Parent()); err != nil {
							t.Error(err)
						}
					}
					return context.DeadlineExceeded
				}}
				parent, seen := h.env.Observe()
				_, _, _ = h.Run(ctx, Work{Request: fixture.Request, Parent: parent.Object, Seen: seen, Plan: h.Kinds.Build(parent, fixture.Request, seen)})
				if owned := len(h.api.Pod(t, "a").OwnerReferences) > 0; owned != exists {
					t.Errorf("owned: %v", owned)
				}
			})
		}
	}
}

// What is given back may have changed since it was adopted.
func TestAdoptIsUndoneInALaterVersion(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a", fixture.Orphan)}
	h := newHarness(t, all, all)
	h.keepAll()
	deleted := false
	h.api.After = func(verb string, _ runtime.Object) {
		if verb != "patch" || deleted {
			return
		}
		deleted = true
		changed := h.api.Pod(t, "a")
		changed.Labels["other"] = "label"
		if err := errors.Join(h.api.Stored.Update(t.Context(), changed), h.api.Stored.Delete(t.Context(), fixture.Parent())); err != nil {
			t.Error(err)
		}
	}
	_, _, _ = h.pass(t)
	if a := h.api.Pod(t, "a"); len(a.OwnerReferences) > 0 || a.Labels["other"] == "" {
		t.Errorf("owned by %v, labels %v", a.OwnerReferences, a.Labels)
	}
}

// The same holds if the parent owns by labels since then.
func TestAdoptIsUndoneIfTheParentOwnsByLabels(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a", fixture.Orphan)}
	h := newHarness(t, all, all)
	h.keepAll()
	h.Kinds.Ownership.OwnsByLabels = ownsByLabels
	h.api.After = func(verb string, o runtime.Object) {
		if _, isOutput := o.(*corev1.Pod); verb == "patch" && isOutput {
			if err := h.api.Stored.Update(t.Context(), fixture.Parent(byLabels, func(p *appsv1.Deployment) { p.ResourceVersion = "" })); err != nil {
				t.Error(err)
			}
		}
	}
	if outcome, delay, err := h.pass(t); err != nil || len(outcome.Failed) > 0 || delay != firstRetry {
		t.Errorf("failed %v, error %v, delay %s", failures(outcome), err, delay)
	}
	if refs := h.api.Pod(t, "a").OwnerReferences; len(refs) > 0 {
		t.Errorf("owned by %v", refs)
	}
}

// Without an owner a snapshot is safe, also if the parent cannot be read again.
func TestAdoptIsUndoneIfTheParentCannotBeReadAgain(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a", fixture.Orphan)}
	h := newHarness(t, all, all)
	h.keepAll()
	h.api.After = func(verb string, _ runtime.Object) {
		if verb == "patch" {
			h.api.Fail(errTest, "get")
		}
	}
	if outcome, _, err := h.pass(t); !errors.Is(err, errTest) || !slices.Equal(failures(outcome), []string{"adopt a"}) {
		t.Errorf("failed %v, error %v", failures(outcome), err)
	}
	h.api.Fail(nil, "get")
	if refs := h.api.Pod(t, "a").OwnerReferences; len(refs) > 0 {
		t.Errorf("owned by %v", refs)
	}
}

// A delete must not count on an orphan until it is adopted. Once it is refused a second
// time, the deletes are planned again at once, without the orphan. After the first time
// it still counts, so that nothing is created in its place because of a conflict.
func TestRefusedAdoptionPlansDeletesAgain(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a"), fixture.Output("orphan", fixture.Orphan)}
	h := newHarness(t, all, all)
	h.api.Fail(forbidden, "patch")
	for _, step := range []struct {
		after       time.Duration
		wantDelay   time.Duration
		wantDeleted []string
		wantPatches int
	}{
		{0, firstRetry, nil, 1},
		{firstRetry / 2, firstRetry / 2, nil, 1}, // an event
		{firstRetry, time.Millisecond, nil, 2},
		{firstRetry, 2 * firstRetry, []string{"a"}, 2},
		{3 * firstRetry, time.Millisecond, nil, 3}, // the adoption is tried again
	} {
		h.after(step.after)
		outcome, delay, _ := h.pass(t)
		if delay != step.wantDelay || !slices.Equal(deleted(outcome), step.wantDeleted) || h.api.Count("patch") != step.wantPatches {
			t.Errorf("after %s: deleted %v, delay %s, %d patches; want %+v", step.after, deleted(outcome), delay, h.api.Count("patch"), step)
		}
	}
	if got := h.api.Pods(t); !slices.Equal(got, []string{"orphan"}) {
		t.Errorf("left %v", got)
	}
}

// What a parent that owns by labels cannot delete stays its own: it is not an orphan
// that cannot be adopted. References of other outputs are removed meanwhile.
func TestRefusedDeleteByLabels(t *testing.T) {
	cached := []client.Object{fixture.Parent(), fixture.Output("a", fixture.Orphan), fixture.Output("b")}
	h := newHarness(t, cached, cached)
	h.Kinds.Ownership.OwnsByLabels = fixture.Always
	h.api.Fail(forbidden, "delete")
	for i, step := range []struct {
		after       time.Duration
		wantFailed  []string
		wantPatches int
	}{
		{0, []string{"delete a"}, 1},
		{firstRetry, []string{"delete a"}, 2},                    // the cache still shows the reference
		{firstRetry + time.Millisecond, []string{"delete a"}, 2}, // held
	} {
		h.after(step.after)
		outcome, _, _ := h.pass(t)
		if !slices.Equal(failures(outcome), step.wantFailed) || h.api.Count("patch") != step.wantPatches {
			t.Errorf("pass %d: failed %v, %d patches; want %+v", i, failures(outcome), h.api.Count("patch"), step)
		}
	}
	if refs := h.api.Pod(t, "b").OwnerReferences; len(refs) > 0 {
		t.Errorf("b is owned by %v", refs)
	}
}

func TestRelease(t *testing.T) {
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: "s", UID: "s-uid"}
	owners := fixture.Owners(fixture.OwnedBy("p", "p-uid"), other)
	misnamed := fixture.Label(fixture.Tags.Parent, "q")
	for name, test := range map[string]struct {
		stored     *corev1.Pod
		fail       error
		invalid    error
		want       int
		wantFailed []string
		wantDelay  time.Duration
	}{
		"removes the parent's reference only": {stored: fixture.Output("a", owners, misnamed), want: 1, wantDelay: longestDelay},
		"while the spec is invalid":           {stored: fixture.Output("a", owners, misnamed), invalid: errTest, want: 1, wantDelay: longestDelay},
		"not from what changed":               {stored: fixture.Output("a", owners, misnamed, changed), want: 2, wantDelay: firstRetry},
		"backs off where it is denied":        {stored: fixture.Output("a", owners, misnamed), fail: forbidden, want: 2, wantFailed: []string{"release a"}, wantDelay: firstRetry},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, []client.Object{fixture.Parent(), fixture.Output("a", owners, misnamed)}, []client.Object{fixture.Parent(), test.stored})
			h.env.Invalid = test.invalid
			h.api.Fail(test.fail, "patch")
			outcome, delay, err := h.pass(t)
			if !slices.Equal(failures(outcome), test.wantFailed) || (err != nil) != (test.fail != nil) || delay != test.wantDelay {
				t.Errorf("failed %v, error %v, delay %s", failures(outcome), err, delay)
			}
			if got := h.api.Pod(t, "a"); len(got.OwnerReferences) != test.want || len(got.Labels) != 2 {
				t.Errorf("owners %v, labels %v", got.OwnerReferences, got.Labels)
			}
			if test.fail != nil {
				if _, _, err := h.pass(t); err != nil || h.api.Count("patch") != 1 {
					t.Errorf("tried %d times before it is due, error %v", h.api.Count("patch"), err)
				}
			}
		})
	}
}
