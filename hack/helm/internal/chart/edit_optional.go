// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"reflect"
	"strings"
)

// docs is where the runbook_url of the alerts in config/prometheus point to.
const docs = "https://mapcontroller.dev/snapshotschedule/docs"

// replaceDocs makes the alerts' links to the docs depend on a value.
func (t *template) replaceDocs(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = t.replaceDocs(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = t.replaceDocs(inner)
		}
	case string:
		if rest, ok := strings.CutPrefix(value, docs+"/"); ok {
			return t.inline("{{ $.Values.prometheus.docsURL }}") + "/" + rest
		}
	}
	return value
}

// editMonitor makes the interval of the ServiceMonitor depend on a value, and whether it verifies the certificate.
func (t *template) editMonitor() error {
	endpoints, _ := t.object["spec"].(map[string]any)["endpoints"].([]any)
	if len(endpoints) != 1 {
		return errors.New("the ServiceMonitor has not one endpoint; see editMonitor in hack/helm")
	}
	endpoint := endpoints[0].(map[string]any)
	t.optional(endpoint, "interval", ".Values.prometheus.interval")
	if !reflect.DeepEqual(endpoint["tlsConfig"], map[string]any{"insecureSkipVerify": true}) {
		return errors.New("the ServiceMonitor has another tlsConfig; see editMonitor in hack/helm")
	}
	endpoint["tlsConfig"] = t.block(
		"{{- with .Values.metrics.certificateSecret }}",
		"serverName: "+fullname+"-controller-manager-metrics-service."+releaseNamespace+".svc",
		"ca:", "  secret:", "    name: {{ . }}", "    key: ca.crt",
		"{{- else }}", "insecureSkipVerify: true", "{{- end }}")
	return nil
}

// editEgress makes the ports of the API server depend on a value.
func (t *template) editEgress() error {
	egress, _ := t.object["spec"].(map[string]any)["egress"].([]any)
	if len(egress) != 1 {
		return errors.New("the NetworkPolicy has not one egress rule; see editEgress in hack/helm")
	}
	egress[0].(map[string]any)["ports"] = t.block(
		"{{- range .Values.networkPolicy.apiServerPorts }}", "- port: {{ . }}", "  protocol: TCP", "{{- end }}")
	return nil
}
