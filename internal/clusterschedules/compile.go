// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// program makes the decisions under one ClusterSnapshotSchedule.
type program struct {
	fleet     *v1alpha1.ClusterSnapshotSchedule
	selector  labels.Selector
	confirmed bool
	unwritten *mapcontroller.Unwritten
}

// compiler returns the engine's Compile. A template is valid if validate accepts
// a SnapshotSchedule with its spec.
func compiler(
	validate func(*v1alpha1.SnapshotSchedule) error, unwritten *mapcontroller.Unwritten,
) func(client.Object, ...client.Object) (mapcontroller.Program, error) {
	return func(parent client.Object, _ ...client.Object) (mapcontroller.Program, error) {
		f := parent.(*v1alpha1.ClusterSnapshotSchedule)
		var errs []error
		selector, err := f.Spec.NamespaceSelector.AsSelector()
		if err != nil {
			errs = append(errs, fmt.Errorf("spec.namespaceSelector: %w", err))
		}
		if err := validate(&v1alpha1.SnapshotSchedule{Spec: f.Spec.Template.Spec}); err != nil {
			errs = append(errs, errors.New(strings.ReplaceAll(err.Error(), "spec.", "spec.template.spec.")))
		}
		if len(errs) > 0 {
			return mapcontroller.Program{}, errors.New(strings.ReplaceAll(errors.Join(errs...).Error(), "\n", "; "))
		}
		p := &program{fleet: f, selector: selector, unwritten: unwritten}
		p.confirmed = f.Annotations[v1alpha1.AnnotationConfirmGeneration] == strconv.FormatInt(f.Generation, 10)
		return mapcontroller.Program{Selects: p.selects, Map: p.mapNamespace, Tombstone: p.tombstone}, nil
	}
}

// selects returns whether a namespace is to be protected.
func (p *program) selects(namespace client.Object) bool { return selects(p.selector, namespace) }

// Selects returns whether a ClusterSnapshotSchedule protects a namespace. It compiles the selector
// each time, which docs/contribute/results.md measures: a cache of selectors would have to follow every
// version that is read live.
func Selects(f *v1alpha1.ClusterSnapshotSchedule, namespace client.Object) bool {
	selector, err := f.Spec.NamespaceSelector.AsSelector()
	return err == nil && selects(selector, namespace)
}

func selects(selector labels.Selector, namespace client.Object) bool {
	return namespace.GetDeletionTimestamp() == nil && !excluded(namespace) && selector.Matches(labels.Set(namespace.GetLabels()))
}

func excluded(namespace client.Object) bool {
	_, ok := namespace.GetAnnotations()[v1alpha1.AnnotationExclude]
	return ok
}

// ExclusionChanged returns whether an update of a namespace excludes it, or includes it again. What else decides
// whether it is selected always counts.
func ExclusionChanged(before, after client.Object) bool { return excluded(before) != excluded(after) }
