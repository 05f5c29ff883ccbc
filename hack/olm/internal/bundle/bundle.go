// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle generates a bundle of the Operator Lifecycle Manager, in the format
// registry+v1, from the output of kustomize.
package bundle

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	name    = "snapshotschedule"
	channel = "alpha"
)

// Release is what differs between releases.
type Release struct {
	// Version is a semantic version.
	Version string
	// Image is the manager's image.
	Image string
	// Repository is the URL of the source.
	Repository string
}

func (r Release) validate() error {
	switch {
	case !semanticVersion.MatchString(r.Version):
		return fmt.Errorf("%q is not a semantic version such as 1.2.3", r.Version)
	case r.Image == "":
		return errors.New("the release has no image")
	case !strings.HasPrefix(r.Repository, "https://"):
		return fmt.Errorf("the repository %q is not an https URL", r.Repository)
	}
	return nil
}

var semanticVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// Build returns the bundle's files by path.
func Build(objects []*unstructured.Unstructured, r Release) (map[string]string, error) {
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
	files := map[string]string{
		"metadata/annotations.yaml": annotationsFile(),
		"bundle.Dockerfile":         dockerfile(),
	}
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

// annotation of a bundle, which is in its metadata and on its image.
func annotations() [][2]string {
	const prefix = "operators.operatorframework.io.bundle."
	return [][2]string{
		{prefix + "mediatype.v1", "registry+v1"},
		{prefix + "manifests.v1", "manifests/"},
		{prefix + "metadata.v1", "metadata/"},
		{prefix + "package.v1", name},
		{prefix + "channels.v1", channel},
		{prefix + "channel.default.v1", channel},
	}
}

func annotationsFile() string {
	var b strings.Builder
	b.WriteString("annotations:\n")
	for _, a := range annotations() {
		fmt.Fprintf(&b, "  %s: %s\n", a[0], a[1])
	}
	return b.String()
}

func dockerfile() string {
	var b strings.Builder
	b.WriteString("FROM scratch\n")
	for _, a := range annotations() {
		fmt.Fprintf(&b, "LABEL %s=%s\n", a[0], a[1])
	}
	b.WriteString("COPY manifests /manifests/\nCOPY metadata /metadata/\n")
	return b.String()
}
