// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	texttemplate "text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// metricsArg is the argument that the value metrics.enabled sets.
const metricsArg = "--metrics-bind-address=:8443"

// deployment is the part of a Deployment that values change.
type deployment struct{ spec, pod, manager map[string]any }

// field is a field of the pod or of its container.
type field struct {
	of  map[string]any
	key string
}

// fields returns the fields that values replace, by the name of the value.
func (d deployment) fields() map[string]field {
	return map[string]field{
		"env":                {d.manager, "env"},
		"resources":          {d.manager, "resources"},
		"securityContext":    {d.manager, "securityContext"},
		"volumeMounts":       {d.manager, "volumeMounts"},
		"affinity":           {d.pod, "affinity"},
		"podSecurityContext": {d.pod, "securityContext"},
		"volumes":            {d.pod, "volumes"},
	}
}

// optionalPodFields are fields that values add to the pod.
var optionalPodFields = []string{"imagePullSecrets", "nodeSelector", "tolerations", "topologySpreadConstraints", "priorityClassName"}

func parseDeployment(object map[string]any) (deployment, error) {
	d := deployment{spec: child(object, "spec"), pod: child(object, "spec", "template", "spec")}
	containers, _ := d.pod["containers"].([]any)
	if len(containers) != 1 {
		return deployment{}, fmt.Errorf("the pod has %d containers, not one", len(containers))
	}
	d.manager, _ = containers[0].(map[string]any)
	return d, nil
}

// Helm requires a semantic version.
var semanticVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// fillDefaults fills the release, the Deployment's values and the names of the alerts into one of the chart's files.
func fillDefaults(text string, object *unstructured.Unstructured, alerts []string, release Release) (string, error) {
	if !semanticVersion.MatchString(release.Version) {
		return "", fmt.Errorf("%q is not a semantic version such as 1.2.3", release.Version)
	}
	d, err := parseDeployment(object.Object)
	if err != nil {
		return "", err
	}
	args, _ := d.manager["args"].([]any)
	if i := slices.Index(args, any(metricsArg)); i != 0 {
		return "", fmt.Errorf("%s is not the first argument of the manager", metricsArg)
	}
	image, err := parseImage(release.Image)
	if err != nil {
		return "", err
	}
	data := map[string]any{
		"version": release.Version, "image": image, "imageName": release.Image, "replicas": d.spec["replicas"], "args": args[1:],
		"repository": release.Repository, "docs": release.Docs, "changes": changesOf(release.Changelog), "alerts": alerts,
	}
	for value, field := range d.fields() {
		data[value] = field.of[field.key]
	}
	var out strings.Builder
	functions := texttemplate.FuncMap{"yaml": yamlValue, "join": strings.Join}
	t, err := texttemplate.New("").Delims("[[", "]]").Funcs(functions).Option("missingkey=error").Parse(text)
	if err == nil {
		err = t.Execute(&out, data)
	}
	return out.String(), err
}

// yamlValue returns the YAML of a value that follows a key, indented by columns.
func yamlValue(value any, columns int) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", err
	}
	lines := strings.TrimSpace(string(text))
	if lines == "[]" || lines == "{}" {
		return " " + lines, nil
	}
	newline := "\n" + strings.Repeat(" ", columns)
	return newline + strings.ReplaceAll(lines, "\n", newline), nil
}

type image struct{ Repository, Tag, Digest string }

// parseImage splits an image reference. A colon before the last slash is a port.
func parseImage(name string) (image, error) {
	rest, digest, _ := strings.Cut(name, "@")
	repository, tag := rest, ""
	if colon := strings.LastIndex(rest, ":"); colon > strings.LastIndex(rest, "/") {
		repository, tag = rest[:colon], rest[colon+1:]
	}
	if repository == "" {
		return image{}, errors.New("the image has no name")
	}
	return image{Repository: repository, Tag: tag, Digest: digest}, nil
}
