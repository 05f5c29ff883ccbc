// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	fullname         = `{{ include "snapshotschedule.fullname" $ }}`
	releaseNamespace = `{{ $.Release.Namespace }}`
)

// setMetadata makes the object's names, namespaces and labels depend on the Helm
// release, including those by which it refers to other objects.
func (t *template) setMetadata(o *unstructured.Unstructured) error {
	own := o.GetLabels()
	for _, fromChart := range []string{"app.kubernetes.io/name", "app.kubernetes.io/managed-by", "grafana_dashboard"} {
		delete(own, fromChart)
	}
	lines := []string{`{{- include "snapshotschedule.labels" $ | nindent ` + indent + ` }}`}
	if value := labelsOf[o.GetKind()]; value != "" {
		lines = append(lines, values(value)...)
	}
	if len(own) > 0 {
		text, err := yaml.Marshal(own)
		if err != nil {
			return err
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	t.object["metadata"].(map[string]any)["labels"] = t.block(lines...)
	if o.GetKind() != "CustomResourceDefinition" {
		t.replaceNames(t.object)
	}
	return nil
}

// labelsOf are the values that add labels to objects, by kind.
var labelsOf = map[string]string{
	"ServiceAccount": ".Values.serviceAccount.labels",
	"ServiceMonitor": ".Values.prometheus.labels",
	"PrometheusRule": ".Values.prometheus.labels",
	"ConfigMap":      ".Values.dashboard.labels",
}

// values returns the lines of a value whose keys are added to a map.
func values(value string) []string {
	return []string{"{{- with " + value + " }}", "{{- toYaml . | nindent " + indent + " }}", "{{- end }}"}
}

// replaceNames replaces the names and the namespace that kustomize set.
func (t *template) replaceNames(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = t.replaceNames(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = t.replaceNames(inner)
		}
	case string:
		if value == namespace {
			return t.inline(releaseNamespace)
		}
		if rest, ok := strings.CutPrefix(value, prefix); ok && !strings.ContainsAny(rest, " /") {
			return t.inline(fullname) + "-" + rest
		}
	}
	return value
}

// keepCRD makes it a value that the CRD is kept when the chart is uninstalled. Its
// deletion would delete all schedules and their snapshots.
func (t *template) keepCRD(o *unstructured.Unstructured) error {
	const key = "helm.sh/resource-policy"
	annotations := map[string]any{}
	for key, value := range o.GetAnnotations() {
		annotations[key] = value
	}
	if annotations[key] != "keep" {
		return fmt.Errorf("the CRD has no annotation %s: keep", key)
	}
	delete(annotations, key)
	annotations[t.block("{{- if .Values.crd.keep }}", key+": keep", "{{- end }}")] = nil
	t.object["metadata"].(map[string]any)["annotations"] = annotations
	return nil
}

// perNamespace renders a cluster-wide object, or one in each of the watched namespaces.
func (t *template) perNamespace(o *unstructured.Unstructured) (string, error) {
	clusterWide, err := t.text()
	if err != nil {
		return "", err
	}
	kind, ok := strings.CutPrefix(o.GetKind(), "Cluster")
	if !ok {
		return "", errors.New("not a cluster-wide kind")
	}
	t.object["kind"] = kind
	t.object["metadata"].(map[string]any)["namespace"] = t.inline("{{ . }}")
	if role, ok := t.object["roleRef"].(map[string]any); ok {
		role["kind"] = "Role"
	}
	if rules, ok := t.object["rules"].([]any); ok {
		// A Role cannot grant access to a cluster-scoped kind.
		t.object["rules"] = slices.DeleteFunc(rules, func(rule any) bool {
			return reflect.DeepEqual(rule.(map[string]any)["resources"], []any{"volumesnapshotclasses"})
		})
	}
	namespaced, err := t.text()
	return "{{- range .Values.watchNamespaces }}\n---\n" + namespaced + "{{- else }}\n" + clusterWide + "{{- end }}\n", err
}

// editDeployment makes the fields that users may change depend on values.
func (t *template) editDeployment() error {
	d, err := parseDeployment(t.object)
	if err != nil {
		return err
	}
	d.spec["replicas"] = t.inline("{{ .Values.manager.replicas }}")
	d.manager["image"] = t.inline(`{{ include "snapshotschedule.image" . | quote }}`)
	d.manager["args"] = t.block(
		"{{- if .Values.metrics.enable }}", "- "+metricsArg, "{{- end }}",
		"{{- range .Values.manager.args }}", "- {{ . | quote }}", "{{- end }}",
		"{{- with .Values.watchNamespaces }}", `- --watch-namespaces={{ join "," . }}`, "{{- end }}",
		"{{- if .Values.metrics.certificateSecret }}", "- --metrics-cert-path=/tmp/k8s-metrics-server/metrics-certs", "{{- end }}")
	for value, field := range d.fields() {
		if _, ok := field.of[field.key]; !ok {
			return fmt.Errorf("the Deployment no longer has %s; see fields in hack/helm", field.key)
		}
		text := "toYaml .Values.manager." + value
		if value == "volumes" || value == "volumeMounts" {
			text = `include "snapshotschedule.` + value + `" .`
		}
		field.of[field.key] = t.block("{{- " + text + " | nindent " + indent + " }}")
	}
	for _, key := range optionalPodFields {
		if _, ok := d.pod[key]; ok {
			return fmt.Errorf("the Deployment now has %s; see fields in hack/helm", key)
		}
		t.optional(d.pod, key, ".Values.manager."+key)
	}
	metadata, _, err := unstructured.NestedMap(t.object, "spec", "template", "metadata")
	if err != nil {
		return err
	}
	for key, value := range map[string]string{"annotations": ".Values.manager.podAnnotations", "labels": ".Values.manager.podLabels"} {
		metadata[key].(map[string]any)[t.block(values(value)...)] = nil
	}
	t.object["spec"].(map[string]any)["template"].(map[string]any)["metadata"] = metadata
	// Without it, Kubernetes decides by the tag.
	t.optional(d.manager, "imagePullPolicy", ".Values.manager.image.pullPolicy")
	return nil
}
