// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// scenarioCluster has the objects of the scenario, and allows everything.
func scenarioCluster(s *clitest.Scenario) client.WithWatch {
	b := fake.NewClientBuilder().WithScheme(term.NewScheme()).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(client.Object) []string { return []string{""} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if review, asks := o.(*authorizationv1.SelfSubjectAccessReview); asks {
					review.Status.Allowed = true
					return nil
				}
				return c.Create(ctx, o, opts...)
			},
		})
	for _, one := range s.Schedules() {
		b.WithObjects(one)
	}
	for _, o := range slices.Concat(s.Inv.Claims["shop"], s.Inv.Snapshots["shop"]) {
		b.WithObjects(o)
	}
	return b.Build()
}

// The newest snapshot is 20 minutes old, and a clock that is 30 minutes behind does not know it yet.
//
// Contract: CLI-58.
func TestTheClockOfTheMachineDecidesNothing(t *testing.T) {
	newest := "db-0-" + clitest.Start.AddDate(0, 0, 30).Format("20060102150405")
	// With a text that is printed if a command has done what it is called for.
	commands := map[string][]struct {
		args  string
		shows string
	}{
		"status":   {{"", "NEWEST READY"}, {"-A -o json", "newestReadyTime"}},
		"coverage": {{"-A", "20m"}, {"-o json", "recoveryPointTime"}},
		"report":   {{"-A", "</html>"}, {"-A -o json", `"time"`}},
		"timeline": {{"tiers", "db-0"}, {"tiers -o json", "db-0"}},
		"why":      {{newest, "20m ago"}, {newest + " -o json", "verdicts"}},
		"preview":  {{"tiers", "deleted"}, {"tiers -o json", "deletes"}, {"--delete tiers", "deleted"}},
		"list":     {{"", "20m"}, {"--pvc db-0 --as-of 25m", "db-0-2026"}, {"--pvc db-0 --as-of 10m", newest}, {"-o json", newest}},
		"restore": {
			{"--pvc db-0 --to r", newest + ", of 2026-01-31T00:00:00Z (20m ago)"},
			{"--schedule tiers --allow-incomplete", newest},
			{"--pvc db-0 --to r --as-of 10m", newest}, {"--pvc db-0 --to r --as-of 25m", "db-0-20260130180000, of"},
			{"--pvc db-0 --to r --as-of 2026-01-31T00:10:00Z", newest},
		},
		"verify":   {{"--pvc db-0 --image x --allow-retain --dry-run=client", newest}},
		"rollback": {{"--pvc db-0 --as-of 10m --dry-run", "db-0"}},
		"hold":     {{newest + " --until 1h", "2026-01-31T01:20:00Z"}},
		"unhold":   {{newest, newest}},
		"release":  {{newest, newest}},
		"snapshot": {{"tiers -o yaml", "2026-01-31T00:20:01Z"}},
		"confirm":  {{"tiers", "will be deleted at once"}},
		"suspend":  {{"tiers", "suspended"}},
		"resume":   {{"paused", "due at once"}},
		"doctor":   {{"-A", "problem"}, {"-A -o json", "points"}},
		"migrate":  {{"snapscheduler", ""}},
	}
	random := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	for name, runs := range commands {
		for _, run := range runs {
			args := append([]string{name}, strings.Fields(run.args)...)
			var want string
			for _, ahead := range []time.Duration{0, -30 * time.Minute, 30 * time.Minute} {
				s := clitest.NewScenario()
				s.Tiers.Status.Problems[0].SinceTime = metav1.NewTime(s.Now.Add(-time.Hour))
				s.Tiers.Generation, s.Tiers.Spec.Retention.EditDelay = 2, "2h"
				s.Tiers.Status.Retention = &v1alpha1.RetentionRecord{Generation: 1, SinceTime: metav1.NewTime(s.Now.Add(-term.Day)), EditDelay: "2h"}
				_, printed := runBy(t, scenarioCluster(s), s.Now, clocktesting.NewFakePassiveClock(s.Now.Add(ahead)), "shop", args...)
				printed = random.ReplaceAllString(printed, "ADDRESS")
				switch {
				case ahead != 0 && printed != want:
					t.Errorf("%q prints by a clock that is %s ahead:\n%s\nwant:\n%s", args, ahead, printed, want)
				case ahead == 0 && !strings.Contains(printed, run.shows):
					t.Errorf("%q does not print %q:\n%s", args, run.shows, printed)
				}
				if ahead == 0 {
					want = printed
				}
			}
		}
	}
	offline := []string{"simulate", "read-data", "prove-data", "help", "completion", "version"}
	for _, c := range newRoot(&term.Factory{Config: genericclioptions.NewConfigFlags(true)}).Commands() {
		if _, tried := commands[c.Name()]; !tried && !slices.Contains(offline, c.Name()) {
			t.Errorf("%s is not tried", c.Name())
		}
	}
}
