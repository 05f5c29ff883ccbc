// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"
	"strings"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// problem is the driver's error as a problem of snapshots of a kind. earlierWords reads its message.
func (e *driverError) problem(noun string) Problem {
	return Problem{Reason: v1alpha1.ReasonSnapshotError, Message: fmt.Sprintf("%s %s: %s", noun, e.snapshot.name, e.text)}
}

// earlierWords returns the driver's error of a key that the status of a schedule lists, under
// whichever generation; nil if there is none.
func earlierWords(s *v1alpha1.SnapshotSchedule, k *keyStatus) *driverError {
	i := slices.IndexFunc(s.Status.Problems, func(p v1alpha1.Problem) bool { return k.has(p) && p.Reason == v1alpha1.ReasonSnapshotError })
	if i < 0 {
		return nil
	}
	p := s.Status.Problems[i]
	name, text, ok := strings.Cut(strings.TrimPrefix(p.Message, k.noun()+" "), ": ")
	if !ok {
		return nil
	}
	return &driverError{snapshot: position{name: name}, text: text, since: p.SinceTime.Time}
}

// carryWords keeps what the driver said in the previous pass, as far as it still holds.
func (k *keyStatus) carryWords(before *keyStatus, suspended bool) {
	if said := before.said; said != nil && said.error != nil {
		k.keepWords(said.error, suspended)
		if !before.reported { // an earlier process reported it
			p := said.error.problem(k.noun())
			p.Claim, p.Group = k.Claim, k.groupName()
			before.Problems = append(before.Problems, p)
		}
	}
	if k.said != nil && k.said.error == nil {
		k.said = nil
	}
}

// keepWords keeps what was said before: the first text about a snapshot, and what was said about
// one that is gone, so that the reason is not lost when the snapshot is deleted. It stays until a newer
// snapshot is ready, the PVC is skipped or not selected or, while suspended, no error is left.
func (k *keyStatus) keepWords(before *driverError, suspended bool) {
	if before == nil || k.said == nil {
		return
	}
	kept := *before
	switch found := k.said; {
	case found.error != nil && found.error.snapshot.name == before.snapshot.name:
		kept = *found.error
		kept.text = before.text
	case found.error != nil && !before.follows(found.error.snapshot),
		found.ready.name != "" && !before.follows(found.ready),
		suspended && !found.erring:
		return
	}
	k.said = &said{error: &kept} // the one before may be in use
	k.Problems = slices.DeleteFunc(k.Problems, func(p Problem) bool { return p.Reason == v1alpha1.ReasonSnapshotError })
	k.add(kept.problem(k.noun()))
}

// follows returns whether an error is of a newer snapshot than another one.
func (e *driverError) follows(other position) bool {
	switch {
	case other.name == e.snapshot.name:
		return false
	case e.snapshot.created.IsZero():
		// An error is known two minutes after its snapshot was created, which is after those before it
		// were. Clocks differ by less than half of that.
		return other.created.Before(e.since.Add(-errorPatience / 2))
	}
	return e.snapshot.compare(other) > 0
}
