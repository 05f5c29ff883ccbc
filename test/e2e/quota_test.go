// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

var _ = Describe("the quota of SECURITY.md", func() {
	It("limits the schedules of a namespace", func(ctx context.Context) {
		page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
		Expect(err).NotTo(HaveOccurred())
		block := regexp.MustCompile("(?s)```yaml\n(apiVersion: v1\nkind: ResourceQuota\n.*?)```").FindSubmatch(page)
		Expect(block).NotTo(BeNil())
		quota := &corev1.ResourceQuota{}
		Expect(yaml.UnmarshalStrict(block[1], quota)).To(Succeed())
		quota.Namespace = cluster.Namespace(ctx, "tenant")
		Expect(cluster.Client.Create(ctx, quota)).To(Succeed())
		const schedules corev1.ResourceName = "count/snapshotschedules.snapshots.mapcontroller.dev"
		// The quota controller discovers a new CRD within half a minute, and then counts for a quota whose limits change.
		for pods := 100; ; pods++ {
			merge(ctx, quota, `{"spec":{"hard":{"pods":"%d"}}}`, pods)
			if _, counts := get(ctx, quota).Status.Used[schedules]; counts {
				break
			}
			nextSecond(ctx)
		}

		createSchedule := func(i int64) error {
			return cluster.Client.Create(ctx, builders.Schedule(quota.Namespace, fmt.Sprintf("schedule-%d", i), hourly))
		}
		limit := quota.Spec.Hard[schedules]
		Expect(limit.Value()).To(BeNumerically(">", 1))
		for i := range limit.Value() {
			Expect(createSchedule(i)).To(Succeed())
		}
		Expect(createSchedule(limit.Value())).To(MatchError(ContainSubstring("exceeded quota: " + quota.Name)))
	}, NodeTimeout(2*time.Minute))
})
