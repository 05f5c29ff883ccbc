// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// conditionsDir has, by kind, a schedule or a fleet of every condition and reason, as the API server returns it. test/observe/gitops runs health
// checks on them. UPDATE_CONDITIONS=1 writes them.
const conditionsDir = "../../config/gitops/argo-cd/resource_customizations/snapshots.mapcontroller.dev"

// What differs between two runs, and what stands for it in the files.
var (
	times         = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	snapshotNames = regexp.MustCompile(`-\d{14}-[0-9a-z]+`)
)

// stored returns what health checks read of a schedule or a fleet as YAML, without what differs between two runs.
func (env *environment) stored(o client.Object) string {
	GinkgoHelper()
	gvk, err := apiutil.GVKForObject(o, scheme)
	Expect(err).NotTo(HaveOccurred())
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	Expect(api.Get(ctx, client.ObjectKeyFromObject(o), object)).To(Succeed())
	object.Object["metadata"] = map[string]any{"name": "backup", "generation": object.GetGeneration()}
	maps.DeleteFunc(object.Object["status"].(map[string]any), func(field string, _ any) bool {
		return field != "observedGeneration" && field != "conditions" && field != "outputs" && field != "volumeSnapshots"
	})
	delete(object.Object, "spec")
	// Their order is that in which they were first known.
	if conditions, found, _ := unstructured.NestedSlice(object.Object, "status", "conditions"); found {
		slices.SortFunc(conditions, func(a, b any) int {
			return strings.Compare(a.(map[string]any)["type"].(string), b.(map[string]any)["type"].(string))
		})
		Expect(unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions")).To(Succeed())
	}
	text, err := yaml.Marshal(object.Object)
	Expect(err).NotTo(HaveOccurred())
	same := strings.ReplaceAll(string(text), o.GetName(), "backup")
	same = strings.ReplaceAll(same, env.namespace, "shop")
	same = times.ReplaceAllString(same, "2026-01-02T03:04:05Z")
	return snapshotNames.ReplaceAllString(same, "-20260102030405-hash")
}

// isAsFiled expects that a schedule or a fleet becomes as its file says.
func (env *environment) isAsFiled(o client.Object, name string) {
	GinkgoHelper()
	gvk, err := api.GroupVersionKindFor(o)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(conditionsDir, gvk.Kind, "testdata", name+".yaml")
	if os.Getenv("UPDATE_CONDITIONS") != "" {
		Expect(os.WriteFile(file, []byte(settled(func() string { return env.stored(o) })), 0o644)).To(Succeed())
	}
	want, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() string { return env.stored(o) }).Should(MatchYAML(want), "UPDATE_CONDITIONS=1 writes "+file)
}

var _ = Describe("The conditions of a schedule", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// oneSnapshot returns a schedule with a PVC that has a ready snapshot.
	oneSnapshot := func() (*schedule, *operator) {
		GinkgoHelper()
		s := env.createSchedule("backup")
		o := env.startOperator()
		env.createClaim("data")
		makeReady(env.waitForSnapshot("data"))
		Eventually(protected(s)).Should(Equal("True RecoveryPointsCurrent")) // the last to be known: specs stop the operator then
		return s, o
	}
	// expired returns a schedule with two snapshots, of which one expires when a clock is half an hour ahead.
	expired := func(changes ...func(*spec)) *schedule {
		GinkgoHelper()
		s := env.createSchedule("backup", append([]func(*spec){ttl("10m")}, changes...)...)
		c := env.createClaim("data")
		env.createSnapshot(s, c, 3*time.Hour)
		env.createSnapshot(s, c, 2*time.Hour)
		return s
	}

	// Contract: STAT-8.
	It("do not change when a GitOps tool applies the same manifest again, and nothing else does", func() {
		apply := func() *unstructured.Unstructured {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"snapshotInterval": "1h"}}}
			object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))
			object.SetNamespace(env.namespace)
			object.SetName("backup")
			Expect(api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("gitops"), client.ForceOwnership)).To(Succeed())
			return object
		}
		apply()
		env.startOperator()
		s := &schedule{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "backup"}}
		env.createClaim("data")
		makeReady(env.waitForSnapshot("data"))
		Eventually(protected(s)).Should(Equal("True RecoveryPointsCurrent"))
		before := settled(func() string { return get(s.DeepCopy()).ResourceVersion })
		Expect(apply().GetResourceVersion()).To(Equal(before))
	})

	// Contract: EDIT-1, EDIT-5, GUARD-7, PROT-2, PROT-3, STAT-4, STAT-5, STAT-6, STAT-9, STAT-11, STAT-12.
	DescribeTable("are those that the health checks of GitOps tools are tested with",
		func(name string, scenario func() *schedule) { env.isAsFiled(scenario(), name) },
		Entry("new", "new", func() *schedule { return env.createSchedule("backup") }),
		Entry("reconciling", "reconciling", func() *schedule {
			s := env.createSchedule("backup")
			env.startOperator(failing(http.StatusServiceUnavailable, to(http.MethodGet, "/volumesnapshots$")))
			Eventually(readyCondition(s)).Should(Equal("Unknown Reconciling"))
			return s
		}),
		Entry("no-matching-claims", "no-matching-claims", func() *schedule {
			s := env.createSchedule("backup")
			env.startOperator()
			Eventually(readyCondition(s)).Should(Equal("True NoMatchingClaims"))
			return s
		}),
		Entry("scheduled", "scheduled", func() *schedule {
			s, _ := oneSnapshot()
			Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
			return s
		}),
		Entry("recovery-points-old", "recovery-points-old", func() *schedule {
			s := env.createSchedule("backup", suspended)
			env.createClaim("data")
			env.startOperator(clocksAhead(4 * time.Hour))
			Eventually(protected(s)).Should(Equal("False RecoveryPointsOld"))
			return s
		}),
		Entry("first-snapshots-made", "first-snapshots-made", func() *schedule {
			s := env.createSchedule("backup")
			env.createClaim("data")
			env.startOperator()
			env.waitForSnapshot("data")
			Eventually(protected(s)).Should(Equal("Unknown FirstSnapshotsPending"))
			return s
		}),
		Entry("first-slot-not-due", "first-slot-not-due", func() *schedule {
			s := env.createSchedule("backup", func(s *spec) { s.SnapshotInterval, s.Schedule = "", "0 0 29 2 *" })
			env.createClaim("data")
			env.startOperator()
			Eventually(protected(s)).Should(Equal("Unknown FirstSnapshotsPending"))
			return s
		}),
		Entry("suspended", "suspended", func() *schedule {
			s := env.createSchedule("backup", suspended)
			env.startOperator()
			Eventually(readyCondition(s)).Should(Equal("True Suspended"))
			return s
		}),
		Entry("edited-and-not-observed", "edited-and-not-observed", func() *schedule {
			s, o := oneSnapshot()
			o.stop()
			mergePatch(s, `{"spec":{"snapshotTTL":"10d"}}`)
			return s
		}),
		Entry("invalid-spec", "invalid-spec", func() *schedule {
			s, _ := oneSnapshot()
			mergePatch(s, `{"spec":{"jitter":"1h"}}`)
			Eventually(condition(s, v1alpha1.ConditionStalled)).Should(Equal("True InvalidSpec"))
			Eventually(env.conditionEvents).Should(ContainElement(HavePrefix("Warning InvalidSpec SnapshotSchedule/backup: Ready is False: ")))
			return s
		}),
		Entry("snapshots-failing", "snapshots-failing", func() *schedule {
			denyCreates(env, "")
			s := env.createSchedule("backup")
			env.createClaim("data")
			env.startOperator()
			Eventually(readyCondition(s)).Should(Equal("False SnapshotsFailing"))
			return s
		}),
		Entry("retention-failing", "retention-failing", func() *schedule {
			s := expired(suspended)
			env.startOperator(clocksAhead(4*time.Hour), failing(http.StatusInternalServerError, to(http.MethodDelete, "/volumesnapshots/")))
			Eventually(readyCondition(s)).Should(Equal("False RetentionFailing"))
			return s
		}),
		Entry("snapshot-api-missing", "snapshot-api-missing", func() *schedule {
			s, o := oneSnapshot()
			Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
			o.stop()
			env.startOperator(failing(http.StatusNotFound, snapshotAPI))
			Eventually(readyCondition(s)).Should(Equal("False SnapshotAPIMissing"))
			return s
		}),
		Entry("clock-skew", "clock-skew", func() *schedule {
			s := expired()
			env.startOperator(localClockAhead(30 * time.Minute))
			Eventually(retentionPaused(s)).Should(Equal("True ClockSkew"))
			return s
		}),
		Entry("spec-changed", "spec-changed", func() *schedule {
			s := expired(ttl("30d"), editDelay("1h"))
			env.startOperator(clocksAhead(30 * time.Minute))
			Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
			mergePatch(s, `{"spec":{"snapshotTTL":"10m"}}`)
			Eventually(retentionPaused(s)).Should(Equal("True SpecChanged"))
			return s
		}),
		Entry("not-snapshottable", "not-snapshottable", func() *schedule {
			env.createClass("fast", "block", true)
			env.createClaimOf("data", env.driver("nfs"))
			s := env.createSchedule("backup")
			env.startOperator()
			Eventually(protected(s)).Should(Equal("False NotSnapshottable"))
			return s
		}),
		Entry("spec-differs", "spec-differs", func() *schedule {
			deleteAllSchedules()
			f := newFleet(everyHour)
			env = f.newNamespace()
			o := startFleetOperator(failing(http.StatusServiceUnavailable, to(http.MethodPatch, "/snapshotschedules/"+f.Name+"$")))
			s := f.waitForChild(env)
			Eventually(func() *v1alpha1.RetentionRecord { return get(s).Status.Retention }).Should(HaveValue(HaveField("ClusterSchedule", Not(BeEmpty()))))
			mergePatch(s, `{"spec":{"snapshotTTL":"1s"}}`)
			Eventually(func() []v1alpha1.Problem { return get(s).Status.Problems }).Should(ContainElement(
				HaveField("Reason", v1alpha1.ReasonSpecDiffers)))
			o.advanceClocks(2 * time.Minute)
			env.createClaim("data") // the status is written then
			Eventually(readyCondition(s)).Should(Equal("False SpecDiffers"))
			return s
		}),
		Entry("snapshots-adopted", "snapshots-adopted", func() *schedule {
			before := expired()
			env.deleteOrphaning(before)
			s := env.createSchedule("backup", ttl("10m"))
			env.startOperator(clocksAhead(30 * time.Minute))
			Eventually(retentionPaused(s)).Should(Equal("True SnapshotsAdopted"))
			return s
		}),
	)
})
