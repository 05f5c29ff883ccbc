// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

var _ = Describe("A schedule with a group snapshot that a new operator cannot list", Ordered, func() {
	var env *environment
	var s *schedule
	BeforeAll(func() { suite.InstallGroupCRDs(config) })
	AfterAll(uninstallGroupCRDs)
	BeforeEach(func() {
		deleteAllSchedules()
		env = newEnvironment()
		s = env.createSchedule("db", func(s *spec) {
			s.Selector.MatchLabels, s.Group = map[string]v1alpha1.LabelValue{"app": "db"}, &v1alpha1.Group{}
		})
		for _, name := range []string{"data", "log"} {
			env.createClaim(name, "app", "db")
		}
		o := env.startOperator()
		driveFirstGroup(env)
		Eventually(func() *v1alpha1.OutputCount { return status(s).Outputs.VolumeGroupSnapshots }).
			Should(HaveValue(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1})))
		Eventually(protected(s)).Should(HavePrefix("True"))
		o.stop()
	})
	with := func(code int) option {
		return failing(code, func(r request) bool { return strings.Contains(r.path, "/volumegroupsnapshots") })
	}

	// Guardrails go by what it says.
	//
	// Contract: STAT-12, GRP-12.
	DescribeTable("says of it what was known before", func(code int, more ...option) {
		env.startOperator(append(more, with(code))...)
		Eventually(problems(s)).Should(ContainElement(HaveField("Reason", v1alpha1.ReasonGroupSnapshotAPIMissing)))
		mergePatch(s, `{"spec":{"snapshotTTL":"9d"}}`)
		Consistently(func(g Gomega) {
			now := status(s)
			g.Expect(now.Outputs.VolumeGroupSnapshots).To(HaveValue(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1})))
			g.Expect(now.ObservedGeneration).To(BeNumerically("<", s.Generation))
			g.Expect(meta.IsStatusConditionTrue(now.Conditions, v1alpha1.ConditionProtected)).To(BeTrue())
		}, "2s").Should(Succeed())
	},
		Entry("under a role of before group snapshots", http.StatusForbidden, option(forbidden)),
		Entry("while the API server fails", http.StatusInternalServerError),
	)

	// Contract: OWN-8.
	It("is not said to own by labels while its reference is there", func() {
		mergePatch(s, `{"spec":{"deletionPolicy":"Orphan","group":null}}`)
		env.startOperator(with(http.StatusForbidden), forbidden)
		Consistently(func() bool {
			all := groups(env)
			refers := len(all) == 1 && metav1.IsControlledBy(&all[0], s)
			return refers && get(s).Status.ObservedGeneration == s.Generation && len(s.Finalizers) == 0
		}, 5*time.Second).Should(BeFalse())
	})
})
