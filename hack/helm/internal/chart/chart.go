// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart generates a Helm chart from the output of kustomize: every object
// becomes a template, and what users may change becomes a value.
package chart

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Name is the name of the chart.
const Name = "snapshotschedule"

// The name prefix and the namespace that kustomize sets.
const (
	prefix    = Name + "-"
	namespace = Name + "-system"
)

// Release is what differs between releases.
type Release struct {
	// Version is the chart's semantic version.
	Version string
	// Image is the manager's image, with an optional tag and digest.
	Image string
	// Repository is the URL of the source, Docs that of the pages in docs.
	Repository, Docs string
	// Changelog is the text of CHANGELOG.md.
	Changelog string
}

// listMark stands in the README where the list of values is.
const listMark = "<!-- values -->\n"

//go:embed all:skeleton
var skeleton embed.FS

// Build returns the chart's files by path. An unknown kind of object is an error, so
// that no object is left out by accident.
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
		switch o.GetKind() {
		case "Namespace":
			// helm --create-namespace creates it.
			continue
		case "Deployment":
			deployment = o.DeepCopy()
		}
		path, text, err := convert(o.DeepCopy())
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if _, exists := files[path]; exists {
			return nil, fmt.Errorf("%s %s: %s exists already", o.GetKind(), o.GetName(), path)
		}
		files[path] = text
	}
	if deployment == nil {
		return nil, fmt.Errorf("no Deployment among %d objects; "+
			"pipe the output of 'kustomize build hack/helm/source' into this program", len(objects))
	}
	for _, name := range []string{"Chart.yaml", "README.md", "values.yaml", "values.schema.json"} {
		if files[name], err = fillDefaults(files[name], deployment, alertsOf(objects), release); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	described, err := newReference(files["values.yaml"], files["values.schema.json"])
	if err != nil {
		return nil, err
	}
	schema, err := json.MarshalIndent(described.schema, "", "  ")
	files["values.schema.json"] = string(schema) + "\n"
	files["README.md"] = strings.Replace(files["README.md"], listMark, described.list.String(), 1)
	return files, err
}

// forPeople matches the roles that nobody but people has.
var forPeople = regexp.MustCompile("^(snapshotschedule|fleet)-")

// location returns the folder of an object's template and the value that enables it.
func location(o *unstructured.Unstructured) (folder, condition string, err error) {
	name := strings.TrimPrefix(o.GetName(), prefix)
	switch kind := o.GetKind(); {
	case kind == "CustomResourceDefinition":
		return "crd", ".Values.crds.enabled", nil
	case kind == "Deployment":
		return "manager", "", nil
	case kind == "Service", strings.HasPrefix(name, "metrics-"):
		return "metrics", ".Values.metrics.enabled", nil
	case kind == "ServiceMonitor", kind == "PrometheusRule":
		return "prometheus", ".Values.prometheus.enabled", nil
	case kind == "ConfigMap" && name == "dashboard":
		return "prometheus", ".Values.dashboard.enabled", nil
	case kind == "NetworkPolicy":
		return "network-policy", ".Values.networkPolicy.enabled", nil
	case strings.HasPrefix(name, "retention-warnings"):
		return "warnings", ".Values.warnings.enabled", nil
	case strings.HasPrefix(name, "snapshot-creation"):
		return "admission", ".Values.admission.enabled", nil
	case strings.HasPrefix(kind, "ValidatingAdmissionPolicy"):
		return "guardrails", ".Values.guardrails.enabled", nil
	case kind == "ServiceAccount", strings.HasSuffix(kind, "Role"), strings.HasSuffix(kind, "RoleBinding"):
		return "rbac", rightsCondition(kind, name), nil
	default:
		return "", "", errors.New("the chart has no folder for it; see location in hack/helm")
	}
}

// rightsCondition returns the value that enables an account, a role or a binding, "" if they are always there.
func rightsCondition(kind, name string) string {
	switch {
	case strings.HasPrefix(name, "fleet-manager-"): // ClusterSnapshotSchedules are off where namespaces are listed
		return "not .Values.watchNamespaces"
	case kind == "ClusterRole" && forPeople.MatchString(name):
		return ".Values.rbacHelpers.enabled"
	case kind == "ServiceAccount":
		return ".Values.serviceAccount.create"
	default:
		return ""
	}
}

// edit makes of an object what its values ask for. It returns the text of one that is repeated.
func (t *template) edit(o *unstructured.Unstructured, name string) (text string, err error) {
	switch {
	case o.GetKind() == "Deployment":
		err = t.editDeployment()
	case o.GetKind() == "CustomResourceDefinition":
		t.keepCRD()
	case o.GetKind() == "ValidatingAdmissionPolicy":
		t.replaceOperator()
	case o.GetKind() == "ServiceMonitor":
		t.editMonitor()
	case o.GetKind() == "PrometheusRule":
		err = t.editRules()
	case o.GetKind() == "ServiceAccount":
		t.optional(child(t.object, "metadata"), "annotations", ".Values.serviceAccount.annotations")
	case name == "allow-api-server-traffic":
		t.editEgress()
	case name == "manager-role" || name == "manager-rolebinding":
		text, err = t.perNamespace(o)
	}
	return text, err
}

// convert returns an object's template and its path.
func convert(o *unstructured.Unstructured) (path, text string, err error) {
	folder, condition, err := location(o)
	if err != nil {
		return "", "", err
	}
	name := strings.TrimPrefix(o.GetName(), prefix)
	path = fmt.Sprintf("templates/%s/%s.yaml", folder, name)
	t := &template{object: o.Object}
	if err := t.setMetadata(o); err != nil {
		return "", "", err
	}
	if text, err = t.edit(o, name); err == nil && text == "" {
		text, err = t.text()
	}
	if condition == ".Values.prometheus.enabled" {
		text = `{{- if not .Values.metrics.enabled }}{{ fail "prometheus.enabled needs metrics.enabled" }}{{ end }}` + "\n" + text
	}
	if condition != "" {
		text = "{{- if " + condition + " }}\n" + text + "{{- end }}\n"
	}
	return path, text, err
}
