// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/creack/pty"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/recording"
)

// kept are the slots since a time that the tiers hourly: 24, daily: 7, weekly: 4 and monthly: 6 keep at 16:12 on a Saturday.
func kept(since, now time.Time) []time.Time {
	var slots []time.Time
	for slot := now.Truncate(time.Hour); !slot.Before(since); slot = slot.Add(-time.Hour) {
		age, last, next := now.Sub(slot), slot.Hour() == 23, slot.Add(time.Hour)
		if age < day || last && age < 7*day-7*time.Hour || last && slot.Weekday() == time.Sunday && age < 26*day || last && next.Day() == 1 && age < 160*day {
			slots = append(slots, slot)
		}
	}
	return slots
}

var _ = Describe("The pictures of README", func() {
	It("shows what the plugin prints at one time, with the same objects", func() {
		now := time.Date(2026, 11, 21, 16, 12, 8, 0, time.UTC)
		env := &environment{"shop", kubeconfig}
		Expect(api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}})).To(Succeed())
		uids := 0
		at := func(o client.Object, created time.Time) client.Object {
			uids++
			return builders.Existing(o, types.UID(fmt.Sprintf("5f2c6f0e-7d1b-4c47-9a4e-%012d", uids)), created)
		}
		spec := v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Hourly: 24, Daily: 7, Weekly: 4, Monthly: 6}},
			Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "shop"}},
		}
		s := env.createSchedule("production", spec)
		midnight := now.Truncate(day)
		objects := []client.Object{at(s, midnight.Add(-200*day))}
		example := ""
		for _, claim := range []struct {
			name, app string
			days      int
		}{{"data-0", "shop", 190}, {"data-1", "shop", 190}, {"uploads", "shop", 20}, {"scratch", "", 3}} {
			c := builders.BoundClaim(env.namespace, claim.name, "volume-"+claim.name, map[string]string{"app": claim.app})
			created := midnight.AddDate(0, 0, -claim.days)
			objects = append(objects, at(c, created))
			if claim.app == "" {
				continue
			}
			for _, slot := range kept(created, now) {
				v := snapshotAt(s, c, slot)
				if claim.name == "data-1" && now.Sub(slot) < 5*day && slot.Weekday() == time.Wednesday && slot.Hour() == 23 {
					v.Annotations[v1alpha1.AnnotationHold] = "audit"
				}
				if claim.name == "data-0" && slot.Weekday() == time.Sunday && slot.Hour() == 23 && now.Sub(slot) < 7*day {
					example = v.Name
				}
				objects = append(objects, at(v, slot))
			}
		}
		put(time.Time{}, objects...)
		then := proxyAt(now)

		// Only a terminal is shown colors.
		for _, name := range []string{"NO_COLOR", "COLUMNS"} {
			GinkgoT().Setenv(name, "")
			Expect(os.Unsetenv(name)).To(Succeed())
		}
		GinkgoT().Setenv("TERM", "xterm-256color")
		for _, still := range []struct {
			name, label string
			args        []string
		}{
			{"coverage.svg", "kubectl snapsched coverage: three of four PVCs are protected, and no schedule selects the fourth", []string{"coverage"}},
			{"timeline.svg", "kubectl snapsched timeline: the snapshots of each PVC by age, with the rule that keeps each", []string{"timeline", "production"}},
			{"why.svg", "kubectl snapsched why: until when a snapshot is kept, and by which rule", []string{"why", example}},
		} {
			ours, theirs, err := pty.Open()
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(ours.Close)
			Expect(pty.Setsize(theirs, &pty.Winsize{Rows: 50, Cols: recording.Columns})).To(Succeed())
			printed := make(chan string)
			go func() {
				all, _ := io.ReadAll(ours) // it ends with an error
				printed <- string(all)
			}()
			var errOut bytes.Buffer
			streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: theirs, ErrOut: &errOut}
			args := slices.Concat(still.args, []string{"--kubeconfig", then, "--namespace", env.namespace})
			Expect(cli.Run(ctx, args, streams, clocktesting.NewFakePassiveClock(now))).To(BeZero(), errOut.String())
			Expect(theirs.Close()).To(Succeed())
			command := "kubectl snapsched " + strings.Join(still.args, " ")
			Expect(recording.File(still.name, recording.Still(still.label, command, <-printed))).To(Succeed())
		}
	})
})
