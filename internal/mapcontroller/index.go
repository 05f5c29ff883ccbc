/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package mapcontroller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The fields by which the cache is indexed.
const (
	// inputKeyField finds an input by its map key.
	inputKeyField = "mapcontroller/key"
	// ownerField finds the outputs of a parent, and the orphans that name it.
	ownerField = "mapcontroller/owner"
	// claimField finds the outputs of a parent for one map key, and the orphans
	// that name both.
	claimField = "mapcontroller/claim"
)

// ownerValue says by which parent an output is found: the one that controls
// it or, for an orphan, the one that it names.
func (t Tags) ownerValue(output client.Object) string {
	if ref := metav1.GetControllerOfNoCopy(output); ref != nil {
		return string(ref.UID)
	}
	return orphanOf(output.GetLabels()[t.Parent])
}

func orphanOf(parentName string) string { return "orphan/" + parentName }

func claimValue(owner, mapKey string) string { return owner + "/" + mapKey }

func (t Tags) ownerIndex(o client.Object) []string { return []string{t.ownerValue(o)} }

func (t Tags) claimIndex(o client.Object) []string {
	return []string{claimValue(t.ownerValue(o), o.GetLabels()[t.MapKey])}
}

func (c *MapController[P, S]) indexInputs(ctx context.Context, indexer client.FieldIndexer) error {
	for _, in := range c.Inputs {
		key := func(o client.Object) []string { return []string{c.MapKey(o)} }
		if err := indexer.IndexField(ctx, in.Object, inputKeyField, key); err != nil {
			return err
		}
	}
	return nil
}

func (c *MapController[P, S]) indexOutputs(ctx context.Context, indexer client.FieldIndexer) error {
	for _, out := range c.Outputs {
		if err := indexer.IndexField(ctx, out.Object, ownerField, c.Tags.ownerIndex); err != nil {
			return err
		}
		if err := indexer.IndexField(ctx, out.Object, claimField, c.Tags.claimIndex); err != nil {
			return err
		}
	}
	return nil
}
