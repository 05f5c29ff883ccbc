// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe holds the tests of what watches the operator: the alerts in
// config/prometheus and the dashboard in config/grafana. They run in Prometheus'
// own rule and query engines, over metrics as the operator describes them.
//
// It is a module of its own, so that Prometheus and all it needs stay out of the
// product's go.mod.
//
//	go -C test/observe test -count=1 -v ./...
//
// With -v each alert that fires is shown: which, when, and its text. Without
// -count=1 Go may repeat what a test said of rules that have changed since: they
// are outside of this module.
//
//	rules_test.go      the rules as such: names, labels, annotations
//	alerts_test.go     the stories, and which alerts fire when
//	story_test.go      how stories are told and played
//	dashboard_test.go  the dashboard
//	metrics_test.go    what metrics and labels there are
package observe
