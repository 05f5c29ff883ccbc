// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// indexes are the names of a controller's indexes: two controllers may share a
// kind.
type indexes struct {
	// key finds an input by its map key.
	key string
	// owner finds the outputs of a parent, and the orphans that name it.
	owner string
	// claim finds the outputs of a parent for one map key, and the orphans that
	// name both.
	claim string
}

func indexesOf(controller string) indexes {
	return indexes{key: controller + "/key", owner: controller + "/owner", claim: controller + "/claim"}
}

// InputIndexers are the indexes that the engine needs of its input kinds.
func (c *MapController[P, S]) InputIndexers() toolscache.Indexers {
	mapKey := c.MapKey
	if mapKey == nil {
		mapKey = uidKey
	}
	return toolscache.Indexers{
		indexesOf(c.Name).key: indexer(func(o client.Object) string { return namespaced(o.GetNamespace(), mapKey(o)) }),
	}
}

// OutputIndexers are the indexes that the engine needs of its output kinds.
func (c *MapController[P, S]) OutputIndexers() toolscache.Indexers {
	names := indexesOf(c.Name)
	return toolscache.Indexers{names.owner: indexer(c.Tags.ownerValue), names.claim: indexer(c.Tags.claimValue)}
}

func indexer(value func(client.Object) string) toolscache.IndexFunc {
	return func(o any) ([]string, error) { return []string{value(o.(client.Object))}, nil }
}

// ownerValue says by which parent an output is found: the one that controls
// it or, for an orphan, the one that it names.
func (t Tags) ownerValue(output client.Object) string {
	if ref := metav1.GetControllerOfNoCopy(output); ref != nil {
		return namespaced(output.GetNamespace(), string(ref.UID))
	}
	return orphanOf(output.GetNamespace(), output.GetLabels()[t.Parent])
}

func (t Tags) claimValue(output client.Object) string {
	return claimValue(t.ownerValue(output), output.GetLabels()[t.MapKey])
}

func namespaced(namespace, name string) string { return namespace + "/" + name }

func orphanOf(namespace, parentName string) string { return namespace + "/orphan/" + parentName }

func claimValue(owner, mapKey string) string { return owner + "/" + mapKey }
