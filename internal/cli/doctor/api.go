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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	texts "mapcontroller.dev/snapshotschedule/internal/report"
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

// What installs the definitions. The files are those of a release of this project.
const (
	installSnapshots = "kubectl apply -k 'https://github.com/kubernetes-csi/external-snapshotter/client/config/crd?ref=v8.7.0'"
	installOurs      = "kubectl apply --server-side -f dist/crds.yaml"
	installRelease   = installOurs + " -f dist/install.yaml"
)

// customResource is what is read of a CustomResourceDefinition.
type customResource struct {
	Spec struct {
		Versions []customVersion `json:"versions"`
	} `json:"spec"`
}

type customVersion struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
	Schema struct {
		Root properties `json:"openAPIV3Schema"`
	} `json:"schema"`
}

// properties are the fields in a schema.
type properties struct {
	Properties map[string]properties `json:"properties"`
	Items      *properties           `json:"items"`
}

func checkDefinitions(s *seen) (all found) {
	if s.denied(&all, "customresourcedefinitions") {
		return all
	}
	for _, d := range definitions {
		fix, lacks := installSnapshots, "is not installed"
		if d.ours != nil {
			fix = installOurs
		}
		var schema properties
		if o := s.definitions[d.name]; o != nil {
			var versions []string
			for _, v := range o.Spec.Versions {
				if v.Served {
					versions = append(versions, v.Name)
				}
				if v.Name == d.version {
					schema = v.Schema.Root
				}
			}
			if lacks = ""; !slices.Contains(versions, d.version) {
				lacks = fmt.Sprintf("serves %s, and not %s", strings.Join(versions, ", "), d.version)
			}
		}
		switch {
		case lacks != "" && d.optional && !s.groups():
			all.ok("%s %s; only schedules with groups need it", d.name, lacks)
		case lacks != "":
			all.problem(fix, "%s %s", d.name, lacks)
		case d.ours != nil:
			checkSchema(&all, &d, schema)
		default:
			all.ok("%s serves %s", d.name, d.version)
		}
	}
	return all
}

// checkSchema compares the fields of a definition with those that this program knows.
func checkSchema(all *found, d *definition, schema properties) {
	known, stored := sets.New[string](), sets.New[string]()
	for path, name := range map[string]string{"spec": "Spec", "status": "Status"} {
		field, _ := d.ours.FieldByName(name)
		addKnown(known, path, field.Type)
		addStored(stored, path, schema.Properties[path])
	}
	lacks, more := known.Difference(stored), stored.Difference(known)
	if lacks.Len() > 0 {
		all.problem(installOurs, "%s is older than this plugin: it has no field %s; install those of this plugin's release, or upgrade the chart",
			d.name, texts.List(sets.List(lacks), fieldsShown))
	}
	if more.Len() > 0 {
		all.problem("", "%s is newer than this plugin, which knows no field %s: install the plugin of the operator's release",
			d.name, texts.List(sets.List(more), fieldsShown))
	}
	if lacks.Len()+more.Len() == 0 {
		all.ok("%s has the fields that this plugin knows", d.name)
	}
}

// fieldsShown is how many bytes of fields a point names.
const fieldsShown = 120

// addStored adds the paths of the fields below a path in a schema. Those of a condition are Kubernetes' own.
func addStored(all sets.Set[string], path string, schema properties) {
	if schema.Items != nil {
		schema = *schema.Items
	}
	for name, inner := range schema.Properties {
		if path != "status.conditions" {
			all.Insert(path + "." + name)
			addStored(all, path+"."+name, inner)
		}
	}
}

// addKnown adds the same of a Go type, as far as it is of this project.
func addKnown(all sets.Set[string], path string, t reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1alpha1.Duration]().PkgPath() {
		return
	}
	for field := range t.Fields() {
		below := path
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" { // else its fields are inline
			below += "." + name
			all.Insert(below)
		}
		addKnown(all, below, field.Type)
	}
}

// checkNames finds the kinds of others that kubectl may take for those of schedules and snapshots.
func checkNames(s *seen) (all found) {
	ours, taken := map[string]string{}, sets.New[string]() // names, with their groups
	each := func(do func(name, resource, group string)) {
		for _, list := range s.resources {
			gv, _ := schema.ParseGroupVersion(list.GroupVersion)
			for i := range list.APIResources {
				r := &list.APIResources[i]
				if strings.Contains(r.Name, "/") { // nobody types a subresource
					continue
				}
				for _, name := range slices.Concat([]string{r.Name, r.SingularName}, r.ShortNames, r.Categories) {
					do(name, r.Name, gv.Group)
				}
			}
		}
	}
	isOurs := func(group string) bool {
		return group == v1alpha1.GroupName || group == snapshotv1.GroupName || group == groupv1.GroupName
	}
	each(func(name, _, group string) {
		if isOurs(group) {
			ours[name] = group
		}
	})
	each(func(name, resource, group string) {
		of := ours[name]
		text := fmt.Sprintf("%s is a name of %s.%s too", name, resource, group)
		if of == "" || name == "" || isOurs(group) || taken.Has(text) {
			return
		}
		taken.Insert(text)
		all.problem(command("kubectl get %s", name+"."+of), "%s: kubectl may show that kind; write the group, too", text)
	})
	if len(all) == 0 {
		all.ok("no other kind takes the names of schedules and snapshots")
	}
	return all
}
