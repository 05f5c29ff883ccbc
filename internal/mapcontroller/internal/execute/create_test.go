// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
)

// A cache that is restricted to another label never shows what is created: each pass makes it once more, and nothing else says so.
func TestAnOutputThatTheCacheDoesNotShowIsLogged(t *testing.T) {
	shown := []client.Object{fixture.Parent(), fixture.Input()}
	for name, test := range map[string]struct {
		existing []client.Object
		want     int
	}{
		"created": {}, "exists already": {existing: []client.Object{fixture.Output("in")}, want: 1},
		"somebody else's": {existing: []client.Object{fixture.Output("in", fixture.Owners(fixture.OwnedBy("q", "q-uid")))}},
	} {
		h := newHarness(t, shown, slices.Concat(shown, test.existing))
		h.env.Program.Map = func(plan.Observation) plan.Decision {
			return plan.Decision{Ensure: []plan.Desired{{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "in"}}}}}
		}
		var logged []string
		parent, seen := h.env.Observe()
		ctx := logf.IntoContext(t.Context(), funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}))
		_, _, _ = h.Run(ctx, Work{Request: fixture.Request, Parent: parent.Object, Seen: seen, Plan: h.Kinds.Build(parent, fixture.Request, seen)})
		if len(logged) != test.want || test.want > 0 && (!strings.Contains(logged[0], "not in the cache") || !strings.Contains(logged[0], `"output"="in"`)) {
			t.Errorf("%s: logged %q", name, logged)
		}
	}
}

// Contract: MAP-8, MAP-10.
func TestCreateWhereTheNameIsTaken(t *testing.T) {
	covers := func(yes bool) plan.Output {
		kind := fixture.Outputs()[0]
		kind.Covers = func(_, _ client.Object) bool { return yes }
		return kind
	}
	updated := fixture.Outputs()[0]
	updated.Update = func(_, _ client.Object) {}
	otherParent := fixture.Owners(fixture.OwnedBy("q", "q-uid"))
	deleting := fixture.Deleting[*corev1.Pod]
	asDesired := func(o *corev1.Pod) { o.Spec.NodeName = "desired" }
	// A retry is neither a success nor a failure.
	retry := errors.New("retry")

	for name, test := range map[string]struct {
		changes  []func(*corev1.Pod)
		kind     plan.Output
		byLabels bool
		want     error
	}{
		"owned, as desired":               {},
		"owned, differs":                  {changes: []func(*corev1.Pod){onNode}, want: plan.ErrNameCollision},
		"owned, differs and is updated":   {changes: []func(*corev1.Pod){onNode}, kind: updated},
		"owned, differs and covers":       {changes: []func(*corev1.Pod){onNode}, kind: covers(true)},
		"owned, does not cover":           {kind: covers(false), want: plan.ErrNameCollision},
		"owned, being deleted":            {changes: []func(*corev1.Pod){deleting}, want: retry},
		"owned, for another key":          {changes: []func(*corev1.Pod){fixture.Label(fixture.Tags.MapKey, "other")}, want: plan.ErrNameCollision},
		"owned, about to be released":     {changes: []func(*corev1.Pod){fixture.Label(fixture.Tags.MapKey, "")}, want: retry},
		"owned, names another parent":     {changes: []func(*corev1.Pod){fixture.Label(fixture.Tags.Parent, "q")}, want: retry},
		"owned, and foreign":              {changes: []func(*corev1.Pod){fixture.Foreign}, want: retry},
		"foreign, would cover":            {changes: []func(*corev1.Pod){fixture.Orphan, fixture.Foreign}, kind: covers(true), want: plan.ErrNameCollision},
		"by labels, foreign, would cover": {byLabels: true, changes: []func(*corev1.Pod){fixture.Orphan, fixture.Foreign}, kind: covers(true), want: plan.ErrNameCollision},
		"orphan":                          {changes: []func(*corev1.Pod){fixture.Orphan}, want: plan.ErrNameCollision},
		"orphan that covers":              {changes: []func(*corev1.Pod){fixture.Orphan}, kind: covers(true)},
		"orphan that does not cover":      {changes: []func(*corev1.Pod){fixture.Orphan}, kind: covers(false), want: plan.ErrNameCollision},
		"orphan of a kind that is kept":   {changes: []func(*corev1.Pod){fixture.Orphan}, kind: updated, want: plan.ErrNameCollision},
		"another parent's":                {changes: []func(*corev1.Pod){otherParent}, want: plan.ErrNameCollision},
		"another parent's, would cover":   {changes: []func(*corev1.Pod){otherParent}, kind: covers(true), want: plan.ErrNameCollision},
		"a deleted parent's of same name": {changes: []func(*corev1.Pod){fixture.Owners(fixture.OwnedBy("p", "old-uid"))}, want: plan.ErrNameCollision},
		"by labels, as desired":           {byLabels: true, changes: []func(*corev1.Pod){fixture.Orphan}},
		"by labels, still owned":          {byLabels: true},
		"by labels, differs":              {byLabels: true, changes: []func(*corev1.Pod){fixture.Orphan, onNode}, want: plan.ErrNameCollision},
		"by labels, differs and covers":   {byLabels: true, changes: []func(*corev1.Pod){fixture.Orphan, onNode}, kind: covers(true)},
		"by labels, differs, is updated":  {byLabels: true, changes: []func(*corev1.Pod){fixture.Orphan, onNode}, kind: updated},
		"by labels, being deleted":        {byLabels: true, changes: []func(*corev1.Pod){fixture.Orphan, deleting}, want: retry},
		"by labels, for another key":      {byLabels: true, changes: []func(*corev1.Pod){fixture.Orphan, fixture.Label(fixture.Tags.MapKey, "other")}, want: plan.ErrNameCollision},
		"by labels, released":             {byLabels: true, changes: []func(*corev1.Pod){fixture.Orphan, fixture.Label(fixture.Tags.Parent, "q")}, want: plan.ErrNameCollision},
		"by labels, released and covers":  {byLabels: true, changes: []func(*corev1.Pod){fixture.Orphan, fixture.Label(fixture.Tags.Parent, "q")}, kind: covers(true)},
		"by labels, another parent's":     {byLabels: true, changes: []func(*corev1.Pod){otherParent}, kind: covers(true), want: plan.ErrNameCollision},
	} {
		t.Run(name, func(t *testing.T) {
			if test.kind.Object == nil {
				test.kind = fixture.Outputs()[0]
			}
			shown := []client.Object{fixture.Parent(), fixture.Input()}
			existing := fixture.Output("in", append([]func(*corev1.Pod){asDesired}, test.changes...)...)
			h := newHarness(t, shown, []client.Object{fixture.Parent(), fixture.Input(), existing}, test.kind)
			h.Kinds.Ownership.OwnsByLabels, h.Kinds.Ownership.Foreign = func(client.Object) bool { return test.byLabels }, fixture.IsForeign
			h.env.Program.Map = func(plan.Observation) plan.Decision {
				want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "in"}, Spec: corev1.PodSpec{NodeName: "desired"}}
				return plan.Decision{Ensure: []plan.Desired{{Object: want}}}
			}
			outcome, delay, err := h.pass(t)
			switch {
			case len(outcome.Created) > 0 || h.Attempts.Expects(fixture.Request) > 0:
				t.Errorf("the create counts as made: %+v", outcome)
			case test.want == nil:
				if err != nil || delay != longestDelay {
					t.Errorf("got %v, delay %s", err, delay)
				}
			case errors.Is(test.want, retry):
				if err != nil || len(outcome.Failed) > 0 || delay != firstRetry {
					t.Errorf("got %v, failed %v, delay %s", err, failures(outcome), delay)
				}
			default:
				if !errors.Is(err, test.want) || !slices.Equal(failures(outcome), []string{"create in"}) || delay != firstRetry {
					t.Errorf("got %v, failed %v, delay %s", err, failures(outcome), delay)
				}
			}
		})
	}
}

// The watch may be faster than the answer.
//
// Contract: MAP-13.
func TestCreateWhoseEventComesBeforeItsAnswerHoldsTheKeyNotBack(t *testing.T) {
	shown := []client.Object{fixture.Parent(), fixture.Input()}
	h := newHarness(t, shown, shown)
	h.env.Program.Map = func(plan.Observation) plan.Decision {
		return plan.Decision{Ensure: []plan.Desired{{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "in"}}}}}
	}
	h.creates(func(ctx context.Context, o client.Object) error {
		err := h.api.Create(ctx, o)
		h.Attempts.Seen(fixture.Request, queue.Expectation{ID: h.Kinds.ID(o)})
		return err
	})
	outcome, _, err := h.pass(t)
	if left := h.Attempts.Expects(fixture.Request); err != nil || len(outcome.Created) != 1 || left != 0 {
		t.Errorf("created %v, error %v, and the key waits %s", fixture.Names(outcome.Created), err, left)
	}
}

// What the cache shows of a collision is reported as what the API server answers: by
// each pass, which is retried with backoff, and without a request.
// Contract: MAP-10.
func TestCreateWhereTheCacheShowsTheCollision(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in", onNode)}
	h := newHarness(t, all, all)
	h.env.Program.Map = func(plan.Observation) plan.Decision {
		want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "in"}, Spec: corev1.PodSpec{NodeName: "desired"}}
		return plan.Decision{Ensure: []plan.Desired{{Object: want}}}
	}
	elapsed := time.Duration(0)
	for _, want := range []time.Duration{firstRetry, 2 * firstRetry, 4 * firstRetry} {
		outcome, delay, err := h.pass(t)
		elapsed += delay
		h.after(elapsed)
		if !errors.Is(err, plan.ErrNameCollision) || !slices.Equal(failures(outcome), []string{"create in"}) || delay != want {
			t.Errorf("got %v, failed %v, delay %s", err, failures(outcome), delay)
		}
		collision := (*plan.CollisionError)(nil)
		if !errors.As(err, &collision) || !collision.Owned || collision.Existing.GetName() != "in" {
			t.Errorf("it does not say which object has the name: %+v", collision)
		}
	}
	if h.api.Count("create")+h.api.Count("get") > 0 {
		t.Error("requests are made")
	}
}

// The object that took the name may be gone, or unreadable, when it is read.
func TestCreateWhereTheTakenNameCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		err        error
		wantFailed []string
	}{
		"it is gone":     {err: apierrors.NewNotFound(schema.GroupResource{}, "in")},
		"the read fails": {err: errTest, wantFailed: []string{"create in"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := []client.Object{fixture.Parent(), fixture.Input()}
			h := newHarness(t, all, append(all, fixture.Output("in")))
			h.api.Fail(test.err, "get")
			outcome, delay, err := h.pass(t)
			if !slices.Equal(failures(outcome), test.wantFailed) || errors.Is(err, errTest) != (test.wantFailed != nil) || delay != firstRetry {
				t.Errorf("failed %v, error %v, delay %s", failures(outcome), err, delay)
			}
		})
	}
}

// The API server says for a moment that a namespace is being deleted that was
// created again. An output that was not created then must not wait for an event.
func TestCreateRetriesWhileNamespaceTerminates(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input()}
	h := newHarness(t, all, all)
	terminating := true
	h.api.Before = func(_ context.Context, verb string, _ runtime.Object) error {
		err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "in", nil)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		if verb == "create" && terminating {
			return err
		}
		return nil
	}
	if outcome, delay, err := h.pass(t); err != nil || len(outcome.Failed) > 0 || delay != firstRetry {
		t.Errorf("failed %v, error %v, delay %s", failures(outcome), err, delay)
	}
	terminating = false
	h.after(firstRetry)
	if outcome, _, err := h.pass(t); err != nil || len(outcome.Created) != 1 {
		t.Errorf("created %v, error %v", outcome.Created, err)
	}
}

// What a create made is found although its response is lost, so that it is neither
// reported as failed nor created a second time.
func TestCreateWhoseResponseIsLost(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("later")
	for name, test := range map[string]struct {
		err         error
		committed   bool
		otherWasThe bool
		want        bool
	}{
		"timed out, created":                      {err: context.DeadlineExceeded, committed: true, want: true},
		"timed out, not created":                  {err: context.DeadlineExceeded},
		"server error, created":                   {err: unavailable, committed: true, want: true},
		"server error, not created":               {err: unavailable},
		"timed out, somebody else's has the name": {err: unavailable, otherWasThe: true},
		"refused": {err: forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			shown := []client.Object{fixture.Parent(), fixture.Input()}
			stored := slices.Clone(shown)
			if test.otherWasThe {
				stored = append(stored, fixture.Output("in", fixture.Owners(fixture.OwnedBy("q", "q-uid"))))
			}
			h := newHarness(t, shown, stored)
			h.creates(func(ctx context.Context, o client.Object) error {
				if test.committed {
					if err := h.api.Create(ctx, o); err != nil {
						return err
					}
				}
				return test.err
			})
			outcome, _, err := h.pass(t)
			if created := len(outcome.Created) == 1; created != test.want || (err == nil) != test.want || (len(outcome.Failed) == 0) != test.want {
				t.Errorf("created %v, failed %v, error %v", fixture.Names(outcome.Created), failures(outcome), err)
			}
			if !test.want && !errors.Is(err, test.err) {
				t.Errorf("error %v, want that of the create", err)
			}
			if held := h.Attempts.Expects(fixture.Request) > 0; held != test.want {
				t.Errorf("waits for the cache: %v", held)
			}
		})
	}
}

// Where not even a read says what became of a create, it counts as one that may have been made: otherwise the next one of its limit goes
// beside it.
//
// Contract: FLIGHT-1.
func TestCreateOfWhichNothingIsKnownIsUnanswered(t *testing.T) {
	shown, unavailable := []client.Object{fixture.Parent(), fixture.Input()}, apierrors.NewServiceUnavailable("later")
	for name, test := range map[string]struct {
		create, read error
		want         bool
	}{
		"the answer is lost, the read fails":     {create: context.DeadlineExceeded, read: unavailable, want: true},
		"a server error, the read times out":     {create: unavailable, read: context.DeadlineExceeded, want: true},
		"the name is taken, the read fails":      {create: apierrors.NewAlreadyExists(schema.GroupResource{}, "in"), read: unavailable, want: true},
		"the answer is lost, nothing is there":   {create: context.DeadlineExceeded},
		"refused, and nothing needs to be read":  {create: forbidden, read: unavailable},
		"too many requests, which creates none":  {create: apierrors.NewTooManyRequests("later", 1), read: unavailable},
		"the name is taken, and then it is free": {create: apierrors.NewAlreadyExists(schema.GroupResource{}, "in"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, shown, shown)
			h.api.Fail(test.read, "get")
			h.creates(func(context.Context, client.Object) error { return test.create })
			outcome, _, _ := h.pass(t)
			if got := slices.Equal(fixture.Names(outcome.Unanswered), []string{"in"}); got != test.want || len(outcome.Created) > 0 {
				t.Errorf("unanswered %v, created %v", fixture.Names(outcome.Unanswered), fixture.Names(outcome.Created))
			}
			// Its failure is reported all the same, but where the next pass finds the name free.
			if failed := len(outcome.Failed) > 0; failed != (test.read != nil || !test.want) {
				t.Errorf("failed %v", failures(outcome))
			}
		})
	}
}

// A create whose response never comes must not hold its worker for ever.
func TestCreateHasADeadline(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input()}
	h := newHarness(t, all, all)
	synctest.Test(t, func(t *testing.T) {
		h.creates(func(ctx context.Context, _ client.Object) error {
			<-ctx.Done()
			return ctx.Err()
		})
		start := time.Now()
		outcome, _, err := h.pass(t)
		if took := time.Since(start); err == nil || took != RequestTimeout || !slices.Equal(failures(outcome), []string{"create in"}) {
			t.Errorf("failed %v after %s, error %v", failures(outcome), took, err)
		}
	})
}
