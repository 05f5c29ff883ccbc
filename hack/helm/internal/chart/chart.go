// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart makes a Helm chart of what kustomize builds: every object becomes a
// template, and what is a matter of choice in it becomes a value.
package chart

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Name is the chart's.
const Name = "snapshotschedule"

// What kustomize puts before names, and the namespace it puts all into.
const (
	prefix    = Name + "-"
	namespace = Name + "-system"
)

// Release is what differs from release to release.
type Release struct {
	// Version is the chart's, a semantic version.
	Version string
	// Image is the manager's: repository, tag and digest, the last two optional.
	Image string
}

//go:embed all:skeleton
var skeleton embed.FS

// Build returns the chart's files by path. An object that it has no place for is an
// error: nothing is left out unawares.
func Build(objects []*unstructured.Unstructured, release Release) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(skeleton, "skeleton", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := skeleton.ReadFile(path)
		files[strings.TrimPrefix(path, "skeleton/")] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	var deployment *unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			// Helm's own: --create-namespace.
			continue
		}
		if o.GetKind() == "Deployment" {
			deployment = o.DeepCopy()
		}
		path, text, err := convert(o.DeepCopy())
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if _, taken := files[path]; taken {
			return nil, fmt.Errorf("%s %s: there is another %s", o.GetKind(), o.GetName(), path)
		}
		files[path] = text
	}
	if deployment == nil {
		return nil, fmt.Errorf("there is no Deployment among %d objects", len(objects))
	}
	for _, name := range []string{"Chart.yaml", "values.yaml"} {
		if files[name], err = fill(files[name], deployment, release); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return files, nil
}

// place says where an object's template goes and on what condition it is rendered.
func place(o *unstructured.Unstructured) (folder, condition string, err error) {
	name := strings.TrimPrefix(o.GetName(), prefix)
	switch kind := o.GetKind(); {
	case kind == "CustomResourceDefinition":
		return "crd", ".Values.crd.enable", nil
	case kind == "Deployment":
		return "manager", "", nil
	case kind == "Service", strings.HasPrefix(name, "metrics-"):
		return "metrics", ".Values.metrics.enable", nil
	case kind == "ServiceMonitor", kind == "PrometheusRule":
		return "prometheus", ".Values.prometheus.enable", nil
	case kind == "NetworkPolicy":
		return "network-policy", ".Values.networkPolicy.enable", nil
	case kind == "ClusterRole" && strings.HasPrefix(name, "snapshotschedule-"):
		return "rbac", ".Values.rbacHelpers.enable", nil
	case strings.HasSuffix(kind, "Role"), strings.HasSuffix(kind, "RoleBinding"), kind == "ServiceAccount":
		return "rbac", "", nil
	default:
		return "", "", errors.New("the chart has no place for it: see place in hack/helm")
	}
}

// convert makes an object's template, and where it goes.
func convert(o *unstructured.Unstructured) (path, text string, err error) {
	folder, condition, err := place(o)
	if err != nil {
		return "", "", err
	}
	name := strings.TrimPrefix(o.GetName(), prefix)
	path = fmt.Sprintf("templates/%s/%s.yaml", folder, name)
	d := &draft{object: o.Object}
	if err := d.identity(o); err != nil {
		return "", "", err
	}
	switch {
	case o.GetKind() == "Deployment":
		err = d.deployment()
	case o.GetKind() == "CustomResourceDefinition":
		d.definition(o)
	case name == "manager-role" || name == "manager-rolebinding":
		text, err = d.inEachNamespace(o)
	}
	if err == nil && text == "" {
		text, err = d.text()
	}
	if folder == "prometheus" {
		text = `{{- if not .Values.metrics.enable }}{{ fail "prometheus.enable needs metrics.enable" }}{{ end }}` + "\n" + text
	}
	if condition != "" {
		text = "{{- if " + condition + " }}\n" + text + "{{- end }}\n"
	}
	return path, text, err
}
