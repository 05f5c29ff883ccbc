// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("an operator that is confined to listed namespaces", func() {
	// The namespace of config/namespaced.
	const home = "snapshotschedule"

	It("works there with Roles only, from a namespace of its own, and makes no request elsewhere", func(ctx context.Context) {
		create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}})
		for _, o := range decode(kustomize(ctx, "config/namespaced")) {
			Expect(o.GetNamespace()).To(Equal(home), "%s %s is not confined", o.GetKind(), o.GetName())
			if o.GetKind() != "Deployment" {
				cluster.Apply(ctx, o)
			}
		}
		watched, elsewhere := cluster.Namespace(ctx, "watched"), cluster.Namespace(ctx, "elsewhere")
		kubectl("apply", "--server-side", "-n", watched, "-k", filepath.Join(root, "config", "namespaced", "watched"))
		for _, in := range []string{watched, elsewhere} {
			cluster.BoundClaims(ctx, in, 2)
			cluster.Schedule(ctx, in, orphaning)
		}

		confined := cluster.WithOperatorIn(home)
		start := confined.Mark()
		operator := confined.StartElected(ctx, "--watch-namespaces="+watched)
		snapshots := eventuallySnapshots(ctx, watched, 2)

		By("a user removing the map key of a snapshot and deleting the schedule")
		merge(ctx, &snapshots[0], `{"metadata":{"labels":{%q:null}}}`, v1alpha1.LabelMapKey)
		kubectl("delete", "snapsched", "nightly", "-n", watched)
		Eventually(owners(ctx, watched)).WithContext(ctx).Should(HaveExactElements(BeEmpty(), BeEmpty()), "the snapshots should stay")

		Expect(operator.Alive()).To(BeTrue())
		Expect(cluster.Snapshots(ctx, elsewhere)).To(BeEmpty())
		Eventually(func() audit.Requests { return confined.Since(start).Of("leases", "update") }).WithContext(ctx).ShouldNot(BeEmpty())
		requests := confined.Since(start)
		Expect(requests.Forbidden()).To(BeEmpty())
		Expect(requests.Of("volumesnapshots", "create")).NotTo(BeEmpty())
		Expect(requests.Where(func(r audit.Request) bool {
			elected := r.Namespace == home && (r.Resource == "leases" || r.Resource == "events")
			return r.Resource != "" && r.Namespace != watched && !elected
		})).To(BeEmpty())
	})

	It("is not ready while it must not list one of its namespaces", func(ctx context.Context) {
		mine, foreign := cluster.Namespace(ctx, "mine"), cluster.Namespace(ctx, "foreign")
		account(ctx, mine)
		bindManager(ctx, mine, mine)
		confined := cluster.WithOperatorIn(mine)
		operator := confined.Launch(ctx, "--watch-namespaces="+mine+","+foreign)
		operator.WaitFor(ctx, "healthz")
		Eventually(func() audit.Requests { return confined.Since(0).In(foreign).Forbidden() }).WithContext(ctx).ShouldNot(BeEmpty())
		Expect(operator.Probe("readyz")).To(Equal(http.StatusInternalServerError))

		By("being permitted to")
		bindManager(ctx, foreign, mine)
		operator.WaitFor(ctx, "readyz")
	})
})
