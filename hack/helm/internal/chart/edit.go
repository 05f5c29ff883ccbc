// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
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

// What the edits assume of kustomize's output is not checked here: the tests compare the charts that they render with it.

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
	child(t.object, "metadata")["labels"] = t.block(lines...)
	if o.GetKind() != "CustomResourceDefinition" {
		t.replaceAccount(o.GetKind())
		t.replaceNames()
	}
	return nil
}

// replaceAccount makes the name of the manager's ServiceAccount depend on values, wherever it is.
func (t *template) replaceAccount(kind string) {
	name := t.inline(`{{ include "snapshotschedule.serviceAccountName" $ }}`)
	if kind == "ServiceAccount" {
		child(t.object, "metadata")["name"] = name
	}
	if pod := child(t.object, "spec", "template", "spec"); pod != nil {
		pod["serviceAccountName"] = name
	}
	subjects, _ := t.object["subjects"].([]any)
	for _, subject := range subjects {
		subject.(map[string]any)["name"] = name
	}
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

// child returns an object inside of an object; nil if there is none.
func child(o map[string]any, path ...string) map[string]any {
	inner, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	found, _ := inner.(map[string]any)
	return found
}

// replaceStrings replaces the strings in a value.
func replaceStrings(value any, replace func(string) string) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = replaceStrings(inner, replace)
		}
	case []any:
		for i, inner := range value {
			value[i] = replaceStrings(inner, replace)
		}
	case string:
		return replace(value)
	}
	return value
}

// replaceNames replaces the names and the namespace that kustomize set.
func (t *template) replaceNames() {
	replaceStrings(t.object, func(value string) string {
		if value == namespace {
			return t.inline(releaseNamespace)
		}
		if rest, ok := strings.CutPrefix(value, prefix); ok && !strings.ContainsAny(rest, " /") {
			return t.inline(fullname) + "-" + rest
		}
		return value
	})
}

// replaceOperator makes the name of the manager's ServiceAccount in the expressions of guardrails depend on the release.
func (t *template) replaceOperator() {
	replaceStrings(t.object, func(value string) string {
		return strings.NewReplacer("'"+namespace+"'", "'"+t.inline(releaseNamespace)+"'",
			"'"+prefix+"controller-manager'", "'"+t.inline(`{{ include "snapshotschedule.serviceAccountName" $ }}`)+"'").Replace(value)
	})
}

// docs is where the runbook_url of the alerts in config/prometheus point to.
const docs = "https://mapcontroller.dev/snapshotschedule/docs"

// editRules makes it depend on values which alerts there are, their labels, and how long they wait.
func (t *template) editRules() error {
	groups, _ := child(t.object, "spec")["groups"].([]any)
	for _, g := range groups {
		group := g.(map[string]any)
		rules, _ := group["rules"].([]any)
		// A group without rules has no such key.
		lines := []string{fmt.Sprintf("{{- if lt (len $.Values.prometheus.alerts.disabled) %d }}", len(rules)), "rules:"}
		for _, r := range rules {
			rule := &template{object: r.(map[string]any)}
			name := rule.object["alert"]
			rule.replaceDocs()
			rule.object["for"] = rule.inline(fmt.Sprintf("{{ get $.Values.prometheus.alerts.for %q | default %q }}", name, rule.object["for"]))
			child(rule.object, "labels")[rule.block("{{- range $name, $value := $.Values.prometheus.alerts.labels }}",
				"{{ $name }}: {{ $value | quote }}", "{{- end }}")] = nil
			text, err := rule.text()
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprintf("{{- if not (has %q $.Values.prometheus.alerts.disabled) }}", name))
			lines = append(lines, strings.Split("- "+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  "), "\n")...)
			lines = append(lines, "{{- end }}")
		}
		delete(group, "rules")
		group[t.block(append(lines, "{{- end }}")...)] = nil
	}
	return nil
}

// alertsOf returns the names of the alerts of all rules.
func alertsOf(objects []*unstructured.Unstructured) (names []string) {
	for _, o := range objects {
		groups, _ := child(o.Object, "spec")["groups"].([]any)
		for _, group := range groups {
			rules, _ := group.(map[string]any)["rules"].([]any)
			for _, rule := range rules {
				name, _ := rule.(map[string]any)["alert"].(string)
				names = append(names, name)
			}
		}
	}
	return names
}

// replaceDocs makes an alert's link to the docs depend on a value.
func (t *template) replaceDocs() {
	replaceStrings(t.object, func(value string) string {
		if rest, ok := strings.CutPrefix(value, docs+"/"); ok {
			return t.inline("{{ $.Values.prometheus.docsURL }}") + "/" + rest
		}
		return value
	})
}

// keepCRD makes it a value that the CRD is kept when the chart is uninstalled. Its
// deletion would delete all schedules and their snapshots.
func (t *template) keepCRD() {
	annotations := child(t.object, "metadata", "annotations")
	delete(annotations, "helm.sh/resource-policy")
	annotations[t.block("{{- if .Values.crds.keep }}", "helm.sh/resource-policy: keep", "{{- end }}")] = nil
}

// perNamespace renders a cluster-wide object, or one in each of the watched namespaces.
func (t *template) perNamespace(o *unstructured.Unstructured) (string, error) {
	clusterWide, err := t.text()
	if err != nil {
		return "", err
	}
	t.object["kind"] = strings.TrimPrefix(o.GetKind(), "Cluster")
	child(t.object, "metadata")["namespace"] = t.inline("{{ . }}")
	if role := child(t.object, "roleRef"); role != nil {
		role["kind"] = "Role"
	}
	if rules, ok := t.object["rules"].([]any); ok {
		// A Role cannot grant access to a cluster-scoped kind.
		t.object["rules"] = slices.DeleteFunc(rules, func(rule any) bool {
			resources := rule.(map[string]any)["resources"]
			return reflect.DeepEqual(resources, []any{"volumesnapshotclasses"}) || reflect.DeepEqual(resources, []any{"volumegroupsnapshotclasses"})
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
		"{{- if .Values.metrics.enabled }}", "- "+metricsArg, "{{- end }}",
		"{{- range .Values.manager.args }}", "- {{ . | quote }}", "{{- end }}",
		"{{- with .Values.watchNamespaces }}", `- --watch-namespaces={{ join "," . }}`, "{{- end }}",
		"{{- if .Values.metrics.certificateSecret }}", "- --metrics-cert-path=/tmp/k8s-metrics-server/metrics-certs", "{{- end }}")
	for value, field := range d.fields() {
		text := "toYaml .Values.manager." + value
		if value == "volumes" || value == "volumeMounts" {
			text = `include "snapshotschedule.` + value + `" .`
		}
		field.of[field.key] = t.block("{{- " + text + " | nindent " + indent + " }}")
	}
	for _, key := range optionalPodFields {
		t.optional(d.pod, key, ".Values.manager."+key)
	}
	metadata := child(t.object, "spec", "template", "metadata")
	for key, value := range map[string]string{
		"annotations": ".Values.manager.podAnnotations", "labels": "merge (dict) .Values.manager.podLabels .Values.commonLabels",
	} {
		child(metadata, key)[t.block(values(value)...)] = nil
	}
	// Without it, Kubernetes decides by the tag.
	t.optional(d.manager, "imagePullPolicy", ".Values.manager.image.pullPolicy")
	return nil
}

// editMonitor makes the interval of the ServiceMonitor depend on a value, and whether it verifies the certificate.
func (t *template) editMonitor() {
	endpoints, _ := child(t.object, "spec")["endpoints"].([]any)
	for _, e := range endpoints {
		endpoint := e.(map[string]any)
		t.optional(endpoint, "interval", ".Values.prometheus.interval")
		endpoint["tlsConfig"] = t.block(
			"{{- with .Values.metrics.certificateSecret }}",
			"serverName: "+fullname+"-controller-manager-metrics-service."+releaseNamespace+".svc",
			"ca:", "  secret:", "    name: {{ . }}", "    key: ca.crt",
			"{{- else }}", "insecureSkipVerify: true", "{{- end }}")
	}
}

// editEgress makes the ports of the API server depend on a value.
func (t *template) editEgress() {
	egress, _ := child(t.object, "spec")["egress"].([]any)
	for _, rule := range egress {
		rule.(map[string]any)["ports"] = t.block(
			"{{- range .Values.networkPolicy.apiServerPorts }}", "- port: {{ . }}", "  protocol: TCP", "{{- end }}")
	}
}
