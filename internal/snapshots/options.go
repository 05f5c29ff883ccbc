// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/transport"
)

// Options are the settings of the controller.
type Options = mapcontroller.Options

// Stores are what a manager's cache holds: CacheOptions and Options must be given
// the same.
type Stores = informer.Stores

// Unwritten has the SnapshotSchedules whose status is outdated.
type Unwritten = mapcontroller.Unwritten

// NewStores returns the stores of one manager.
func NewStores() *Stores { return informer.NewStores() }

// NewClient returns the client of a manager: the API server's answers to creates are not decoded, because nothing reads them.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	return transport.NewClient(config, options)
}

// DefaultMaxClockSkew is the default of Options.MaxClockSkew. Without the operator's flags, decisions are made with it.
const DefaultMaxClockSkew = mapcontroller.DefaultMaxClockSkew

// Name is the controller's name, in logs, metrics, events and managed fields.
const Name = "snapshotschedule"
