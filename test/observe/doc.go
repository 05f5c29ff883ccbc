// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe tests the alerts in config/prometheus and the dashboard in config/grafana. It evaluates them with Prometheus' own
// rule and query engines, on the metrics that the operator describes.
//
// It is a separate module, so that Prometheus, Flux and their dependencies stay out of the product's go.mod.
//
//	go -C test/observe test -count=1 -v ./...
//
// With -v, each alert that fires is shown. -count=1 is necessary because the rules are outside of this module: Go would repeat a
// cached result after they changed.
//
//	rules_test.go      names, labels and annotations of the rules
//	alerts_test.go     scenarios, and the alerts that fire in them
//	scenario_test.go   evaluates a scenario
//	dashboard_test.go  the dashboard
//	metrics_test.go    the known metrics and labels
//	gitops             the health checks for Argo CD and Flux, in their own engines
//	flux               the sample repository, reconciled with Flux's libraries
//
// docs/alert.png is the page /alerts of Prometheus 3.13.5 with these rules, and docs/argo-cd.png a schedule in Argo CD 3.5.7 with
// config/gitops/argo-cd, both of an operator on hack/cluster. For the alert, the driver refused CreateSnapshot (storage.json) until it
// fired, 25 minutes later; the schedule in Argo CD names a VolumeSnapshotClass that does not exist.
package observe
