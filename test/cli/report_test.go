// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report/reporttest"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

const chromium = "chromium"

// browse runs a browser without a window. As root it has no sandbox; the page is ours.
func browse(args ...string) string {
	GinkgoHelper()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + GinkgoT().TempDir()}, args...)
	return string(suite.Must(exec.CommandContext(ctx, chromium, args...).Output()))
}

var _ = Describe("report", func() {
	It("shows a browser what the API server holds, finds what is searched, and runs nothing else", func() {
		env := newEnvironment()
		s := env.createSchedule("backup", v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h", SnapshotTTL: "30d", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Last: 3, Daily: 7, Weekly: 4}},
			Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
		})
		first, second := env.createClaim("data-0", "app", "db"), env.createClaim("data-1", "app", "db")
		env.createClaim("cache")
		snapshots := append(env.createSnapshots(s, first, 6*time.Hour, 40), env.createSnapshots(s, second, 18*time.Hour, 20)...)
		condition := func(kind, reason, message string, status metav1.ConditionStatus) metav1.Condition {
			return metav1.Condition{Type: kind, Reason: reason, Message: message, Status: status, LastTransitionTime: metav1.Now()}
		}
		page := filepath.Join(GinkgoT().TempDir(), "report.html")
		write := func() {
			GinkgoHelper()
			Expect(os.WriteFile(page, []byte(env.succeeds("report")), 0o600)).To(Succeed())
		}

		const evil = `"><script>document.title = 'attacked'</script><img src=x onerror="document.title = 'attacked'">`
		s.Status.Conditions = []metav1.Condition{
			condition(v1alpha1.ConditionReady, v1alpha1.ReasonSnapshotsFailing, evil+reporttest.Nasty, metav1.ConditionFalse),
		}
		s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "data-1", Reason: v1alpha1.ReasonCreateFailed, Message: evil, SinceTime: metav1.Now()}}
		put(s.CreationTimestamp.Time, s)

		var read struct {
			Clusters []struct {
				Name, User        string
				SnapshotSchedules []struct {
					Timeline struct {
						PersistentVolumeClaims []struct{ Snapshots []struct{ Name string } }
					}
				}
			}
		}
		Expect(json.Unmarshal([]byte(env.succeeds("report", "-o", "json")), &read)).To(Succeed())
		Expect(read.Clusters).To(HaveLen(1))
		Expect(read.Clusters[0].User).To(Equal("admin"))
		Expect(read.Clusters[0].SnapshotSchedules).To(HaveLen(1))
		lines := read.Clusters[0].SnapshotSchedules[0].Timeline.PersistentVolumeClaims
		Expect(lines).To(HaveLen(2))
		Expect(len(lines[0].Snapshots) + len(lines[1].Snapshots)).To(Equal(len(snapshots)))

		write()
		if _, err := exec.LookPath(chromium); err != nil {
			Skip("the page was not opened: there is no " + chromium)
		}
		open := func(url string) string { return browse("--dump-dom", url) }
		shown := open("file://" + page)
		Expect(shown).NotTo(ContainSubstring("<title>attacked"))
		Expect(strings.Count(shown, "<script")).To(Equal(1))
		for _, v := range snapshots {
			Expect(shown).To(ContainSubstring(v.Name))
		}
		Expect(shown).To(ContainSubstring("2 of 3 PVCs can go back to "))
		hidden := func(page string) int { return strings.Count(page, `hidden=""`) }
		Expect(hidden(shown)).To(BeZero())
		found := open("file://" + page + "#data-1")
		Expect(hidden(found)).To(BeNumerically(">", 2))
		Expect(found).To(MatchRegexp(`<tr data-find="[^"]*/backup data-0" hidden=""`))
		Expect(found).To(MatchRegexp(`<tr data-find="[^"]*/backup data-1">`))
		Expect(open("file://"+page+"#50%")).To(ContainSubstring(`tabindex="0"`), "what is no encoded text stops the script")
	})

	It("refuses what it cannot write", func() {
		Expect(newEnvironment().fails("report", "-o", "yaml")).To(ContainSubstring("html, json"))
	})
})
