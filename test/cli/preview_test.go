// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/operator"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// manifest is a schedule as a user writes it.
func manifest(name, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: SnapshotSchedule\nmetadata: {name: %s}\nspec: %s\n---\napiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: ignored}\n", v1alpha1.GroupVersion, name, spec)
}

// previewed is the part of the output that the specs read.
type previewed struct {
	Items []struct {
		Change  string
		Deletes []struct {
			Name        string
			Now, Sooner bool
			Time        time.Time
			PresentTime *time.Time
		}
		Waiting []struct {
			Snapshots int
			Reason    string
			Until     time.Time
		}
	}
}

func (env *environment) preview(args ...string) previewed {
	GinkgoHelper()
	var p previewed
	Expect(json.Unmarshal([]byte(env.succeeds(append([]string{"preview", "-o", "json"}, args...)...)), &p)).To(Succeed())
	return p
}

// deletedNow returns the names of the snapshots that would be deleted now.
func (p *previewed) deletedNow() []string {
	names := []string{}
	for _, d := range p.Items[0].Deletes {
		if d.Now {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (env *environment) snapshotNames() []string {
	GinkgoHelper()
	var list snapshotv1.VolumeSnapshotList
	Expect(api.List(ctx, &list, client.InNamespace(env.namespace))).To(Succeed())
	names := []string{}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

var _ = Describe("preview", func() {
	It("shows what an edit deletes beyond the present spec, and fails on request", func() {
		env := newEnvironment()
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "10d"})
		all := env.createSnapshots(s, env.createClaim("db-0"), 6*time.Hour, 8)
		shorter := manifest("nightly", "{snapshotInterval: 6h, snapshotTTL: 1d}")
		r := env.runWith(kubeconfig, shorter, "preview", "-f", "-", "--fail-on-delete", "--driver-limit", "3")
		Expect(r.code).To(Equal(1), r.errOut)
		Expect(r.out).To(ContainSubstring("from  every 6h, TTL 10d\n  to    every 6h, TTL 1d\n"))
		Expect(r.out).To(ContainSubstring(all[7].Name))
		Expect(r.out).To(ContainSubstring("Of 8 existing snapshots, 4 would be deleted now and 8 within 30d; 8 sooner than at present."))
		Expect(r.out).To(ContainSubstring("Warning: the steady state exceeds the driver's limit of 3 snapshots per volume"))

		longer := manifest("nightly", "{snapshotInterval: 6h, snapshotTTL: 20d}")
		r = env.runWith(kubeconfig, longer, "preview", "-f", "-", "--fail-on-delete")
		Expect(r.code).To(BeZero(), r.errOut)
		Expect(r.out).To(ContainSubstring("none sooner than at present."))

		Expect(env.run("preview", "nightly", "--within", "1d", "--fail-on-delete").code).To(BeZero())
		Expect(env.run("preview", "nightly", "--within", "9d", "--fail-on-delete").code).To(Equal(1))
		Expect(env.run("preview", "--delete", "nightly", "--fail-on-delete").code).To(Equal(1))
		Expect(env.snapshotNames()).To(HaveLen(8), "nothing is written")
	})

	It("shows what a new schedule deletes of the snapshots that an earlier one left", func() {
		env := newEnvironment()
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1d"})
		c := env.createClaim("db-0")
		var all []*snapshotv1.VolumeSnapshot
		for i := range 5 {
			v := snapshotAt(s, c, ago(time.Hour+time.Duration(i)*day))
			v.OwnerReferences = nil
			put(time.Time{}, v)
			all = append(all, v)
		}
		Expect(api.Delete(ctx, s)).To(Succeed())
		file := filepath.Join(GinkgoT().TempDir(), "schedule.yaml")
		Expect(os.WriteFile(file, []byte(manifest("nightly", "{snapshotInterval: 1d, retention: {keep: {last: 2}}}")), 0o600)).To(Succeed())
		p := env.preview("-f", file)
		Expect(p.Items[0].Change).To(Equal("Created"))
		Expect(p.deletedNow()).To(BeEmpty(), "an earlier schedule's snapshots stay for an hour")
		Expect(p.Items[0].Waiting).To(HaveLen(1))
		Expect(p.Items[0].Waiting[0].Snapshots).To(Equal(3))
		Expect(p.Items[0].Waiting[0].Reason).To(Equal(v1alpha1.ReasonSnapshotsAdopted))
		// The new schedule takes one at once. In an hour it and the newest remain, and the next one takes the place of that.
		byTime := map[time.Duration][]string{}
		for _, d := range p.Items[0].Deletes {
			after := d.Time.Sub(p.Items[0].Waiting[0].Until).Round(time.Hour)
			byTime[after] = append(byTime[after], d.Name)
		}
		Expect(byTime).To(HaveLen(2))
		Expect(byTime[0]).To(ConsistOf(all[1].Name, all[2].Name, all[3].Name, all[4].Name))
		Expect(byTime[day-time.Hour]).To(ConsistOf(all[0].Name))
	})

	It("compares a deletion with a spec whose delay the operator has not recorded yet", func() {
		env := newEnvironment()
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h", SnapshotTTL: "1d", Retention: v1alpha1.Retention{EditDelay: "1h"},
		})
		env.createSnapshots(s, env.createClaim("db-0"), 6*time.Hour, 8)
		deletes := env.preview("--delete", "nightly").Items[0].Deletes
		Expect(deletes).To(HaveLen(8))
		for _, d := range deletes {
			Expect(d.PresentTime).NotTo(BeNil(), d.Name)
		}
	})

	// It asks neither for labels nor for the controller, like the garbage collector. That it is right is shown in test/e2e.
	It("counts what refers to a schedule among what would be deleted with it", func() {
		env := newEnvironment()
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "10d"})
		c := env.createClaim("db-0")
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "backup", UID: "backup"}
		unlabeled := func(v *snapshotv1.VolumeSnapshot) { v.Labels = nil }
		shared := func(ref metav1.OwnerReference) func(*snapshotv1.VolumeSnapshot) {
			return func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences = append(v.OwnerReferences, ref) }
		}
		var want []string
		for i, test := range []struct {
			name    string
			change  func(*snapshotv1.VolumeSnapshot)
			deleted bool
		}{
			{"controlled", func(*snapshotv1.VolumeSnapshot) {}, true},
			{"not-controlled", func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences[0].Controller = nil }, true},
			{"not-controlled-no-labels", func(v *snapshotv1.VolumeSnapshot) { unlabeled(v); v.OwnerReferences[0].Controller = nil }, true},
			{"released-in-part", func(v *snapshotv1.VolumeSnapshot) { delete(v.Labels, v1alpha1.LabelMapKey) }, true},
			{"of-another-version", func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences[0].APIVersion = v1alpha1.GroupName + "/v1" }, true},
			{"shared", shared(other), false},
			{"member", shared(ofGroup), false},
			{"released", func(v *snapshotv1.VolumeSnapshot) { unlabeled(v); v.OwnerReferences = nil }, false},
			{"of-an-earlier-schedule", func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences[0].UID = "old" }, false},
		} {
			v := snapshotAt(s, c, ago(time.Duration(i+1)*6*time.Hour))
			v.Name = test.name
			test.change(v)
			put(time.Time{}, v)
			if test.deleted {
				want = append(want, test.name)
			}
		}
		p := env.preview("--delete", "nightly")
		Expect(p.deletedNow()).To(ConsistOf(want))
		text := env.succeeds("preview", "--delete", "nightly")
		Expect(text).To(ContainSubstring("Of 6 existing snapshots, 5 would be deleted now"), "the shared one is the schedule's own, and stays")
		Expect(text).To(MatchRegexp(`db-0 +no \(removed\) +6 +5 `), "one row, with the PVC's name")
	})

	It("does not let an edit wait that its manifest confirms", func() {
		env := newEnvironment()
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h", SnapshotTTL: "10d", Retention: v1alpha1.Retention{EditDelay: "1h"},
		})
		env.createSnapshots(s, env.createClaim("db-0"), 6*time.Hour, 8)
		const spec = "{snapshotInterval: 6h, snapshotTTL: 1d, retention: {editDelay: 1h}}"
		for name, waiting := range map[string]int{
			"nightly": 4,
			fmt.Sprintf("nightly, annotations: {%s: %q}", v1alpha1.AnnotationConfirmGeneration, fmt.Sprint(s.Generation+1)): 0,
		} {
			file := filepath.Join(GinkgoT().TempDir(), "schedule.yaml")
			Expect(os.WriteFile(file, []byte(manifest(name, spec)), 0o600)).To(Succeed())
			p := env.preview("-f", file)
			Expect(p.deletedNow()).To(HaveLen(4-waiting), name)
			Expect(p.Items[0].Waiting).To(HaveLen(min(waiting, 1)), name)
		}
	})

	DescribeTable("lets exactly those manifests wait for editDelay that the API server takes for an edit",
		func(stored, written string) {
			const spec = "{snapshotInterval: 6h, snapshotTTL: 1d, retention: {editDelay: 1h%s}%s}"
			env := newEnvironment()
			s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{
				SnapshotInterval: "6h", SnapshotTTL: "1d", Retention: v1alpha1.Retention{EditDelay: "1h"},
			})
			env.createSnapshots(s, env.createClaim("db-0"), 6*time.Hour, 8)
			apply := func(text string) int64 {
				GinkgoHelper()
				o := &unstructured.Unstructured{}
				Expect(yaml.Unmarshal([]byte(text), &o.Object)).To(Succeed())
				o.SetNamespace(env.namespace)
				o.SetResourceVersion(get(s).ResourceVersion)
				Expect(api.Update(ctx, o)).To(Succeed())
				return o.GetGeneration()
			}
			of := func(fields string) string {
				inRetention, inSpec, _ := strings.Cut(fields, ";")
				text, _, _ := strings.Cut(manifest("nightly", fmt.Sprintf(spec, inRetention, inSpec)), "---")
				return text
			}
			recorded := apply(of(stored))
			record := fmt.Sprintf(`{"status":{"retention":{"generation":%d,"sinceTime":%q,"editDelay":"1h"}}}`,
				recorded, ago(2*time.Hour).Format(time.RFC3339))
			Expect(api.Status().Patch(ctx, s, client.RawPatch("application/merge-patch+json", []byte(record)))).To(Succeed())

			file := filepath.Join(GinkgoT().TempDir(), "schedule.yaml")
			Expect(os.WriteFile(file, []byte(of(written)), 0o600)).To(Succeed())
			p := env.preview("-f", file)
			edits := apply(of(written)) > recorded
			Expect(p.Items[0].Waiting).To(HaveLen(map[bool]int{true: 1}[edits]))
			Expect(p.deletedNow()).To(HaveLen(map[bool]int{false: 4}[edits]))
		},
		Entry("the same manifest", "", ""),
		Entry("an empty object where there was none", "", ", keep: {}"),
		Entry("no object where there was an empty one", ";, selector: {}", ""),
		Entry("the same empty object", ", keep: {}", ", keep: {}"),
		Entry("an empty object inside another", "", ";, snapshotTemplate: {metadata: {labels: {}}}"),
		Entry("the defaults", "", ", minReady: 1, detached: {};, suspend: false, readyDeadline: 1h"),
		Entry("a part of the defaults", ", detached: {minReady: 0}", ""),
		Entry("null where there is a default", "", ", minReady: null;, readyDeadline: null"),
		Entry("a value", "", ", maxCount: 100"),
	)

	It("rejects what it cannot preview", func() {
		env := newEnvironment()
		for _, test := range []struct {
			input string
			args  []string
			want  string
		}{
			{manifest("nightly", "{snapshotInterval: 6h, snapshotTTl: 10d}"), []string{"-f", "-"}, `unknown field "spec.snapshotTTl"`},
			{manifest("nightly", `{schedule: "0 0 30 2 *"}`), []string{"-f", "-"}, "SnapshotSchedule nightly: spec.schedule:"},
			{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", []string{"-f", "-"}, "no SnapshotSchedule in [-]"},
			{"", []string{"nightly"}, `"nightly" not found`},
			{"", nil, "give exactly one of NAME, --filename and --delete"},
			{"", []string{"nightly", "--delete", "nightly"}, "give exactly one of NAME, --filename and --delete"},
			{"", []string{"nightly", "--within", "soon"}, `--within: duration "soon"`},
		} {
			r := env.runWith(kubeconfig, test.input, append([]string{"preview"}, test.args...)...)
			Expect(r.code).To(Equal(2), r.out)
			Expect(r.errOut).To(ContainSubstring(test.want))
		}
	})

	It("predicts what the operator then deletes", func() {
		env := newEnvironment()
		s := env.createSchedule("tiers", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
		for i, name := range []string{"a", "b"} {
			all := env.createSnapshots(s, env.createClaim(name), time.Hour, 100+i)
			all[50].Annotations[v1alpha1.AnnotationHold] = "audit"
			all[60].Status.ReadyToUse = new(bool)
			put(time.Time{}, all[50], all[60])
		}
		before := env.snapshotNames()
		edit := manifest("tiers", "{snapshotInterval: 1h, retention: {keep: {hourly: 6, daily: 3}, maxCount: 8}}")
		file := filepath.Join(GinkgoT().TempDir(), "schedule.yaml")
		Expect(os.WriteFile(file, []byte(edit), 0o600)).To(Succeed())
		p := env.preview("-f", file)
		predicted := p.deletedNow()
		Expect(len(predicted)).To(BeNumerically(">", 150))

		patch := `{"spec":{"retention":{"keep":{"hourly":6,"daily":3},"maxCount":8}}}`
		Expect(api.Patch(ctx, s, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		startOperator(env.namespace)
		Eventually(func() []string { return deletedOf(before, env.snapshotNames()) }).WithTimeout(time.Minute).Should(Equal(predicted))
		Consistently(func() []string { return deletedOf(before, env.snapshotNames()) }).WithTimeout(2 * time.Second).Should(Equal(predicted))
	})
})

// deletedOf returns the names that are no longer there.
func deletedOf(before, now []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(now, name) })
}

// startOperator runs the operator for one namespace until the end of the spec.
func startOperator(namespace string) {
	GinkgoHelper()
	root, err := repo.Root()
	Expect(err).NotTo(HaveOccurred())
	dir := GinkgoT().TempDir()
	manager, err := repo.BuildOperator(ctx, root, dir)
	Expect(err).NotTo(HaveOccurred())
	running, err := operator.Start(ctx, operator.Options{
		Command: []string{manager, "--watch-namespaces=" + namespace}, Kubeconfig: kubeconfig, Dir: dir, Name: "operator",
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error {
		running.Kill()
		log, err := running.Log()
		GinkgoWriter.Println(log)
		return err
	})
}
