// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newClusterSchedule(name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	object := newSchedule(name, spec)
	object.SetKind("ClusterSnapshotSchedule")
	object.SetNamespace("")
	if spec == "" {
		delete(object.Object, "spec")
	}
	return object
}

var _ = Describe("The schema of a ClusterSnapshotSchedule", func() {
	const (
		valid    = `{namespaceSelector: {}, template: {spec: {snapshotInterval: 6h, deletionPolicy: Delete}}}`
		metadata = `{namespaceSelector: {}, template: {metadata: %s, spec: {snapshotInterval: 6h, deletionPolicy: Delete}}}`
		keys     = "spec.template.metadata."
	)
	with := func(content string) string { return strings.Replace(metadata, "%s", content, 1) }
	many := "a: x"
	for i := range 32 {
		many += ", b" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ": x"
	}
	cases := map[string]rejected{
		"no spec":              {want: []cause{{"spec", required}}},
		"no namespaceSelector": {spec: "{template: {spec: {snapshotInterval: 6h, deletionPolicy: Delete}}}", want: []cause{{"spec.namespaceSelector", required}}},
		"no template":          {spec: "{namespaceSelector: {}}", want: []cause{{"spec.template", required}}},
		"no spec in the template": {spec: "{namespaceSelector: {}, template: {}}", want: []cause{
			{"spec.template.spec", required}}},
		"no deletionPolicy in the template": {spec: "{namespaceSelector: {}, template: {spec: {snapshotInterval: 6h}}}", want: []cause{
			{"spec.template.spec.deletionPolicy", "one of Delete and Orphan"}}},
		"a template that is no valid SnapshotSchedule": {
			spec: "{namespaceSelector: {}, template: {spec: {deletionPolicy: Delete}}}", want: []cause{{"spec.template.spec", oneOfIntervalAndSchedule}}},
		"a label of snapscheduler in the template of snapshots": {
			spec: "{namespaceSelector: {}, template: {spec: {snapshotInterval: 6h, deletionPolicy: Delete, " +
				"snapshotTemplate: {metadata: {labels: {snapscheduler.backube/when: x}}}}}}",
			want: []cause{{"spec.template.spec.snapshotTemplate.metadata.labels", peerLabel}}},
		"a long name":                {scheduleName: strings.Repeat("n", 64), spec: valid, want: []cause{{"<nil>", "such as gold"}}},
		"a reserved label":           {spec: with(`{labels: {snapshots.mapcontroller.dev/map-key: x}}`), want: []cause{{keys + "labels", ownLabelPrefix}}},
		"a label of a GitOps tool":   {spec: with(`{labels: {app.kubernetes.io/instance: x}}`), want: []cause{{keys + "labels", "claim the SnapshotSchedules"}}},
		"a malformed label key":      {spec: with(`{labels: {"-": x}}`), want: []cause{{keys + "labels", labelKey}}},
		"a malformed label":          {spec: with(`{labels: {a: "-"}}`), want: []cause{{keys + "labels[a]", labelValue}}},
		"a label of many bytes":      {spec: with(`{labels: {a: "` + strings.Repeat("x", 257) + `"}}`), want: []cause{{keys + "labels.a", tooManyBytes(256)}}},
		"many labels":                {spec: with("{labels: {" + many + "}}"), want: []cause{{keys + "labels", tooManyItems(32)}}},
		"a reserved annotation":      {spec: with(`{annotations: {snapshots.mapcontroller.dev/hold: x}}`), want: []cause{{keys + "annotations", ownAnnotationPrefix}}},
		"an annotation of a tool":    {spec: with(`{annotations: {argocd.argoproj.io/tracking-id: x}}`), want: []cause{{keys + "annotations", "claim the SnapshotSchedules"}}},
		"a malformed annotation key": {spec: with(`{annotations: {"-": x}}`), want: []cause{{keys + "annotations", annotationKey}}},
		"a long annotation":          {spec: with(`{annotations: {a: "` + strings.Repeat("x", 1025) + `"}}`), want: []cause{{keys + "annotations", annotationValue}}},
		"many annotations":           {spec: with("{annotations: {" + many + "}}"), want: []cause{{keys + "annotations", tooManyItems(32)}}},
	}
	send := func(r rejected) error {
		name := r.scheduleName
		if name == "" {
			name = "gold"
		}
		return dryRun(newClusterSchedule(name, r.spec))
	}

	// Contract: FLEET-7.
	DescribeTable("rejects an invalid spec, names the field and shows a valid value", func(r rejected) {
		var want []any
		for _, c := range r.want {
			want = append(want, And(HaveField("Field", c.Field), HaveField("Message", ContainSubstring(c.Message))))
		}
		Expect(causesOf(send(r))).To(ConsistOf(want...))
	}, entries(cases))

	It("accepts a valid spec, and a name of 63 characters", func() {
		Expect(dryRun(newClusterSchedule(strings.Repeat("n", 63), valid))).To(Succeed())
	})

	// Contract: FLEET-7.
	It("has the rules and defaults of a SnapshotSchedule for its template, and those of a selector for its own", func() {
		ours, theirs := readSchema("clustersnapshotschedules").Properties["spec"], readSchema("snapshotschedules").Properties["spec"]
		template, selector := ours.Properties["template"].Properties["spec"], ours.Properties["namespaceSelector"]
		wanted := theirs.Properties["selector"]
		template.Description, selector.Description, theirs.Description, wanted.Description = "", "", "", ""
		Expect(template).To(Equal(theirs))
		Expect(selector).To(Equal(wanted))
	})

	It("has no rule without a case that violates it, and no message that shows no valid value", func() {
		object := newClusterSchedule("coverage", valid)
		Expect(api.Create(ctx, object)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, object)).To(Succeed()) })
		var causes []cause
		for _, r := range cases {
			causes = append(causes, causesOf(send(r))...)
		}
		for _, status := range []string{
			`{inputs: {}, detached: {}, persistentVolumeClaims: {}, volumeSnapshots: {}, outputs: {snapshotschedules: {}}}`,
			`{inputs: {namespaces: {}}, moreProblems: -1, problems: [{}]}`,
			`{problems: [{namespace: "", reason: "", sinceTime: "2026-01-01T00:00:00Z"}]}`,
			`{problems: [` + strings.Repeat(`{namespace: a, reason: b, sinceTime: "2026-01-01T00:00:00Z"},`, 11) + `]}`,
			fmt.Sprintf(`{problems: [{namespace: %[1]s, reason: %[1]s, message: %[1]s, sinceTime: "2026-01-01T00:00:00Z"}], oldestRecoveryPointNamespace: %[1]s}`,
				strings.Repeat("n", 1025)),
			`{conditions: [` + conditions(9) + `]}`,
		} {
			changed := &unstructured.Unstructured{Object: map[string]any{"status": parseYAML(status)}}
			changed.SetGroupVersionKind(object.GroupVersionKind())
			changed.SetName(object.GetName())
			changed.SetResourceVersion(object.GetResourceVersion())
			causes = append(causes, statusCausesOf(api.Status().Patch(ctx, changed, client.Merge))...)
		}
		own := slices.DeleteFunc(schemaRules("", readSchema("clustersnapshotschedules")), func(r rule) bool {
			inner := strings.HasPrefix(r.path, "spec.template.spec.") && !strings.HasSuffix(r.path, ".deletionPolicy")
			return inner || strings.HasPrefix(r.path, "spec.namespaceSelector.") || r.message == policies ||
				r.path == "spec.template.spec" && r.cel && !strings.Contains(r.message, "is required")
		})
		Expect(len(own)).To(BeNumerically(">=", 30))
		for _, r := range own {
			Expect(slices.ContainsFunc(causes, r.violatedBy)).To(BeTrue(), "no case violates the rule of %s: %s", r.path, r.message)
			if r.cel {
				Expect(r.message).To(MatchRegexp("such as|for example|one of"), r.path)
			}
		}
	})
})
