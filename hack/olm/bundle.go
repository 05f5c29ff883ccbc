// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const name = "snapshotschedule"

// release is what differs between releases.
type release struct{ version, image, repository string }

func (r release) validate() error {
	switch {
	case !semanticVersion.MatchString(r.version):
		return fmt.Errorf("%q is not a semantic version such as 1.2.3", r.version)
	case r.image == "":
		return errors.New("the release has no image")
	case !strings.HasPrefix(r.repository, "https://"):
		return fmt.Errorf("the repository %q is not an https URL", r.repository)
	}
	return nil
}

var semanticVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// build returns the bundle's files by path.
func build(objects []object, r release) (map[string]string, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	p, err := classify(objects)
	if err != nil {
		return nil, err
	}
	csv, err := p.serviceVersion(r)
	if err != nil {
		return nil, err
	}
	files := map[string]string{"metadata/annotations.yaml": "annotations:\n", "bundle.Dockerfile": "FROM scratch\n"}
	for _, a := range annotations {
		files["metadata/annotations.yaml"] += fmt.Sprintf("  %s: %s\n", a[0], a[1])
		files["bundle.Dockerfile"] += fmt.Sprintf("LABEL %s=%s\n", a[0], a[1])
	}
	files["bundle.Dockerfile"] += "COPY manifests /manifests/\nCOPY metadata /metadata/\n"
	for _, o := range append(p.manifests(), csv) {
		// OLM sets the namespace.
		unstructured.RemoveNestedField(o.Object, "metadata", "namespace")
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		path := fmt.Sprintf("manifests/%s.%s.yaml", o.GetName(), strings.ToLower(o.GetKind()))
		if o == csv {
			path = "manifests/" + name + ".clusterserviceversion.yaml"
		}
		files[path] = string(text)
	}
	return files, nil
}

const prefix = "operators.operatorframework.io.bundle."

// annotations are in the bundle's metadata and on its image.
var annotations = [][2]string{
	{prefix + "mediatype.v1", "registry+v1"},
	{prefix + "manifests.v1", "manifests/"},
	{prefix + "metadata.v1", "metadata/"},
	{prefix + "package.v1", name},
	{prefix + "channels.v1", "alpha"},
	{prefix + "channel.default.v1", "alpha"},
}
