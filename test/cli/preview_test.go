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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// manifest is a schedule as a user writes it.
func manifest(name, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: SnapshotSchedule\nmetadata: {name: %s}\nspec: %s\n---\napiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: ignored}\n", v1alpha1.GroupVersion, name, spec)
}

// clusterManifest is a ClusterSnapshotSchedule that selects one namespace.
func clusterManifest(name, namespace, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: ClusterSnapshotSchedule\nmetadata: {name: %s}\nspec:\n"+
		"  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}\n  template: {spec: %s}\n", v1alpha1.GroupVersion, name, namespace, spec)
}

// previewed is the part of the output that the specs read.
type previewed struct {
	Deletes []deletion
	Waiting []struct{}
}

type deletion struct {
	Name        string
	Now         bool
	PresentTime *time.Time
}

func (env *environment) preview(args ...string) previewed {
	GinkgoHelper()
	var all struct{ Items []previewed }
	Expect(json.Unmarshal([]byte(env.succeeds(append([]string{"preview", "-o", "json"}, args...)...)), &all)).To(Succeed())
	Expect(all.Items).To(HaveLen(1))
	return all.Items[0]
}

var _ = Describe("preview", func() {
	It("shows what an edit deletes beyond the present spec, and fails on request", func() {
		env := newEnvironment()
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "10d"})
		all := env.createSnapshots(s, env.createClaim("db-0"), 6*time.Hour, 8)
		reader := intercept(func(request) bool { return false }) // no write succeeds
		fails := func(input string, args ...string) result {
			GinkgoHelper()
			return env.as(reader).runWith(input, append([]string{"preview", "--fail-on-delete"}, args...)...)
		}
		r := fails(manifest("nightly", "{snapshotInterval: 6h, snapshotTTL: 1d}"), "-f", "-")
		Expect(r.code).To(Equal(1), r.errOut)
		Expect(r.out).To(ContainSubstring("would change: every 6h, TTL 10d\n  - spec.snapshotTTL: 10d\n  + spec.snapshotTTL: 1d\n"))
		Expect(r.out).To(ContainSubstring(all[7].Name))
		Expect(r.out).To(ContainSubstring("Of 8 existing snapshots, 4 would be deleted now and 8 within 30d; 8 sooner than at present."))
		Expect(r.out).To(ContainSubstring("Steady state: at most 4 snapshots per PVC.\n"))

		r = fails(manifest("nightly", "{snapshotInterval: 6h, snapshotTTL: 20d}"), "-f", "-")
		Expect(r.code).To(BeZero(), r.errOut)
		Expect(r.out).To(ContainSubstring("none sooner than at present."))

		By("comparing with what is applied already, and saying what would stop")
		r = fails(manifest("nightly", "{snapshotInterval: 6h, snapshotTTL: 10d}"), "-f", "-")
		Expect(r.out).To(ContainSubstring("nightly as it is: every 6h, TTL 10d\n"))
		r = fails(manifest("nightly", "{snapshotInterval: 6h, snapshotTTL: 10d, selector: {matchLabels: {app: none}}}"), "-f", "-", "--fail-on-gaps")
		Expect(r.code).To(Equal(1), r.errOut)
		Expect(r.out).To(ContainSubstring("is selected by app=none: no snapshots are taken"))

		Expect(fails("", "nightly", "--within", "1d").code).To(BeZero())
		Expect(fails("", "nightly", "--within", "9d").code).To(Equal(1))
		Expect(fails("", "--delete", "nightly").code).To(Equal(1))
	})

	It("shows what an edit of a ClusterSnapshotSchedule deletes in each namespace, and what it takes over", func() {
		env, other := newEnvironment(), newEnvironment()
		fleet := env.createFleet(v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "10d", DeletionPolicy: v1alpha1.DeletionDelete})
		all := env.createSnapshots(env.createChild(fleet), env.createClaim("db-0"), 6*time.Hour, 8)
		previewOf := func(namespace, spec string) string {
			GinkgoHelper()
			r := env.runWith(clusterManifest(fleet.Name, namespace, spec), "preview", "-f", "-")
			Expect(r.code).To(BeZero(), r.errOut)
			return r.out
		}
		const edit = "{snapshotInterval: 6h, snapshotTTL: 1d, deletionPolicy: Delete}"
		shorter := previewOf(env.namespace, edit)
		Expect(shorter).To(HavePrefix(env.namespace + "/" + fleet.Name + " would change: every 6h, TTL 10d\n  - spec.snapshotTTL: 10d\n  + spec.snapshotTTL: 1d\n"))
		Expect(shorter).To(MatchRegexp(all[7].Name + ` +\d+s +Expired +8d`)) // a child always keeps for a minute what an edit would delete
		Expect(shorter).To(ContainSubstring("Of 8 existing snapshots, 0 would be deleted now and 8 within 30d; 8 sooner than at present."))
		Expect(previewOf(env.namespace, "{snapshotInterval: 6h, snapshotTTL: 10d, deletionPolicy: Delete}")).To(ContainSubstring(" as it is: every 6h, TTL 10d\n"))

		By("no longer selecting its namespace, and selecting another, in which a schedule of that name left snapshots")
		left := other.createSchedule(fleet.Name, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", DeletionPolicy: v1alpha1.DeletionOrphan})
		other.createSnapshots(left, other.createClaim("db-0"), 6*time.Hour, 8)
		Expect(api.Delete(ctx, left)).To(Succeed())
		moved := previewOf(other.namespace, edit)
		Expect(moved).To(ContainSubstring(env.namespace + "/" + fleet.Name + " would change: every 6h, TTL 10d\n"))
		Expect(moved).To(ContainSubstring("Warning: the schedule is suspended: no snapshots are taken, and retention continues"))
		Expect(moved).To(ContainSubstring(other.namespace + "/" + fleet.Name + " would be created: every 6h, TTL 1d\n"))
		Expect(moved).To(ContainSubstring("4 snapshots would be deleted at once, and would wait until"))
	})

	It("shows what becomes of a child that a ClusterSnapshotSchedule adopts, as after a restore", func() {
		for _, exists := range []bool{true, false} {
			env := newEnvironment()
			spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "10d", DeletionPolicy: v1alpha1.DeletionDelete}
			if exists {
				env.createFleet(spec)
			}
			child := env.createSchedule(env.namespace, spec)
			child.Labels = map[string]string{v1alpha1.LabelClusterSchedule: env.namespace, v1alpha1.LabelMapKey: env.namespace}
			put(child.CreationTimestamp.Time, child)
			env.createSnapshots(child, env.createClaim("db-0"), 6*time.Hour, 8)
			const edit = "{snapshotInterval: 6h, snapshotTTL: 1d, deletionPolicy: Delete}"
			r := env.runWith(clusterManifest(env.namespace, env.namespace, edit), "preview", "-f", "-")
			Expect(r.code).To(BeZero(), r.errOut)
			Expect(r.out).To(ContainSubstring(env.namespace+"/"+env.namespace+" would change: every 6h, TTL 10d\n"), "exists: %t", exists)
			Expect(r.out).To(ContainSubstring("8 within 30d; 8 sooner than at present."))
		}
	})

	It("compares a deletion with a spec whose delay the operator has not recorded yet", func() {
		env := newEnvironment()
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h", SnapshotTTL: "1d", Retention: v1alpha1.Retention{EditDelay: "1h"},
		})
		env.createSnapshots(s, env.createClaim("db-0"), 6*time.Hour, 8)
		deletes := env.preview("--delete", "nightly").Deletes
		Expect(deletes).To(HaveLen(8))
		Expect(deletes).To(HaveEach(HaveField("PresentTime", Not(BeNil()))))
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
			Expect(p.Waiting).To(HaveLen(map[bool]int{true: 1}[edits]))
			Expect(slices.DeleteFunc(p.Deletes, func(d deletion) bool { return !d.Now })).To(HaveLen(map[bool]int{false: 4}[edits]))
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
			{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", []string{"-f", "-"}, "no SnapshotSchedule and no ClusterSnapshotSchedule in [-]"},
			{clusterManifest(env.namespace, env.namespace, "{snapshotInterval: 6h, snapshotTTl: 10d}"), []string{"-f", "-"}, `unknown field "spec.template.spec.snapshotTTl"`},
			{clusterManifest(env.namespace, "no-such-namespace", "{snapshotInterval: 6h}"), []string{"-f", "-"}, "and none gets one"},
			{"", []string{"nightly"}, `"nightly" not found`},
			{"", nil, "there is no SnapshotSchedule in namespace " + env.namespace},
			{"", []string{"nightly", "--delete", "nightly"}, "specify exactly one of NAME, --filename and --delete"},
			{"", []string{"nightly", "--within", "soon"}, `duration "soon"`},
		} {
			r := env.runWith(test.input, append([]string{"preview"}, test.args...)...)
			Expect(r.code).To(Equal(2), r.out)
			Expect(r.errOut).To(ContainSubstring(test.want))
		}
	})
})
