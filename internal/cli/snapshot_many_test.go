// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// runOn runs the plugin in the namespace default of a cluster, a month after start, and returns its exit code and what it printed.
func runOn(t *testing.T, c client.WithWatch, args ...string) (code int, printed string) {
	now := clitest.Start.AddDate(0, 0, 30)
	return runBy(t, c, now, clocktesting.NewFakePassiveClock(now), "default", args...)
}

// runBy runs the plugin at a time of a cluster, on a machine with a clock of its own.
func runBy(
	t *testing.T, c client.WithWatch, now time.Time, machine clock.PassiveClock, namespace string, args ...string,
) (code int, printed string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat))
	}))
	t.Cleanup(server.Close)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out bytes.Buffer
	f := &term.Factory{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out},
		Config:    genericclioptions.NewConfigFlags(true), Clock: machine, Client: c,
	}
	f.Config.APIServer, f.Config.Namespace = &server.URL, &namespace
	code = term.Execute(context.Background(), newRoot(f), args)
	return code, out.String()
}

// requestOf returns when snapshots were requested of an object; empty if they were not.
func requestOf(t *testing.T, c client.Client, o client.Object, namespace, name string) string {
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		t.Fatal(err)
	}
	return o.GetAnnotations()[v1alpha1.AnnotationRequestedAt]
}

// Contract: CLI-9.
func TestOneScheduleKeepsNoOtherNamespaceFromItsSnapshot(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "snapshotschedules"}, "gold", errors.New("not here"))
	for name, test := range map[string]struct {
		change func(*v1alpha1.SnapshotSchedule)
		denied error
		warns  string
	}{
		"a spec that never fires": {
			change: func(s *v1alpha1.SnapshotSchedule) { s.Spec = v1alpha1.SnapshotScheduleSpec{Schedule: "0 0 30 2 *"} },
			warns:  "SnapshotSchedule evil/gold takes no snapshots, because its spec is invalid",
		},
		"a reference to a fleet": {
			change: func(s *v1alpha1.SnapshotSchedule) {
				s.OwnerReferences = []metav1.OwnerReference{{
					APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterSnapshotSchedule", Name: "x; reboot", UID: "x", Controller: ptr.To(true),
				}}
			},
			warns: "SnapshotSchedule evil/gold belongs to ClusterSnapshotSchedule x; reboot, and takes snapshots on its requests only: " +
				"use kubectl snapsched snapshot --cluster-schedule 'x; reboot'",
		},
		"a write that is refused": {denied: denied, warns: "SnapshotSchedule evil/gold: snapshotschedules \"gold\" is forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			bad, claim := clitest.GoldIn("evil")
			if test.change != nil {
				test.change(bad)
			}
			good, of := clitest.GoldIn("shop")
			c := fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(bad, claim, good, of).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if test.denied != nil && o.GetNamespace() == "evil" {
						return test.denied
					}
					return c.Patch(ctx, o, p, opts...)
				},
			}).Build()
			code, printed := runOn(t, c, "snapshot", "-A", "-l", "backup=gold")
			if requestOf(t, c, good, "shop", "gold") == "" {
				t.Error("namespace shop gets no snapshot")
			}
			if code != term.ExitFound || !strings.Contains(printed, "Warning: "+test.warns) || !strings.Contains(printed, "error: 1 SnapshotSchedule left out") {
				t.Errorf("exit code %d: %s", code, printed)
			}
		})
	}
}

func TestAnEditOfATenantStopsNoConfirmationOfAFleet(t *testing.T) {
	fleet := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "gold", UID: "fleet-uid", Generation: 2}}
	fleet.Spec.Template.Spec.SnapshotInterval = "6h"
	child, _ := clitest.GoldIn("evil")
	child.Labels = map[string]string{v1alpha1.LabelClusterSchedule: "gold", v1alpha1.LabelMapKey: "evil"}
	child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(fleet, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
	child.Status.Retention = &v1alpha1.RetentionRecord{ClusterSchedule: "fleet-uid"}
	child.Spec.Jitter = "7h" // more than the interval, which is invalid
	c := fake.NewClientBuilder().WithScheme(term.Scheme).
		WithObjects(fleet, child, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "evil"}}).Build()
	code, printed := runOn(t, c, "confirm", "--cluster-schedule", "gold")
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(fleet), fleet); err != nil {
		t.Fatal(err)
	}
	if code != 0 || fleet.Annotations[v1alpha1.AnnotationConfirmGeneration] != "2" {
		t.Errorf("exit code %d: %s", code, printed)
	}
}

// Contract: CLI-9.
func TestAnEditOfATenantStopsNoRequestOfAFleet(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.SnapshotSchedule){
		"none":            func(*v1alpha1.SnapshotSchedule) {},
		"an invalid spec": func(s *v1alpha1.SnapshotSchedule) { s.Spec.Jitter = "7h" },
		"another selector": func(s *v1alpha1.SnapshotSchedule) {
			s.Spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"a": "b"}
		},
		"a group of no PVC":           func(s *v1alpha1.SnapshotSchedule) { s.Spec.Group = &v1alpha1.Group{ByLabel: "group"} },
		"neither an owner nor labels": func(s *v1alpha1.SnapshotSchedule) { s.OwnerReferences, s.Labels = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			fleet := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "gold", UID: "fleet-uid", Generation: 2}}
			fleet.Spec.Template.Spec.SnapshotInterval = "6h"
			objects := []client.Object{fleet}
			for _, namespace := range []string{"shop", "evil"} {
				child, claim := clitest.GoldIn(namespace)
				child.Labels = map[string]string{v1alpha1.LabelClusterSchedule: "gold", v1alpha1.LabelMapKey: namespace}
				child.OwnerReferences = []metav1.OwnerReference{
					*metav1.NewControllerRef(fleet, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
				child.Status.Retention = &v1alpha1.RetentionRecord{ClusterSchedule: "fleet-uid"}
				if namespace == "evil" {
					edit(child)
				}
				objects = append(objects, child, claim, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
			}
			excluded := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab", Annotations: map[string]string{v1alpha1.AnnotationExclude: ""}}}
			c := fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(append(objects, excluded)...).Build()
			code, printed := runOn(t, c, "snapshot", "--cluster-schedule", "gold")
			if code != 0 || !strings.HasSuffix(printed, "gold requested 2 snapshots\n") || strings.Contains(printed, "Warning") {
				t.Errorf("exit code %d: %s", code, printed)
			}
			if requestOf(t, c, fleet, "", "gold") == "" {
				t.Error("no namespace gets its snapshot")
			}
		})
	}
}

// The operator serves no request on a schedule that a ClusterSnapshotSchedule owns, also if a tenant has taken off the owner.
//
// Contract: CLI-9.
func TestARequestForAPVCIsWrittenWhereItCounts(t *testing.T) {
	const belongs = "SnapshotSchedule gold belongs to ClusterSnapshotSchedule gold, and takes snapshots on its requests only: " +
		"use kubectl snapsched snapshot --cluster-schedule gold\n"
	owner := *metav1.NewControllerRef(&v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "gold", UID: "fleet-uid"}},
		v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))
	for name, test := range map[string]struct {
		edit func(*v1alpha1.SnapshotSchedule)
		also bool // the PVC has another schedule
		want string
		code int
	}{
		"no child":               {edit: func(s *v1alpha1.SnapshotSchedule) { s.OwnerReferences, s.Status.Retention = nil, nil }, want: "requested 1 snapshot\n"},
		"a child":                {want: "error: " + belongs, code: term.ExitFound},
		"a child without labels": {edit: func(s *v1alpha1.SnapshotSchedule) { s.Labels = nil }, want: "error: " + belongs, code: term.ExitFound},
		"a child without its owner": {
			edit: func(s *v1alpha1.SnapshotSchedule) { s.OwnerReferences, s.Labels = nil, nil }, want: "error: " + belongs, code: term.ExitFound,
		},
		"a child that is not recorded yet": {
			edit: func(s *v1alpha1.SnapshotSchedule) { s.Status.Retention = nil }, want: "error: " + belongs, code: term.ExitFound,
		},
		"a child and another":                 {also: true, want: "Warning: " + belongs},
		"a child without owner, and another":  {edit: func(s *v1alpha1.SnapshotSchedule) { s.OwnerReferences = nil }, also: true, want: "Warning: " + belongs},
		"a child whose edited spec is broken": {edit: func(s *v1alpha1.SnapshotSchedule) { s.Spec.Jitter = "7h" }, want: "error: " + belongs, code: term.ExitFound},
	} {
		t.Run(name, func(t *testing.T) {
			child, claim := clitest.GoldIn("default")
			child.OwnerReferences = []metav1.OwnerReference{owner}
			child.Status.Retention = &v1alpha1.RetentionRecord{ClusterSchedule: "fleet-uid"}
			if test.edit != nil {
				test.edit(child)
			}
			other, _ := clitest.GoldIn("default")
			other.Name, other.UID = "other", "other"
			objects := []client.Object{child, claim}
			if test.also {
				objects = append(objects, other)
			}
			c := fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(objects...).Build()
			code, printed := runOn(t, c, "snapshot", "--pvc", claim.GetName())
			if code != test.code || !strings.Contains(printed, test.want) || strings.Count(printed, "belongs to") > 1 {
				t.Errorf("exit code %d: %s", code, printed)
			}
			if asked := requestOf(t, c, child, "default", "gold") != ""; asked != (name == "no child") {
				t.Errorf("a request is written on gold: %v", asked)
			}
			if test.also && requestOf(t, c, other, "default", "other") == "" {
				t.Error("none is written on the other")
			}
		})
	}
}
