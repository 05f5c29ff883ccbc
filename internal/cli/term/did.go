// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Did prints what was done with an object, as kubectl does, or would be.
func (f *Factory) Did(resource, name, what string) {
	if what != "" {
		what += f.DryRun.words()
	}
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

// Done prints an object that was changed, or what was done with it. Without an output, it is the latter.
func (f *Factory) Done(output *Output, o client.Object, resource, what string) error {
	switch {
	case output == nil:
	case output.Structured():
		kind, err := apiutil.GVKForObject(o, Scheme)
		if err != nil {
			return err
		}
		o.GetObjectKind().SetGroupVersionKind(kind) // which clients remove from answers
		o.SetManagedFields(nil)
		return output.PrintStructured(f.Out, o)
	case output.Format == Names:
		what = ""
	}
	f.Did(resource, o.GetName(), what)
	return nil
}
