// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// Did prints what was done with an object, as kubectl does.
func (f *Factory) Did(resource, name, what string) {
	fmt.Fprintln(f.Out, strings.TrimSpace(resource+"/"+name+" "+what))
}

// Warn prints what does not stop a command.
func (f *Factory) Warn(format string, args ...any) {
	Say(f.ErrOut, "Warning: "+fmt.Sprintf(format, args...))
}

// WhoAmI returns the user's name; empty if the cluster cannot tell.
func (f *Factory) WhoAmI(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := f.Client.Create(ctx, review); err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}
