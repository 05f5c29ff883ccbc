// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess is the fault campaign with the operator in process, which is to replace the one in
// the folder above: the same workloads and faults, judged while each write passes. Run it on the local
// cluster: go -C hack/cluster run . run --no-csi -- go -C "$PWD" test ./test/faults/inprocess -run 'TestFaults/crash/expiry'.
package inprocess
