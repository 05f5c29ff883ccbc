{{/*
The prefix of all names. The longest suffix is -controller-manager-metrics-service, and a Service's name
has at most 63 characters.
*/}}
{{- define "snapshotschedule.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 28 | trimSuffix "-" }}
{{- else }}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 28 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 28 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The manager's ServiceAccount.
*/}}
{{- define "snapshotschedule.serviceAccountName" -}}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
{{- fail "serviceAccount.create=false needs serviceAccount.name: the account default is every pod's, and this one may delete snapshots" }}
{{- end }}
{{- .Values.serviceAccount.name | default (printf "%s-controller-manager" (include "snapshotschedule.fullname" .)) }}
{{- end }}

{{/*
The labels of every object.
*/}}
{{- define "snapshotschedule.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
The manager's image.
*/}}
{{- define "snapshotschedule.image" -}}
{{- $image := .Values.manager.image -}}
{{- $image.repository -}}
{{- with $image.tag }}:{{ . }}{{ end -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end }}

{{/*
The pod's volumes and the container's mounts, with the certificate of the metrics endpoint.
*/}}
{{- define "snapshotschedule.volumes" -}}
{{- $all := .Values.manager.volumes -}}
{{- with .Values.metrics.certificateSecret -}}
{{- $all = append $all (dict "name" "metrics-certs" "secret" (dict "secretName" .)) -}}
{{- end -}}
{{- toYaml $all -}}
{{- end }}
{{- define "snapshotschedule.volumeMounts" -}}
{{- $all := .Values.manager.volumeMounts -}}
{{- if .Values.metrics.certificateSecret -}}
{{- $all = append $all (dict "name" "metrics-certs" "mountPath" "/tmp/k8s-metrics-server/metrics-certs" "readOnly" true) -}}
{{- end -}}
{{- toYaml $all -}}
{{- end }}
