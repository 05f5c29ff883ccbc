// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

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

var _ = Describe("The recording of README", func() {
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

		GinkgoT().Setenv("COLUMNS", strconv.Itoa(recording.Columns))
		smaller := filepath.Join(temporaryFolder(), "smaller.yaml")
		Expect(os.WriteFile(smaller, []byte(`apiVersion: snapshots.mapcontroller.dev/v1alpha1
kind: SnapshotSchedule
metadata: {name: production, namespace: shop}
spec: {snapshotInterval: 1h, selector: {matchLabels: {app: shop}}, retention: {keep: {hourly: 24, daily: 7, weekly: 4, monthly: 3}}}
`), 0o600)).To(Succeed())
		var scenes []recording.Scene
		for _, args := range [][]string{{"coverage"}, {"timeline", "production"}, {"why", example}, {"preview", "-f", smaller}} {
			var out, errOut bytes.Buffer
			command := strings.ReplaceAll("kubectl snapsched "+strings.Join(args, " "), smaller, filepath.Base(smaller))
			streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}
			args = append(args, "--kubeconfig", kubeconfig, "--namespace", env.namespace)
			Expect(cli.Run(ctx, args, streams, clocktesting.NewFakePassiveClock(now))).To(BeZero(), errOut.String())
			scenes = append(scenes, recording.Scene{Command: command, Output: strings.ReplaceAll(out.String(), smaller, filepath.Base(smaller))})
		}
		Expect(recording.File("plugin.svg", recording.SVG("A terminal with kubectl snapsched: which PVCs are protected, their snapshots, why one is kept, and what an edit would delete", scenes))).To(Succeed())
	})
})
