// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// warnings are what the API server says beside its answers. It implements rest.WarningHandlerWithContext.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

// of returns the warnings about a request.
func (w *warnings) of(request func() error) []string {
	GinkgoHelper()
	w.mu.Lock()
	w.all = nil
	w.mu.Unlock()
	Expect(request()).To(Succeed(), "nothing is refused")
	return w.all
}

// retentionWarnings are the specs about what kubectl warns of.
func retentionWarnings() {
	const forever, short, unset = "keeps every snapshot forever", "shorter than three times snapshotInterval", "deletionPolicy is not set"
	heard := &warnings{}
	var warned client.Client
	newIn := func(labels map[string]string) string {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "warned-", Labels: labels}}
		Expect(api.Create(ctx, n)).To(Succeed())
		return n.Name
	}
	BeforeAll(func() {
		listening := rest.CopyConfig(config)
		listening.WarningHandlerWithContext = heard
		warned = suite.Must(client.New(listening, client.Options{Scheme: cluster.Scheme}))
		probe := newSchedule(newIn(nil))
		Eventually(func() []string {
			return heard.of(func() error { return warned.Create(ctx, probe.DeepCopy(), client.DryRunAll) })
		}).ShouldNot(BeEmpty())
	})

	spec := func(interval, ttl v1alpha1.Duration, changes ...func(*v1alpha1.SnapshotScheduleSpec)) v1alpha1.SnapshotScheduleSpec {
		s := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval, SnapshotTTL: ttl}
		for _, change := range changes {
			change(&s)
		}
		return s
	}
	daily := func(s *v1alpha1.SnapshotScheduleSpec) { s.Retention.Keep.Daily = 7 }
	capped := func(s *v1alpha1.SnapshotScheduleSpec) { s.Retention.MaxCount = new(int32(10)) }
	cron := func(s *v1alpha1.SnapshotScheduleSpec) { s.Schedule = "@daily" }
	kept := func(s *v1alpha1.SnapshotScheduleSpec) { s.DeletionPolicy = v1alpha1.DeletionOrphan }
	DescribeTable("of a schedule", func(s v1alpha1.SnapshotScheduleSpec, labels map[string]string, want ...string) {
		schedule := newSchedule(newIn(labels))
		schedule.Spec = s
		got := heard.of(func() error { return warned.Create(ctx, schedule) })
		Expect(got).To(HaveLen(len(want)), "%q", got)
		for _, text := range want {
			Expect(got).To(ContainElement(ContainSubstring(text)))
		}
		schedule.Annotations = map[string]string{"note": "ours"}
		Expect(heard.of(func() error { return warned.Update(ctx, schedule) })).To(BeEmpty(), "the spec is the same")
	},
		Entry("without any limit", spec("6h", ""), nil, forever),
		Entry("with tiers", spec("6h", "", daily), nil),
		Entry("with a cap", spec("6h", "", capped), nil),
		Entry("with a TTL of three intervals", spec("6h", "18h"), nil),
		Entry("with a TTL of three intervals, in other units", spec("1d12h", "4d12h"), nil),
		Entry("with a TTL that is a second shorter", spec("1d12h", "4d11h59m59s"), nil, short),
		Entry("with a TTL in years", spec("1w", "1y"), nil),
		Entry("with a short TTL and tiers", spec("6h", "10h", daily), nil),
		Entry("of a cron line with a TTL", spec("", "1h", cron), nil),
		Entry("in production", spec("6h", "7d"), map[string]string{"environment": "production"}, unset),
		Entry("in production, by another label", spec("6h", "7d"), map[string]string{"env": "prod"}, unset),
		Entry("in production, with a policy", spec("6h", "7d", kept), map[string]string{"environment": "production"}),
		Entry("in production, with all that is wrong", spec("6h", "7h"), map[string]string{"environment": "prod"}, short, unset),
		Entry("elsewhere", spec("6h", "7d"), map[string]string{"environment": "staging"}),
	)

	It("are of the template of a ClusterSnapshotSchedule, and not repeated for each namespace", func() {
		f := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{GenerateName: "gold-"}}
		f.Spec.Template.Spec = spec("6h", "7h", kept)
		Expect(heard.of(func() error { return warned.Create(ctx, f, client.DryRunAll) })).To(HaveExactElements(ContainSubstring(short)))
		child := newSchedule(newIn(nil))
		child.Spec = f.Spec.Template.Spec
		Expect(heard.of(func() error { return warned.Create(ctx, child.DeepCopy(), client.DryRunAll) })).To(HaveLen(1))
		child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(f, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
		child.Annotations = map[string]string{v1alpha1.AnnotationAllowDeletion: "true"} // else the guardrails refuse the reference
		Expect(heard.of(func() error { return warned.Create(ctx, child, client.DryRunAll) })).To(BeEmpty())
	})
}
