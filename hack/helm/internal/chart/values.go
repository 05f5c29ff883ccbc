// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// metricsArg is there only while metrics are on.
const metricsArg = "--metrics-bind-address=:8443"

// parts are the levels of a Deployment that values reach into.
type parts struct{ spec, pod, manager map[string]any }

// choices are the fields that are values: in which level, the field, the value's name.
var choices = []struct {
	in         func(parts) map[string]any
	key, value string
}{
	{ofManager, "env", "env"},
	{ofManager, "resources", "resources"},
	{ofManager, "securityContext", "securityContext"},
	{ofManager, "volumeMounts", "volumeMounts"},
	{ofPod, "affinity", "affinity"},
	{ofPod, "securityContext", "podSecurityContext"},
	{ofPod, "volumes", "volumes"},
}

// ofPodOptional are fields of the pod that the Deployment doesn't have.
var ofPodOptional = []string{"imagePullSecrets", "nodeSelector", "tolerations", "topologySpreadConstraints", "priorityClassName"}

func ofManager(p parts) map[string]any { return p.manager }

func ofPod(p parts) map[string]any { return p.pod }

func partsOf(deployment map[string]any) (parts, error) {
	spec, _, err := unstructured.NestedFieldNoCopy(deployment, "spec")
	if err != nil {
		return parts{}, err
	}
	pod, _, err := unstructured.NestedFieldNoCopy(deployment, "spec", "template", "spec")
	if err != nil {
		return parts{}, err
	}
	p := parts{}
	p.spec, _ = spec.(map[string]any)
	p.pod, _ = pod.(map[string]any)
	containers, _ := p.pod["containers"].([]any)
	if len(containers) != 1 {
		return parts{}, fmt.Errorf("%d containers, and the chart is made for one", len(containers))
	}
	p.manager, _ = containers[0].(map[string]any)
	return p, nil
}

// What Helm asks of a chart's version.
var semantic = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// fill puts the defaults into Chart.yaml and values.yaml: those of the Deployment.
func fill(text string, deployment *unstructured.Unstructured, release Release) (string, error) {
	if !semantic.MatchString(release.Version) {
		return "", fmt.Errorf("%q is no semantic version such as 1.2.3", release.Version)
	}
	p, err := partsOf(deployment.Object)
	if err != nil {
		return "", err
	}
	args, _ := p.manager["args"].([]any)
	metrics := slices.Index(args, any(metricsArg))
	if metrics != 0 {
		return "", fmt.Errorf("%s is argument %d of the manager, not the first", metricsArg, metrics)
	}
	image, err := parse(release.Image)
	if err != nil {
		return "", err
	}
	data := map[string]any{"version": release.Version, "image": image, "replicas": p.spec["replicas"], "args": args[1:]}
	for _, c := range choices {
		data[c.value] = c.in(p)[c.key]
	}
	var out strings.Builder
	t, err := template.New("").Delims("[[", "]]").Funcs(template.FuncMap{"yaml": indented}).Option("missingkey=error").Parse(text)
	if err == nil {
		err = t.Execute(&out, data)
	}
	return out.String(), err
}

// indented is a value as YAML below a key: on the key's line if it is empty.
func indented(value any, columns int) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", err
	}
	switch lines := strings.TrimSpace(string(text)); lines {
	case "[]", "{}":
		return " " + lines, nil
	default:
		by := "\n" + strings.Repeat(" ", columns)
		return by + strings.ReplaceAll(lines, "\n", by), nil
	}
}

// image is the name of one, taken apart.
type image struct{ Repository, Tag, Digest string }

// parse takes an image's name apart. A colon before the last slash is a port.
func parse(name string) (image, error) {
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
