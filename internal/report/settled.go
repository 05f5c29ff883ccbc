// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// sourceAddress matches the local end of a broken connection, as in
// "read tcp 10.0.0.1:51234->10.0.0.2:443: connection reset by peer".
var sourceAddress = regexp.MustCompile(`\S+:[0-9]+->`)

// Settled returns the message of an error without what differs between attempts, so that
// status settles: the object's name may contain the slot, and local ports are random.
func Settled(err error, name string, limit int) string {
	message := err.Error()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		message = status.Status().Message
	}
	message = strings.ReplaceAll(cut(message, 16*limit), fmt.Sprintf(" %q", name), "")
	return Text(sourceAddress.ReplaceAllString(message, ""), limit)
}
