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
		r := fails(manifest("nightly", "{snapshotInterval: 6h, snapshotTTL: 1d}"), "-f", "-", "--driver-limit", "3")
		Expect(r.code).To(Equal(1), r.errOut)
		Expect(r.out).To(ContainSubstring("from  every 6h, TTL 10d\n  to    every 6h, TTL 1d\n"))
		Expect(r.out).To(ContainSubstring(all[7].Name))
		Expect(r.out).To(ContainSubstring("Of 8 existing snapshots, 4 would be deleted now and 8 within 30d; 8 sooner than at present."))
		Expect(r.out).To(ContainSubstring("Warning: the steady state exceeds the driver's limit of 3 snapshots per volume"))

		r = fails(manifest("nightly", "{snapshotInterval: 6h, snapshotTTL: 20d}"), "-f", "-")
		Expect(r.code).To(BeZero(), r.errOut)
		Expect(r.out).To(ContainSubstring("none sooner than at present."))

		Expect(fails("", "nightly", "--within", "1d").code).To(BeZero())
		Expect(fails("", "nightly", "--within", "9d").code).To(Equal(1))
		Expect(fails("", "--delete", "nightly").code).To(Equal(1))
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
			{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", []string{"-f", "-"}, "no SnapshotSchedule in [-]"},
			{"", []string{"nightly"}, `"nightly" not found`},
			{"", nil, "give exactly one of NAME, --filename and --delete"},
			{"", []string{"nightly", "--delete", "nightly"}, "give exactly one of NAME, --filename and --delete"},
			{"", []string{"nightly", "--within", "soon"}, `--within: duration "soon"`},
		} {
			r := env.runWith(test.input, append([]string{"preview"}, test.args...)...)
			Expect(r.code).To(Equal(2), r.out)
			Expect(r.errOut).To(ContainSubstring(test.want))
		}
	})
})
