// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

// Audit is the part of the API server's audit log with the operator's requests.
type Audit struct{ log audit.Log }

// Mark returns the end of the log.
func (a Audit) Mark() audit.Mark {
	mark, err := a.log.Mark()
	must(err, "the audit log")
	return mark
}

// Since returns the operator's requests that were answered after a mark.
func (a Audit) Since(mark audit.Mark) audit.Requests {
	requests, err := a.log.Since(mark)
	must(err, "the audit log")
	return requests
}

// ExpectNoneForbidden fails the spec if the operator made a request after a mark that its shipped
// roles do not allow.
func (a Audit) ExpectNoneForbidden(mark audit.Mark) {
	ExpectWithOffset(1, a.Since(mark).Forbidden()).To(BeEmpty(),
		"the operator made requests that the shipped ClusterRole does not allow")
}
