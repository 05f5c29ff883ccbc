// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// table is what kubectl get asks for and prints.
func table(t *testing.T) metav1.Table {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	body, err := client.RESTClient().Get().
		AbsPath("apis", scheduleKind.Group, scheduleKind.Version, "namespaces", namespace, "snapshotschedules").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var got metav1.Table
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// row is the cells of one schedule, by column.
func row(t *testing.T, table metav1.Table, name string) map[string]any {
	t.Helper()
	for _, r := range table.Rows {
		if r.Cells[0] == name {
			cells := map[string]any{}
			for i, column := range table.ColumnDefinitions {
				cells[column.Name] = r.Cells[i]
			}
			return cells
		}
	}
	t.Fatalf("no row for %s", name)
	return nil
}

// Contract: STAT-10.
func TestColumns(t *testing.T) {
	created := create(t, "interval", "{snapshotInterval: 6h, snapshotTTL: 10d}")
	create(t, "cron", `{schedule: "30 2 * * *", suspend: true}`)
	if err := patchStatus(t.Context(), created, parse(t, aStatus)); err != nil {
		t.Fatal(err)
	}
	got := table(t)

	var columns []string
	for _, column := range got.ColumnDefinitions {
		columns = append(columns, column.Name)
		if column.Priority != 0 {
			t.Errorf("column %s is shown with -o wide only", column.Name)
		}
	}
	want := []string{"Name", "SCHEDULE", "TTL", "PVCS", "SNAPSHOTS", "READY", "LAST", "NEXT", "SUSPEND", "AGE"}
	if !slices.Equal(columns, want) {
		t.Errorf("columns are %v, want %v", columns, want)
	}

	interval := row(t, got, "interval")
	// How long ago varies; that it is an age, and not "<invalid>", doesn't.
	last, _ := interval["LAST"].(string)
	if len(last) == 0 || last[0] < '0' || last[0] > '9' {
		t.Errorf("LAST is %q, want an age", last)
	}
	delete(interval, "LAST")
	delete(interval, "AGE")
	wantInterval := map[string]any{
		"Name": "interval", "SCHEDULE": "6h", "TTL": "10d", "PVCS": 20.0, "SNAPSHOTS": 100.0, "READY": "True",
		"NEXT": "2126-01-02T03:04:05Z", "SUSPEND": false,
	}
	if !reflect.DeepEqual(interval, wantInterval) {
		t.Errorf("got  %v\nwant %v", interval, wantInterval)
	}

	cron := row(t, got, "cron")
	delete(cron, "AGE")
	wantCron := map[string]any{
		"Name": "cron", "SCHEDULE": "30 2 * * *", "TTL": nil, "PVCS": nil, "SNAPSHOTS": nil, "READY": nil,
		"LAST": nil, "NEXT": nil, "SUSPEND": true,
	}
	if !reflect.DeepEqual(cron, wantCron) {
		t.Errorf("got  %v\nwant %v", cron, wantCron)
	}
}

func TestNames(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := client.ServerResourcesForGroupVersion(scheduleKind.GroupVersion().String())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, resource := range resources.APIResources {
		names = append(names, resource.Name)
		if !resource.Namespaced || resource.Kind != scheduleKind.Kind {
			t.Errorf("%s is a %s, namespaced: %t", resource.Name, resource.Kind, resource.Namespaced)
		}
		if resource.Name != "snapshotschedules" {
			continue
		}
		if resource.SingularName != "snapshotschedule" || !slices.Equal(resource.ShortNames, []string{"snapsched"}) {
			t.Errorf("its other names are %s and %v", resource.SingularName, resource.ShortNames)
		}
	}
	slices.Sort(names)
	if want := []string{"snapshotschedules", "snapshotschedules/status"}; !slices.Equal(names, want) {
		t.Errorf("the group has %v, want %v", names, want)
	}
}
