// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// claims sorts the outputs that carry a parent's tags by the three laws of
// the ControllerRef proposal.
type claims struct {
	// owned are controlled by the parent and tagged as its own.
	owned []client.Object
	// adopt are orphans tagged as the parent's.
	adopt []client.Object
	// release are controlled by the parent but tagged as another's, or no longer
	// with a map key.
	release []client.Object
}

// claim leaves out what someone else controls: it is neither touched nor
// counted. An orphan that is being deleted is left to its end.
func (t Tags) claim(parent client.Object, outputs []client.Object) claims {
	var c claims
	for _, o := range outputs {
		tagged := o.GetLabels()[t.Parent] == parent.GetName() && o.GetLabels()[t.MapKey] != ""
		ref := metav1.GetControllerOfNoCopy(o)
		switch {
		case ref != nil && ref.UID == parent.GetUID() && tagged:
			c.owned = append(c.owned, o)
		case ref != nil && ref.UID == parent.GetUID():
			c.release = append(c.release, o)
		case ref == nil && tagged && o.GetDeletionTimestamp() == nil:
			c.adopt = append(c.adopt, o)
		}
	}
	return c
}

// controlledBy tells whether the parent itself controls an input: such an input
// is ignored, or a badly chosen selector would map outputs without end.
func controlledBy(o, parent client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	return ref != nil && ref.UID == parent.GetUID()
}
