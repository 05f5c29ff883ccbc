// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/object"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reconciler does with a Kustomization what Flux's kustomize-controller does: it builds, applies, prunes and waits.
type reconciler struct {
	client client.Client
	// sources are the folders of GitRepositories, by their names.
	sources map[string]string
	// inventories are the objects that were applied, by the names of Kustomizations, and by themselves.
	inventories map[string]map[string]*unstructured.Unstructured
}

// apply returns what it did with each object.
func (r *reconciler) apply(ctx context.Context, k *kustomizev1.Kustomization) (*ssa.ChangeSet, error) {
	objects, err := r.build(k)
	if err != nil {
		return nil, err
	}
	manager, err := r.manager(k)
	if err != nil {
		return nil, err
	}
	manager.SetOwnerLabels(objects, k.Name, k.Namespace)
	changes, err := manager.ApplyAllStaged(ctx, objects, ssa.DefaultApplyOptions())
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	inventory := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		inventory[utils.FmtUnstructured(o)] = o
	}
	stale := maps.Clone(r.inventories[k.Name])
	maps.DeleteFunc(stale, func(id string, _ *unstructured.Unstructured) bool { return inventory[id] != nil })
	r.inventories[k.Name] = inventory
	if !k.Spec.Prune || len(stale) == 0 {
		return changes, nil
	}
	options := ssa.DefaultDeleteOptions()
	options.Inclusions = manager.GetOwnerLabels(k.Name, k.Namespace)
	options.Exclusions = map[string]string{kustomizev1.GroupVersion.Group + "/prune": kustomizev1.DisabledValue}
	deleted, err := manager.DeleteAll(ctx, slices.Collect(maps.Values(stale)), options)
	if err != nil {
		return nil, fmt.Errorf("prune: %w", err)
	}
	changes.Append(deleted.Entries)
	return changes, nil
}

// wait waits for what was applied. It returns an error as soon as an object has failed.
func (r *reconciler) wait(ctx context.Context, k *kustomizev1.Kustomization) error {
	manager, err := r.manager(k)
	if err != nil {
		return err
	}
	options := ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: k.Spec.Timeout.Duration, FailFast: true}
	objects := slices.Collect(maps.Values(r.inventories[k.Name]))
	if err := manager.WaitForSetWithContext(ctx, object.UnstructuredSetToObjMetadataSet(objects), options); err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	return nil
}

func (r *reconciler) build(k *kustomizev1.Kustomization) ([]*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(k)
	if err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	root := r.sources[k.Spec.SourceRef.Name]
	folder := filepath.Join(root, k.Spec.Path)
	action, err := kustomize.NewGenerator(root, unstructured.Unstructured{Object: content}).WriteFile(folder, kustomize.WithSaveOriginalKustomization())
	if err != nil {
		return nil, fmt.Errorf("write kustomization.yaml: %w", err)
	}
	resources, err := kustomize.SecureBuild(root, folder, false)
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	if err := kustomize.CleanDirectory(folder, action); err != nil {
		return nil, fmt.Errorf("restore kustomization.yaml: %w", err)
	}
	manifests, err := resources.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("write the manifests: %w", err)
	}
	objects, err := utils.ReadObjects(bytes.NewReader(manifests))
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	return objects, nil
}

func (r *reconciler) manager(k *kustomizev1.Kustomization) (*ssa.ResourceManager, error) {
	reader, err := cel.NewStatusReader(k.Spec.HealthCheckExprs)
	if err != nil {
		return nil, fmt.Errorf("compile healthCheckExprs: %w", err)
	}
	poller := polling.NewStatusPoller(r.client, r.client.RESTMapper(), polling.Options{
		CustomStatusReaders: []engine.StatusReader{reader(r.client.RESTMapper())},
	})
	return ssa.NewResourceManager(r.client, poller, ssa.Owner{Field: "kustomize-controller", Group: kustomizev1.GroupVersion.Group}), nil
}
