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
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
	"mapcontroller.dev/snapshotschedule/internal/version"
)

// checkOperator says whether the operator lives, and of which version it is.
func checkOperator(s *seen) (all found) {
	lives := s.lease != nil && state.SilentFor(s.lease, s.now) == 0
	switch {
	case lives:
		all.ok("it renews its lease")
	case s.lease != nil:
		all.problem(state.SilenceCommand(s.lease.Namespace), "it shows no sign of life since %s", term.Rounded(state.SilentFor(s.lease, s.now)))
	case len(s.deployments) == 0:
		all.unknown(state.SilenceCommand(""), "its lease is not found, or you may not read it: whether it lives is not known")
	}
	if s.denied(&all, "deployments") {
		return all
	}
	if len(s.deployments) == 0 {
		all.unknown("kubectl get deployments -A -l app.kubernetes.io/name=snapshotschedule",
			"no Deployment of it is found: its version is not known")
	}
	for i := range s.deployments {
		d := &s.deployments[i]
		switch {
		case lives:
		case ptr.Deref(d.Spec.Replicas, 1) == 0:
			all.problem(command("kubectl -n %s scale deployment %s --replicas=2", d.Namespace, d.Name),
				"Deployment %s/%s is scaled to none: no snapshot is taken", d.Namespace, d.Name)
		case d.Status.ReadyReplicas == 0:
			all.problem(state.SilenceCommand(d.Namespace), "no pod of Deployment %s/%s is ready", d.Namespace, d.Name)
		case s.lease == nil: // it takes no part in leader election, or you may not read the lease
			all.ok("%s of Deployment %s/%s: ready", term.Plural(int(d.Status.ReadyReplicas), "pod"), d.Namespace, d.Name)
		}
		checkVersion(&all, d)
	}
	return all
}

// checkVersion compares the operator with this plugin.
func checkVersion(all *found, d *appsv1.Deployment) {
	image := view.ManagerImage(d)
	runs, err := utilversion.ParseSemantic(tagOf(image))
	plugin, ownErr := utilversion.ParseSemantic(version.Get().Version)
	switch {
	case err != nil:
		all.unknown("", "Deployment %s/%s runs %q, which does not say its version", d.Namespace, d.Name, image)
	case ownErr != nil || version.Image() == "":
		all.unknown("", "Deployment %s/%s runs %s; this plugin is a development build, and cannot compare", d.Namespace, d.Name, image)
	case runs.LessThan(plugin):
		all.problem(installRelease, "Deployment %s/%s runs version %s, which is older than this plugin, %s: install this plugin's release, "+
			"or upgrade the chart", d.Namespace, d.Name, runs, plugin)
	case plugin.LessThan(runs):
		all.problem("", "Deployment %s/%s runs version %s, which is newer than this plugin, %s: install the plugin of its release",
			d.Namespace, d.Name, runs, plugin)
	default:
		all.ok("Deployment %s/%s runs %s, as this plugin", d.Namespace, d.Name, runs)
	}
}

// tagOf returns the tag of an image; empty if it has none.
func tagOf(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		return name[at+1:]
	}
	return ""
}

// rights are what the operator may do, by group and resource. A test compares them with its roles. One that is confined to some
// namespaces does without those that everywhere is set for.
var rights = []struct {
	group, resource, verbs string
	everywhere             bool
}{
	{"", "namespaces", "get", false},
	{"", "persistentvolumeclaims", "get list watch", false},
	{"events.k8s.io", "events", "create patch", false},
	{groupv1.GroupName, "volumegroupsnapshotclasses", "list watch", true},
	{groupv1.GroupName, "volumegroupsnapshots", "create delete get list patch watch", false},
	{snapshotv1.GroupName, "volumesnapshotclasses", "list watch", true},
	{snapshotv1.GroupName, "volumesnapshots", "create delete get list patch watch", false},
	{v1alpha1.GroupName, "snapshotschedules", "get list patch watch", false},
	{v1alpha1.GroupName, "snapshotschedules/finalizers", "update", false},
	{v1alpha1.GroupName, "snapshotschedules/status", "patch", false},
	{"", "namespaces", "list watch", true},
	{v1alpha1.GroupName, "clustersnapshotschedules", "get list patch watch", true},
	{v1alpha1.GroupName, "clustersnapshotschedules/finalizers", "update", true},
	{v1alpha1.GroupName, "clustersnapshotschedules/status", "patch", true},
	{v1alpha1.GroupName, "snapshotschedules", "create delete", true},
}

// lackingRights asks the API server what the account of an operator may not do, in the whole cluster or in the namespaces to which it is
// confined. It returns the commands that ask for that.
func lackingRights(ctx context.Context, f *term.Factory, d *appsv1.Deployment) (lacking []string, err error) {
	account, confined := cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default"), view.ManagerFlag(d, "watch-namespaces")
	user := fmt.Sprintf("system:serviceaccount:%s:%s", d.Namespace, account)
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + d.Namespace, "system:authenticated"}
	for namespace := range strings.SplitSeq(confined, ",") {
		for _, r := range rights {
			resource, below, _ := strings.Cut(r.resource, "/")
			for verb := range strings.FieldsSeq(r.verbs) {
				if confined != "" && r.everywhere {
					continue
				}
				right := &authorizationv1.ResourceAttributes{Namespace: namespace, Group: r.group, Resource: resource, Subresource: below, Verb: verb}
				review := &authorizationv1.SubjectAccessReview{
					Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups, ResourceAttributes: right},
				}
				if err := f.Client.Create(ctx, review); err != nil {
					return nil, err
				}
				if line := term.CanI(right) + " --as " + user; !review.Status.Allowed && namespace != "" {
					lacking = append(lacking, line)
				} else if !review.Status.Allowed {
					lacking = append(lacking, line+" -A")
				}
			}
		}
	}
	return lacking, nil
}

func checkRights(s *seen) (all found) {
	fix := strings.Join(s.lacking, "\n")
	if strings.HasSuffix(fix, " -A") { // else it is confined, and each namespace has its roles
		fix = installRelease + "\n" + fix
	}
	switch {
	case s.denied(&all, "subjectaccessreviews"):
	case len(s.deployments) == 0:
		all.unknown("", "no Deployment of the operator is found, which names its account")
	case len(s.lacking) > 0:
		all.problem(fix, "the operator lacks %s: apply the roles of its release again, from dist/install.yaml, the chart or config/namespaced",
			term.Plural(len(s.lacking), "right"))
	default:
		all.ok("it has all that its release asks for")
	}
	return all
}
