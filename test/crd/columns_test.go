// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

var _ = Describe("kubectl", func() {
	var server *discovery.DiscoveryClient
	BeforeEach(func() {
		server = suite.Must(discovery.NewDiscoveryClientForConfig(config))
	})

	// getTable returns what kubectl get prints.
	getTable := func() (table metav1.Table) {
		GinkgoHelper()
		body, err := server.RESTClient().Get().
			AbsPath("apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "namespaces", namespace, "snapshotschedules").
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
			Do(ctx).Raw()
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Unmarshal(body, &table)).To(Succeed())
		return table
	}
	// cellsOf returns the cells of one schedule by column.
	cellsOf := func(table metav1.Table, name string) map[string]any {
		GinkgoHelper()
		cells := map[string]any{}
		for _, row := range table.Rows {
			for i, column := range table.ColumnDefinitions {
				if row.Cells[0] == name {
					cells[column.Name] = row.Cells[i]
				}
			}
		}
		return cells
	}

	// Contract: STAT-10.
	It("shows the columns of a schedule", func() {
		created := create("interval", "{snapshotInterval: 6h, snapshotTTL: 10d, deletionPolicy: Orphan}")
		create("cron", `{schedule: "30 2 * * *", suspend: true}`)
		Expect(patchStatus(created, completeStatus())).To(Succeed())
		table := getTable()

		var columns, wide []string
		for _, column := range table.ColumnDefinitions {
			if column.Priority > 0 {
				wide = append(wide, column.Name)
				continue
			}
			columns = append(columns, column.Name)
		}
		Expect(columns).To(Equal([]string{
			"Name", "SCHEDULE", "TTL", "PVCS", "SNAPSHOTS", "READY", "PROTECTED", "RECOVERY POINT", "NEXT", "SUSPEND", "AGE",
		}))
		Expect(wide).To(Equal([]string{"REASON", "LAST", "DETACHED", "DELETION"}))

		interval := cellsOf(table, "interval")
		for _, ages := range []string{"RECOVERY POINT", "LAST"} {
			Expect(interval[ages]).To(MatchRegexp("^[0-9]"), "%s is an age, not <invalid>", ages)
			delete(interval, ages)
		}
		delete(interval, "AGE")
		Expect(interval).To(Equal(map[string]any{
			"Name": "interval", "SCHEDULE": "6h", "TTL": "10d", "PVCS": 20.0, "SNAPSHOTS": 12.0, "READY": "True", "PROTECTED": nil,
			"NEXT": "2126-01-02T03:04:05Z", "SUSPEND": false, "REASON": "Scheduled", "DETACHED": 5.0, "DELETION": "Orphan",
		}))

		cron := cellsOf(table, "cron")
		delete(cron, "AGE")
		Expect(cron).To(Equal(map[string]any{
			"Name": "cron", "SCHEDULE": "30 2 * * *", "TTL": nil, "PVCS": nil, "SNAPSHOTS": nil, "READY": nil, "PROTECTED": nil,
			"RECOVERY POINT": nil, "LAST": nil, "NEXT": nil, "SUSPEND": true, "REASON": nil, "DETACHED": nil, "DELETION": nil,
		}))
	})

	It("finds the kind by its plural, singular and short name, and by no category", func() {
		resources := suite.Must(server.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String()))
		named := func(name, singular, kind, short string, namespaced bool) []any {
			of := And(HaveField("Kind", kind), HaveField("Namespaced", namespaced))
			return []any{
				And(of, HaveField("Name", name), HaveField("SingularName", singular), HaveField("ShortNames", ConsistOf(short)),
					HaveField("Categories", BeEmpty())),
				And(of, HaveField("Name", name+"/status")),
			}
		}
		Expect(resources.APIResources).To(ConsistOf(append(
			named("snapshotschedules", "snapshotschedule", "SnapshotSchedule", "snapsched", true),
			named("clustersnapshotschedules", "clustersnapshotschedule", "ClusterSnapshotSchedule", "csnapsched", false)...)...))
	})
})
