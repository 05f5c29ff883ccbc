// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport holds what the operator adds to its clients and to their HTTP transport.
//
//	pages.go  bounds the bytes of a page, however large the objects are
//	clock.go  reads the API server's clock from its responses
//	client.go creates objects without decoding the responses
package transport
