// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The labels that the helper snapshotschedule.labels writes.
var ofHelper = []string{"app.kubernetes.io/name", "app.kubernetes.io/managed-by"}

const (
	fullname         = `{{ include "snapshotschedule.fullname" $ }}`
	releaseNamespace = `{{ $.Release.Namespace }}`
)

// identity makes names, namespaces and labels the release's, in the object and where it
// refers to others.
func (d *draft) identity(o *unstructured.Unstructured) error {
	own := o.GetLabels()
	maps.DeleteFunc(own, func(key, _ string) bool { return slices.Contains(ofHelper, key) })
	lines := []string{`{{- include "snapshotschedule.labels" $ | nindent ` + indent + ` }}`}
	if len(own) > 0 {
		text, err := yaml.Marshal(own)
		if err != nil {
			return err
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	metadata := d.object["metadata"].(map[string]any)
	metadata["labels"] = d.block(lines...)
	if o.GetKind() == "CustomResourceDefinition" {
		return nil
	}
	d.replace(d.object)
	return nil
}

// replace makes every name that kustomize made the release's, and every namespace.
func (d *draft) replace(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = d.replace(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = d.replace(inner)
		}
	case string:
		if value == namespace {
			return d.inline(releaseNamespace)
		}
		if rest, ours := strings.CutPrefix(value, prefix); ours && !strings.ContainsAny(rest, " /") {
			return d.inline(fullname) + "-" + rest
		}
	}
	return value
}

// definition keeps the CRD where Helm would take it away, and with it every schedule
// and every snapshot.
func (d *draft) definition(o *unstructured.Unstructured) {
	annotations := map[string]any{}
	for key, value := range o.GetAnnotations() {
		annotations[key] = value
	}
	annotations[d.block("{{- if .Values.crd.keep }}", "helm.sh/resource-policy: keep", "{{- end }}")] = nil
	d.object["metadata"].(map[string]any)["annotations"] = annotations
}

// inEachNamespace renders what is of the whole cluster in each of the namespaces that
// the manager is confined to, if it is.
func (d *draft) inEachNamespace(o *unstructured.Unstructured) (string, error) {
	all, err := d.text()
	if err != nil {
		return "", err
	}
	kind := strings.TrimPrefix(o.GetKind(), "Cluster")
	if kind == o.GetKind() {
		return "", errors.New("it is not of the whole cluster")
	}
	d.object["kind"] = kind
	d.object["metadata"].(map[string]any)["namespace"] = d.inline("{{ . }}")
	if role, ok := d.object["roleRef"].(map[string]any); ok {
		role["kind"] = "Role"
	}
	each, err := d.text()
	return "{{- range .Values.watchNamespaces }}\n---\n" + each + "{{- else }}\n" + all + "{{- end }}\n", err
}

// deployment makes values of what is a matter of choice in the Deployment.
func (d *draft) deployment() error {
	m, err := partsOf(d.object)
	if err != nil {
		return err
	}
	m.spec["replicas"] = d.inline("{{ .Values.manager.replicas }}")
	m.manager["image"] = d.inline(`{{ include "snapshotschedule.image" . | quote }}`)
	m.manager["args"] = d.block(
		"{{- if .Values.metrics.enable }}", "- "+metricsArg, "{{- end }}",
		"{{- range .Values.manager.args }}", "- {{ . | quote }}", "{{- end }}",
		"{{- with .Values.watchNamespaces }}", `- --watch-namespaces={{ join "," . }}`, "{{- end }}")
	for _, c := range choices {
		if _, ok := c.in(m)[c.key]; !ok {
			return fmt.Errorf("%s is left out now: see choices in hack/helm", c.key)
		}
		c.in(m)[c.key] = d.block("{{- toYaml .Values.manager." + c.value + " | nindent " + indent + " }}")
	}
	for _, key := range ofPodOptional {
		if _, ok := m.pod[key]; ok {
			return fmt.Errorf("%s has a value of its own now: see choices in hack/helm", key)
		}
		d.optional(m.pod, key, ".Values.manager."+key)
	}
	// Left out, Kubernetes decides by the tag.
	d.optional(m.manager, "imagePullPolicy", ".Values.manager.image.pullPolicy")
	return nil
}
