// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
	"mapcontroller.dev/snapshotschedule/internal/version"
)

// checkOperator says whether the operator lives, and of which version it is.
func checkOperator(s *seen) (all found) {
	namespace := view.DocumentedNamespace
	if len(s.deployments) > 0 {
		namespace = s.deployments[0].Namespace
	}
	if s.lease != nil {
		namespace = s.lease.Namespace
	}
	fix := fmt.Sprintf("kubectl -n %s get pods,lease", term.ShellWord(namespace))
	if s.lease == nil {
		all.unknown(fix, "its lease is not found, or you may not read it: whether it lives is not known")
	} else if silent := state.SilentFor(s.lease, s.now); silent > 0 {
		all.problem(fix, "it shows no sign of life since %s", duration.HumanDuration(silent))
	} else {
		all.ok("it renews its lease")
	}
	if s.denied(&all, "deployments") {
		return all
	}
	if len(s.deployments) == 0 {
		all.unknown("kubectl get deployments -A -l app.kubernetes.io/name=snapshotschedule",
			"no Deployment of it is found: its version is not known")
	}
	plugin := version.Get().Version
	for i := range s.deployments {
		d := &s.deployments[i]
		image := view.ManagerImage(d)
		switch runs := tagOf(image); {
		case runs == "":
			all.unknown("", "Deployment %s/%s runs %q, which does not say its version", d.Namespace, d.Name, image)
		case version.Image() == "":
			all.unknown("", "Deployment %s/%s runs %s; this plugin is a development build, and cannot compare", d.Namespace, d.Name, image)
		case runs != plugin && "v"+runs != plugin:
			all.problem("install the plugin and the operator of the same release",
				"Deployment %s/%s runs version %s, and this plugin is %s", d.Namespace, d.Name, runs, plugin)
		default:
			all.ok("Deployment %s/%s runs %s, as this plugin", d.Namespace, d.Name, runs)
		}
	}
	return all
}

// tagOf returns the tag of an image; empty if it has none.
func tagOf(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		return name[at+1:]
	}
	return ""
}

// rights are what the operator may do, by group and resource. A test compares them with its roles.
var rights = []struct{ group, resource, verbs string }{
	{"", "namespaces", "get"},
	{"", "persistentvolumeclaims", "get list watch"},
	{"events.k8s.io", "events", "create patch"},
	{snapshotv1.GroupName, "volumesnapshotclasses", "list watch"},
	{snapshotv1.GroupName, "volumesnapshots", "create delete get list patch watch"},
	{groupv1.GroupName, "volumegroupsnapshotclasses", "list watch"},
	{groupv1.GroupName, "volumegroupsnapshots", "create delete get list patch watch"},
	{v1alpha1.GroupName, "snapshotschedules", "get list patch watch"},
	{"", "namespaces", "list watch"},
	{v1alpha1.GroupName, "clustersnapshotschedules", "get list patch watch"},
	{v1alpha1.GroupName, "clustersnapshotschedules/finalizers", "update"},
	{v1alpha1.GroupName, "clustersnapshotschedules/status", "patch"},
	{v1alpha1.GroupName, "snapshotschedules", "create delete"},
	{v1alpha1.GroupName, "snapshotschedules/finalizers", "update"},
	{v1alpha1.GroupName, "snapshotschedules/status", "patch"},
}

// lackingRights asks the API server what the accounts of the operator may not do in the whole cluster.
func lackingRights(ctx context.Context, f *term.Factory, deployments []appsv1.Deployment) (lacking []string, asked bool, err error) {
	for i := range deployments {
		account := cmp.Or(deployments[i].Spec.Template.Spec.ServiceAccountName, "default")
		user := fmt.Sprintf("system:serviceaccount:%s:%s", deployments[i].Namespace, account)
		for _, r := range rights {
			resource, below, _ := strings.Cut(r.resource, "/")
			for verb := range strings.FieldsSeq(r.verbs) {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + deployments[i].Namespace, "system:authenticated"},
					ResourceAttributes: &authorizationv1.ResourceAttributes{Group: r.group, Resource: resource, Subresource: below, Verb: verb},
				}}
				if err := f.Client.Create(ctx, review); err != nil {
					return nil, false, err
				}
				if !review.Status.Allowed {
					lacking = append(lacking, fmt.Sprintf("kubectl auth can-i %s %s --as %s -A", verb, qualified(r.resource, r.group), user))
				}
			}
		}
		asked = true
	}
	return lacking, asked, nil
}

// qualified is a resource as kubectl takes it.
func qualified(resource, group string) string {
	name, below, found := strings.Cut(resource, "/")
	if group != "" {
		name += "." + group
	}
	if found {
		name += " --subresource=" + below
	}
	return name
}

func checkRights(s *seen) (all found) {
	switch {
	case s.denied(&all, "subjectaccessreviews"):
	case !s.asked:
		all.unknown("", "no Deployment of the operator is found, which names its account")
	case len(s.lacking) > 0:
		all.problem(strings.Join(s.lacking, "\n"),
			"the operator lacks %s; install its release again, or, if it has roles in single namespaces, compare them",
			term.Plural(len(s.lacking), "right"))
	default:
		all.ok("it has all that its release asks for")
	}
	return all
}
