// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Unwritten holds the parents whose status could not be written for some time: what the
// API server has of it is outdated. Whoever may edit a parent can cause that, by making it
// so large that no write fits, so those who read its status must know of it from elsewhere.
// A nil one is empty.
type Unwritten struct {
	parents sync.Map
	changed func(types.NamespacedName)
}

// OnChange has a function called with a parent that begins or ends to be in u. It must be
// called before the first Set.
func (u *Unwritten) OnChange(changed func(parent types.NamespacedName)) {
	if u != nil {
		u.changed = changed
	}
}

// Has returns whether a parent's status is outdated.
func (u *Unwritten) Has(parent types.NamespacedName) (outdated bool) {
	if u != nil {
		_, outdated = u.parents.Load(parent)
	}
	return outdated
}

// Set sets whether a parent's status is outdated.
func (u *Unwritten) Set(parent types.NamespacedName, outdated bool) {
	if u == nil {
		return
	}
	var was bool
	if outdated {
		_, was = u.parents.LoadOrStore(parent, true)
	} else {
		_, was = u.parents.LoadAndDelete(parent)
	}
	if was != outdated && u.changed != nil {
		u.changed(parent)
	}
}
