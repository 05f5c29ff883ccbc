// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Behavior is how the local cluster's driver treats an account, which is all PVCs of the namespaces whose names begin with its
// name. The zero value is the driver's default. hack/cluster/README.md describes the fields. Durations are Go's, such as "3s".
type Behavior struct {
	Upload, ClockSkew, Delay string    `json:",omitempty"`
	Refusals                 []Refusal `json:",omitempty"`
	// LeaveOut is how many of its volumes a group snapshot does not have, without an error.
	LeaveOut int `json:",omitempty"`
	// The rest is for volumes with data.
	CutLate, GroupGap          string `json:",omitempty"`
	WrongBytes, LoseWithVolume bool   `json:",omitempty"`
	Clones                     string `json:",omitempty"`
}

// Refusal is an error of one CSI call. The fields after Message restrict it.
type Refusal struct {
	Call, Code, Message       string
	Snapshots, Pending, Times int    `json:",omitempty"`
	Spacing                   string `json:",omitempty"`
}

// Account is what the driver has seen of an account since the cluster started. Pending snapshots are cut and not ready.
type Account struct{ Snapshots, Pending, MostPending, Refusals int }

// Volume is what the driver has seen of one PVC.
type Volume struct{ Snapshots, MostSnapshots int }

// Storage is what the driver holds: accounts by name, volumes by namespace/name of the PVC.
type Storage struct {
	Accounts map[string]Account
	Volumes  map[string]Volume
	// Groups are the group snapshots, by ID.
	Groups map[string]struct{ Members []string }
}

// SetBehavior makes the driver treat an account differently from its next call on.
func (s State) SetBehavior(account string, b Behavior) error {
	path := filepath.Join(s.Dir, "data", "storage.json")
	all := map[string]Behavior{}
	if err := readJSON(path, &all); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all[account] = b
	text, err := json.MarshalIndent(all, "", "  ")
	return errors.Join(err, os.WriteFile(path+".tmp", text, 0o600), os.Rename(path+".tmp", path))
}

// Storage returns what the driver holds.
func (s State) Storage() (Storage, error) {
	var found Storage
	return found, readJSON(filepath.Join(s.Dir, "data", "storage-state.json"), &found)
}
