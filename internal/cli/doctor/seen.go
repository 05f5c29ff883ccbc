// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
)

// seen is what was read. What may not be read, or is not installed, is in unread, by the name of its resource.
type seen struct {
	now    time.Time
	server string
	unread map[string]error

	// definitions are by name; nil are those that do not exist.
	definitions map[string]*customResource
	resources   []*metav1.APIResourceList
	inventory   *view.Inventory
	schedules   []*v1alpha1.SnapshotSchedule
	storage     storagev1.StorageClassList
	drivers     storagev1.CSIDriverList
	nodes       storagev1.CSINodeList
	volumes     corev1.PersistentVolumeList
	contents    snapshotv1.VolumeSnapshotContentList
	// anywhere are the names of the VolumeSnapshots of all namespaces, with their UIDs; nil if they were not read.
	anywhere    map[client.ObjectKey]string
	deployments []appsv1.Deployment
	lease       *coordinationv1.Lease
	// lacking are the commands that ask for the rights which the accounts of the operator do not have.
	lacking   []string
	rollbacks []protection.Rollback
	// replaced are the names of the volumes that rollbacks have put out of use.
	replaced sets.Set[string]
}

// Rollbacks is what is known of rollbacks: those that are unfinished, and the volumes that they have put out of use.
type Rollbacks struct {
	Unfinished protection.ReadRollbacks
	Replaced   func([]corev1.PersistentVolume) sets.Set[string]
}

// definitionKind is that of CustomResourceDefinitions.
var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// see reads the cluster. Only an error of the connection is one.
func see(ctx context.Context, f *term.Factory, scope *term.Scope, rollbacks Rollbacks) (*seen, error) {
	now, err := f.ServerTime(ctx)
	if err != nil {
		return nil, err
	}
	s := &seen{now: now, unread: map[string]error{}, definitions: map[string]*customResource{}}
	discovery, err := f.Config.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	discovery.Invalidate() // kubectl's cache lacks what was installed within hours
	if v, err := discovery.ServerVersion(); err == nil {
		s.server = v.GitVersion
	}
	_, s.resources, _ = discovery.ServerGroupsAndResources() // an aggregated API that is down hides no other
	for _, d := range definitions {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(definitionKind)
		switch err := f.Client.Get(ctx, client.ObjectKey{Name: d.name}, o); {
		case err == nil:
			s.definitions[d.name] = &customResource{}
			s.note("customresourcedefinitions", runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, s.definitions[d.name]))
		case !apierrors.IsNotFound(err):
			s.unread["customresourcedefinitions"] = err
		}
	}
	namespace := scope.Namespace(f)
	s.schedules, err = view.ReadSchedules(ctx, f, namespace, "")
	s.note("snapshotschedules", err)
	f.ClassesDenied = true // which is a point of its own
	if s.inventory, err = view.ReadInventory(ctx, f, namespace, labels.Everything()); err != nil {
		s.unread[inventory], s.inventory = err, &view.Inventory{}
	} else if s.inventory.Origins, err = view.ReadOrigins(ctx, f, s.schedules); err != nil {
		return nil, err
	} else if !s.inventory.Classes.Known {
		s.note("volumesnapshotclasses", errDenied)
	}
	// Before the contents: one whose snapshot retention deletes meanwhile would have none.
	s.readNames(ctx, f)
	for resource, list := range map[string]client.ObjectList{
		"storageclasses": &s.storage, "csidrivers": &s.drivers, "csinodes": &s.nodes,
		"persistentvolumes": &s.volumes, "volumesnapshotcontents": &s.contents,
	} {
		s.note(resource, f.List(ctx, list))
	}
	s.readOperator(ctx, f)
	s.replaced = rollbacks.Replaced(s.volumes.Items)
	var unread error
	s.rollbacks, unread, err = rollbacks.Unfinished(ctx, f, namespace, s.inventory.Claims, now)
	s.note(unfinished, cmp.Or(err, unread))
	return s, nil
}

// readNames reads the names of all VolumeSnapshots, to which contents belong.
func (s *seen) readNames(ctx context.Context, f *term.Factory) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotList"))
	if f.List(ctx, all) != nil {
		return // what is in one namespace says nothing about contents
	}
	s.anywhere = make(map[client.ObjectKey]string, len(all.Items))
	for i := range all.Items {
		s.anywhere[client.ObjectKeyFromObject(&all.Items[i])] = string(all.Items[i].UID)
	}
}

func (s *seen) readOperator(ctx context.Context, f *term.Factory) {
	namespaces := view.OperatorNamespaces(ctx, f)
	s.lease = state.ReadLease(ctx, f, namespaces)
	var err error
	if s.deployments, err = view.OperatorDeployments(ctx, f, namespaces); err != nil {
		s.note("deployments", err)
	}
	for i := range s.deployments {
		lacking, err := lackingRights(ctx, f, &s.deployments[i])
		s.lacking = append(s.lacking, lacking...)
		s.note("subjectaccessreviews", err)
	}
}

// These stand for what is read of several kinds: inventory for PVCs and snapshots, and unfinished for what rollbacks write.
const (
	inventory  = "inventory"
	unfinished = "rollbacks"
)

// verbs are those by which something is read that is not listed.
var verbs = map[string]string{"customresourcedefinitions": "get", "subjectaccessreviews": "create"}

// errDenied stands for an error that was handled where it was met.
var errDenied = apierrors.NewForbidden(schema.GroupResource{}, "", nil)

// note remembers that something could not be read. What is not installed is missed by the check of the definitions.
func (s *seen) note(resource string, err error) {
	if err != nil && !meta.IsNoMatchError(err) {
		s.unread[resource] = err
	}
}

// denied adds a point for each of some resources that could not be read, and returns whether there is one.
func (s *seen) denied(all *found, resources ...string) (is bool) {
	for _, resource := range resources {
		switch err := s.unread[resource]; {
		case err == nil:
			continue
		case resource == inventory: // the error says what
			all.unknown("", "PVCs and snapshots could not be read: %s", term.MessageOf(err))
		case resource == unfinished:
			all.unknown("", "unfinished rollbacks may be missing, and what the others have left is not named: %s", term.MessageOf(err))
		case apierrors.IsForbidden(err):
			verb := cmp.Or(verbs[resource], "list")
			all.unknown("kubectl auth can-i "+verb+" "+resource+" -A", "you may not %s %s", verb, resource)
		default:
			all.unknown("", "%s could not be read: %s", resource, term.MessageOf(err))
		}
		is = true
	}
	return is
}
