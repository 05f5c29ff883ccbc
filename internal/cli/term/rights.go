// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"fmt"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// needed is the annotation of a command with the permissions that it needs.
const needed = "needed"

// Needs says which permissions a command needs, whatever it finds. Its reference page and its errors are made of this text; a test
// runs each command with exactly these, as far as no storage is needed for that. A line has verbs and resources, and says when: an
// argument in capitals stands for any.
//
//	list persistentvolumeclaims volumesnapshots
//	get snapshotschedules if NAME --delete
//	list snapshotschedules unless NAME
//	create persistentvolumeclaims in --to-namespace
func Needs(cmd *cobra.Command, lines string) { annotate(cmd, needed, lines) }

// ToInspect is what a command needs that shows one schedule, or all.
const ToInspect = `get snapshotschedules if NAME
list snapshotschedules unless NAME
list persistentvolumeclaims volumesnapshots`

// annotate sets an annotation of a command.
func annotate(cmd *cobra.Command, key, value string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = value
}

// need is a line of Needs. Its condition has the words if, unless and in; empty for always.
type need struct {
	verbs, resources []string
	condition        string
	flags            []string
}

var verbs = []string{"get", "list", "watch", "create", "patch", "delete"}

func needsOf(cmd *cobra.Command) (all []need) {
	for line := range strings.Lines(cmd.Annotations[needed]) {
		var one need
		for word := range strings.FieldsSeq(line) {
			switch {
			case slices.Contains(verbs, word):
				one.verbs = append(one.verbs, word)
			case slices.Contains([]string{"if", "unless", "in"}, word):
				one.condition = word
			case one.condition != "":
				one.flags = append(one.flags, word)
			default:
				one.resources = append(one.resources, word)
			}
		}
		if len(one.verbs) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// RightsInWords returns the permissions that a command needs, in Markdown: an item for each condition.
func RightsInWords(cmd *cobra.Command) string {
	var conditions []string
	rights := map[string][]string{}
	for _, one := range needsOf(cmd) {
		when := map[string]string{"if": "with ", "unless": "without ", "in": "in the namespace of "}[one.condition]
		when += strings.Join(quoted(one.flags), " or ")
		if rights[when] == nil {
			conditions = append(conditions, when)
		}
		rights[when] = append(rights[when], strings.Join(quoted(one.verbs), ", ")+" "+strings.Join(one.resources, ", "))
	}
	var text strings.Builder
	for _, when := range conditions {
		text.WriteString("- " + strings.TrimPrefix(when+": ", ": ") + strings.Join(rights[when], "; ") + "\n")
	}
	return text.String()
}

func quoted(words []string) (all []string) {
	for _, word := range words {
		all = append(all, "`"+word+"`")
	}
	return all
}

// groups are the API groups of resources that have one.
var groups = map[string]string{
	"snapshotschedules": v1alpha1.GroupName, "clustersnapshotschedules": v1alpha1.GroupName, "volumesnapshots": snapshotv1.GroupName,
	"volumesnapshotcontents": snapshotv1.GroupName, "volumesnapshotclasses": snapshotv1.GroupName,
	"volumegroupsnapshots": groupv1.GroupName, "volumegroupsnapshotclasses": groupv1.GroupName,
	"volumegroupsnapshotcontents": groupv1.GroupName, "storageclasses": "storage.k8s.io",
	"jobs": "batch", "replicasets": "apps", "deployments": "apps", "statefulsets": "apps",
}

// clusterScoped are the resources that are in no namespace.
var clusterScoped = []string{
	"clustersnapshotschedules", "volumesnapshotcontents", "volumesnapshotclasses", "volumegroupsnapshotclasses", "storageclasses",
	"persistentvolumes", "namespaces", "volumegroupsnapshotcontents",
}

// Rights are some verbs on a resource, without a namespace in the whole cluster.
func Rights(namespace, resource string, verbs ...string) (all []authorizationv1.ResourceAttributes) {
	of := schema.ParseGroupResource(resource)
	if group := groups[resource]; group != "" {
		of.Group = group
	}
	if slices.Contains(clusterScoped, resource) {
		namespace = ""
	}
	for _, verb := range verbs {
		all = append(all, authorizationv1.ResourceAttributes{Namespace: namespace, Group: of.Group, Resource: of.Resource, Verb: verb})
	}
	return all
}

// RightsOf are the permissions that a command needs with the flags and arguments that it was given.
func (f *Factory) RightsOf(cmd *cobra.Command, args []string) (all []authorizationv1.ResourceAttributes) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 && dash < len(args) { // what follows is a command, or nothing that one takes
		args = args[:dash]
	}
	given := func(word string) string {
		name, isFlag := strings.CutPrefix(word, "--")
		flag := cmd.Flags().Lookup(name)
		switch {
		case !isFlag:
			return strings.Join(args, " ")
		case flag == nil || flag.Value.String() == flag.DefValue: // such as --dry-run=none
			return ""
		}
		return flag.Value.String()
	}
	for _, one := range needsOf(cmd) {
		namespace := f.Namespace
		if given("--all-namespaces") != "" || given("--cluster-schedule") != "" {
			namespace = ""
		}
		i := slices.IndexFunc(one.flags, func(word string) bool { return given(word) != "" })
		if one.condition != "" && (i >= 0) == (one.condition == "unless") {
			continue
		}
		if one.condition == "in" {
			namespace = given(one.flags[i])
		}
		for _, resource := range one.resources {
			for _, right := range Rights(namespace, resource, one.verbs...) {
				if !slices.Contains(all, right) {
					all = append(all, right)
				}
			}
		}
	}
	return all
}

// NameRights adds to the error of a command that was denied something all that its user lacks: else it comes out one at a time.
func (f *Factory) NameRights(cmd *cobra.Command) {
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.needed = func() []authorizationv1.ResourceAttributes { return f.RightsOf(cmd, args) }
		err := run(cmd, args)
		if !apierrors.IsForbidden(err) {
			return err
		}
		missing, askErr := f.lacking(cmd.Context(), f.needed())
		if askErr != nil || len(missing) == 0 {
			return err
		}
		return fmt.Errorf("%w\nPermissions that you do not have:\n%s", err, strings.Join(missing, "\n"))
	}
}

// Need returns an error that names all rights that the user lacks: those that the command says it needs, and others. A command asks
// first if it leaves half of it when it may not go on.
func (f *Factory) Need(ctx context.Context, what string, others ...authorizationv1.ResourceAttributes) error {
	if f.needed != nil {
		others = append(f.needed(), others...)
	}
	missing, err := f.lacking(ctx, others)
	if err == nil && missing != nil {
		err = fmt.Errorf("%s needs permissions that you do not have:\n%s", what, strings.Join(missing, "\n"))
	}
	return err
}

// lacking returns which of some rights the user does not have, as the commands that ask for them. What only prints needs no right to
// write.
func (f *Factory) lacking(ctx context.Context, rights []authorizationv1.ResourceAttributes) (missing []string, err error) {
	for i := range rights {
		right := &rights[i]
		if f.DryRun == DryRunClient && slices.Contains([]string{"create", "patch", "delete"}, right.Verb) {
			continue
		}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right}}
		if err := f.Client.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("ask for permissions: %w", err)
		}
		if !review.Status.Allowed {
			missing = append(missing, CanI(right))
		}
	}
	return missing, nil
}

// CanI is the command that asks for a right, which its user may copy, or send to an administrator.
func CanI(right *authorizationv1.ResourceAttributes) string {
	line := "kubectl auth can-i " + right.Verb + " " + schema.GroupResource{Group: right.Group, Resource: right.Resource}.String()
	if right.Name != "" {
		line += "/" + right.Name
	}
	if right.Subresource != "" {
		line += " --subresource=" + right.Subresource
	}
	if right.Namespace != "" {
		line += " -n " + right.Namespace
	}
	return line
}
