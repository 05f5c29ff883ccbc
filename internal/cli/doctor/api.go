// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// definition is a CustomResourceDefinition that is needed, in a version.
type definition struct {
	name, version string
	// ours has the Go type of a kind of this project. optional is needed for groups only.
	ours     reflect.Type
	optional bool
}

var definitions = []definition{
	{name: "volumesnapshots." + snapshotv1.GroupName, version: "v1"},
	{name: "volumesnapshotclasses." + snapshotv1.GroupName, version: "v1"},
	{name: "volumesnapshotcontents." + snapshotv1.GroupName, version: "v1"},
	{name: "volumegroupsnapshots." + groupv1.GroupName, version: "v1", optional: true},
	{name: "volumegroupsnapshotclasses." + groupv1.GroupName, version: "v1", optional: true},
	{name: "volumegroupsnapshotcontents." + groupv1.GroupName, version: "v1", optional: true},
	{name: "snapshotschedules." + v1alpha1.GroupName, version: "v1alpha1", ours: reflect.TypeFor[v1alpha1.SnapshotSchedule]()},
	{name: "clustersnapshotschedules." + v1alpha1.GroupName, version: "v1alpha1", ours: reflect.TypeFor[v1alpha1.ClusterSnapshotSchedule]()},
}

// Where the missing definitions are.
const (
	installSnapshots = "kubectl apply -k 'https://github.com/kubernetes-csi/external-snapshotter/client/config/crd?ref=v8.7.0'"
	installOurs      = "install the CustomResourceDefinitions of the operator's release again: crds.yaml, or the chart"
)

func checkDefinitions(s *seen) (all found) {
	if s.denied(&all, "customresourcedefinitions") {
		return all
	}
	groups := slices.ContainsFunc(s.schedules, func(x *v1alpha1.SnapshotSchedule) bool { return x.Spec.Group != nil })
	for _, d := range definitions {
		fix := installSnapshots
		if d.ours != nil {
			fix = installOurs
		}
		o := s.definitions[d.name]
		switch served := servedVersions(o); {
		case o == nil && d.optional && !groups:
			all.ok("%s is not installed; only schedules with groups need it", d.name)
		case o == nil:
			all.problem(fix, "%s is not installed", d.name)
		case !slices.Contains(served, d.version) && d.optional && !groups:
			all.ok("%s serves %s, and not %s, which only schedules with groups need", d.name, strings.Join(served, ", "), d.version)
		case !slices.Contains(served, d.version):
			all.problem(fix, "%s serves %s, and not %s", d.name, strings.Join(served, ", "), d.version)
		case d.ours != nil:
			checkSchema(&all, &d, o)
		default:
			all.ok("%s serves %s", d.name, d.version)
		}
	}
	return all
}

func servedVersions(o *unstructured.Unstructured) (served []string) {
	for _, v := range versionsOf(o) {
		if is, _, _ := unstructured.NestedBool(v, "served"); is {
			name, _, _ := unstructured.NestedString(v, "name")
			served = append(served, name)
		}
	}
	return served
}

func versionsOf(o *unstructured.Unstructured) (all []map[string]any) {
	if o == nil {
		return nil
	}
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, v := range versions {
		if fields, is := v.(map[string]any); is {
			all = append(all, fields)
		}
	}
	return all
}

// checkSchema compares the fields of a definition with those that this program knows.
func checkSchema(all *found, d *definition, o *unstructured.Unstructured) {
	var stored []string
	for _, v := range versionsOf(o) {
		if v["name"] == d.version {
			schema, _, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema")
			stored = fieldsIn("", schema)
		}
	}
	known := fieldsOf("", d.ours)
	lacks := slices.DeleteFunc(slices.Clone(known), func(f string) bool { return slices.Contains(stored, f) })
	more := slices.DeleteFunc(stored, func(f string) bool { // those of a condition are Kubernetes' own
		return slices.Contains(known, f) || strings.HasPrefix(f, "status.conditions.")
	})
	if len(lacks) > 0 {
		all.problem(installOurs, "%s is older than this plugin: it has no field %s", d.name, listed(lacks))
	}
	if len(more) > 0 {
		all.problem("install the plugin of the operator's release", "%s is newer than this plugin, which knows no field %s", d.name, listed(more))
	}
	if len(lacks)+len(more) == 0 {
		all.ok("%s has the fields that this plugin knows", d.name)
	}
}

// fieldsIn returns the paths of the fields below spec and status in a schema.
func fieldsIn(path string, schema map[string]any) (all []string) {
	if items, is := schema["items"].(map[string]any); is {
		return fieldsIn(path, items)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, inner := range properties {
		if path == "" && name != "spec" && name != "status" {
			continue
		}
		below := strings.TrimPrefix(path+"."+name, ".")
		if path != "" {
			all = append(all, below)
		}
		if inner, is := inner.(map[string]any); is {
			all = append(all, fieldsIn(below, inner)...)
		}
	}
	return all
}

// fieldsOf returns the same of a Go type, as far as its types are of this project.
func fieldsOf(path string, t reflect.Type) (all []string) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		ours := inner.Kind() == reflect.Struct && inner.PkgPath() == reflect.TypeFor[v1alpha1.Duration]().PkgPath()
		below := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case strings.Contains(options, "inline") && ours:
			all = append(all, fieldsOf(path, inner)...)
			continue
		case name == "" || path == "" && name != "spec" && name != "status":
			continue
		case path != "":
			all = append(all, below)
		}
		if ours {
			all = append(all, fieldsOf(below, inner)...)
		}
	}
	return all
}

// listed are some names, not too many.
func listed(all []string) string {
	slices.Sort(all)
	if more := len(all) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:3], ", "), more)
	}
	return strings.Join(all, ", ")
}

// names are what users type for the kinds that they need, with the group that is meant.
var names = map[string]string{
	"snapshotschedules": v1alpha1.GroupName, "snapshotschedule": v1alpha1.GroupName, "snapsched": v1alpha1.GroupName,
	"clustersnapshotschedules": v1alpha1.GroupName, "clustersnapshotschedule": v1alpha1.GroupName, "csnapsched": v1alpha1.GroupName,
	"volumesnapshots": snapshotv1.GroupName, "volumesnapshot": snapshotv1.GroupName, "vs": snapshotv1.GroupName,
	"volumegroupsnapshots": groupv1.GroupName, "volumegroupsnapshot": groupv1.GroupName, "vgs": groupv1.GroupName,
}

// checkNames finds the kinds of others that kubectl may take for ours.
func checkNames(s *seen) (all found) {
	taken := map[string]bool{}
	for _, list := range s.resources {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			for _, name := range append([]string{r.Name, r.SingularName}, r.ShortNames...) {
				group, ours := names[name]
				text := fmt.Sprintf("%s is a name of %s.%s too", name, r.Name, gv.Group)
				if !ours || group == gv.Group || taken[text] {
					continue
				}
				taken[text] = true
				all.problem(fmt.Sprintf("kubectl get %s.%s", name, group), "%s: kubectl may show that kind; write the group, too", text)
			}
		}
	}
	if len(all) == 0 {
		all.ok("no other kind takes the names of schedules and snapshots")
	}
	return all
}
