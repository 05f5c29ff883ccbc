// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
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

type object = *unstructured.Unstructured

// parts are the objects of kustomize by what they become in a bundle.
type parts struct {
	csv, deployment, account object
	crds, shipped, samples   []object
	roles, bindings          []object
}

// classify finds the part of every object. An unknown kind is an error, so that no object is left out by
// accident.
func classify(objects []object) (*parts, error) {
	p := &parts{}
	var groups []string
	for _, o := range objects {
		switch kind := o.GetKind(); kind {
		case "ClusterServiceVersion":
			p.csv = o
		case "Deployment":
			p.deployment = o
		case "ServiceAccount":
			p.account = o
		case "CustomResourceDefinition":
			p.crds = append(p.crds, o)
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			groups = append(groups, group)
		case "Role", "ClusterRole":
			p.roles = append(p.roles, o)
		case "RoleBinding", "ClusterRoleBinding":
			p.bindings = append(p.bindings, o)
		case "Service":
			p.shipped = append(p.shipped, o)
		case "Namespace":
			// OLM creates it.
		default:
			if !slices.Contains(groups, o.GroupVersionKind().Group) {
				return nil, fmt.Errorf("%s %s: the bundle has no place for it; see classify in hack/olm", kind, o.GetName())
			}
			p.samples = append(p.samples, o)
		}
	}
	return p, p.complete()
}

func (p *parts) complete() error {
	if p.csv == nil || p.deployment == nil || p.account == nil || len(p.crds) == 0 {
		return errors.New("no ClusterServiceVersion, Deployment, ServiceAccount or CRD; " +
			"pipe the output of 'kustomize build config/manifests' into this program")
	}
	return nil
}

// manifests returns what the bundle has besides the ClusterServiceVersion: everything
// that OLM does not derive from it.
func (p *parts) manifests() []object {
	all := append(append([]object{}, p.crds...), p.shipped...)
	for _, role := range p.roles {
		if !p.bound(role) {
			all = append(all, role)
		}
	}
	return all
}

// bound returns whether the operator has a role.
func (p *parts) bound(role object) bool {
	for _, b := range p.bindings {
		ref, _, _ := unstructured.NestedStringMap(b.Object, "roleRef")
		if ref["kind"] == role.GetKind() && ref["name"] == role.GetName() {
			return true
		}
	}
	return false
}

// serviceVersion fills the ClusterServiceVersion.
func (p *parts) serviceVersion(r release) (object, error) {
	csv := p.csv.DeepCopy()
	csv.SetName(name + ".v" + r.version)
	var samples []map[string]any
	for _, o := range p.samples {
		samples = append(samples, o.Object)
	}
	examples, err := json.MarshalIndent(samples, "", "  ") // which the OpenShift console shows
	if err != nil {
		return nil, err
	}
	annotations := csv.GetAnnotations()
	annotations["alm-examples"] = string(examples)
	annotations["containerImage"] = r.image
	annotations["repository"] = r.repository
	// Any older version can be upgraded directly: no state is outside of the snapshots.
	annotations["olm.skipRange"] = "<" + r.version
	csv.SetAnnotations(annotations)

	deployment, err := p.managerDeployment(r.image)
	if err != nil {
		return nil, err
	}
	owned, err := p.ownedCRDs()
	if err != nil {
		return nil, err
	}
	spec := csv.Object["spec"].(map[string]any)
	spec["version"] = r.version
	spec["links"] = []any{map[string]any{"name": "Documentation", "url": r.repository}}
	spec["relatedImages"] = []any{map[string]any{"name": "manager", "image": r.image}}
	spec["customresourcedefinitions"] = map[string]any{"owned": owned}
	spec["install"].(map[string]any)["spec"] = map[string]any{
		"deployments":        []any{deployment},
		"clusterPermissions": p.permissions("ClusterRole"),
		"permissions":        p.permissions("Role"),
	}
	return csv, nil
}

// permissions returns the rules of all bound roles of a kind, as one entry: they have
// the same account.
func (p *parts) permissions(kind string) []any {
	var rules []any
	for _, role := range p.roles {
		if role.GetKind() == kind && p.bound(role) {
			more, _, _ := unstructured.NestedSlice(role.Object, "rules")
			rules = append(rules, more...)
		}
	}
	return []any{map[string]any{"serviceAccountName": p.account.GetName(), "rules": rules}}
}

func (p *parts) managerDeployment(image string) (map[string]any, error) {
	d := p.deployment.DeepCopy()
	containers, _, err := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		return nil, fmt.Errorf("the Deployment has %d containers, not one: %w", len(containers), err)
	}
	containers[0].(map[string]any)["image"] = image
	err = unstructured.SetNestedSlice(d.Object, containers, "spec", "template", "spec", "containers")
	labels, _, _ := unstructured.NestedMap(d.Object, "metadata", "labels")
	return map[string]any{"name": d.GetName(), "label": labels, "spec": d.Object["spec"]}, err
}

// ownedCRDs describes every served version of the CRDs.
func (p *parts) ownedCRDs() ([]any, error) {
	var all []any
	for _, crd := range p.crds {
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", crd.GetName(), err)
		}
		for _, v := range versions {
			version := v.(map[string]any)
			description, _, _ := unstructured.NestedString(version, "schema", "openAPIV3Schema", "description")
			if kind == "" || description == "" {
				return nil, fmt.Errorf("%s: a version has no kind or description", crd.GetName())
			}
			all = append(all, map[string]any{
				"name": crd.GetName(), "kind": kind, "version": version["name"], "displayName": kind, "description": description,
			})
		}
	}
	return all, nil
}
