// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Cascade measures how many of 1,000 snapshots are lost when their schedule is deleted,
// by policy and by the way of deleting it, on a real API server with the real garbage
// collector and operator. It prints the table of docs/gitops.md:
//
//	go run ./test/faults/cascade
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/campaign"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/operator"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

const (
	claims, perClaim = 50, 20
	total            = claims * perClaim
	timeout          = 3 * time.Minute
)

// moments are when the schedule is deleted.
var moments = []string{"`Delete`", "`Orphan`, right after the edit", "`Orphan`, observed"}

const (
	byReference = iota
	atOnce
	observed
)

// ways are how it is deleted.
var ways = []struct {
	name   string
	delete func(context.Context, *measurement) error
}{
	{"background (`kubectl delete`)", propagating(metav1.DeletePropagationBackground)},
	{"foreground (`--cascade=foreground`)", propagating(metav1.DeletePropagationForeground)},
	{"orphan (`--cascade=orphan`)", propagating(metav1.DeletePropagationOrphan)},
	{"the operator first, then the schedule", withoutOperator},
	{"the CRD", withItsCRD},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cascade:", err)
		os.Exit(1) //nolint:gocritic // the process ends
	}
}

func run(ctx context.Context) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	if os.Getenv(cluster.EnvDir) == "" {
		return campaign.RunInCluster(ctx, root)
	}
	dir, err := os.MkdirTemp("", "snapsched-cascade-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := repo.BuildOperator(ctx, root, dir)
	if err != nil {
		return err
	}
	c, err := environment.Connect(ctx, root)
	if err != nil {
		return err
	}
	if err := c.Collects(ctx); err != nil {
		return err
	}
	fmt.Printf("\n| deleted | %s |\n| --- |%s\n", strings.Join(moments, " | "), strings.Repeat(" --- |", len(moments)))
	for i, way := range ways {
		fmt.Printf("| %s |", way.name)
		for moment := range moments {
			m := &measurement{Cluster: c, program: program, dir: dir, namespace: fmt.Sprintf("cascade-%d-%d", i, moment)}
			lost, err := m.measure(ctx, moment, way.delete)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", way.name, moments[moment], err)
			}
			fmt.Printf(" %d |", lost)
		}
		fmt.Println()
	}
	return nil
}

// measurement is one cell of the table.
type measurement struct {
	*environment.Cluster

	program, dir, namespace string
	operator                *operator.Operator
	schedule                *v1alpha1.SnapshotSchedule
}

func (m *measurement) measure(ctx context.Context, moment int, remove func(context.Context, *measurement) error) (lost int, err error) {
	if err := m.seed(ctx); err != nil {
		return 0, err
	}
	if err := m.start(ctx); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.operator.Stop(timeout)) }()
	if err := m.observes(ctx); err != nil {
		return 0, err
	}
	if moment != byReference {
		before := m.schedule.DeepCopy()
		m.schedule.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
		if err := m.Client.Patch(ctx, m.schedule, client.MergeFrom(before)); err != nil {
			return 0, err
		}
	}
	if moment == observed {
		if err := m.observes(ctx); err != nil {
			return 0, err
		}
	}
	if err := remove(ctx, m); err != nil {
		return 0, err
	}
	if err := m.gone(ctx, m.schedule); err != nil {
		return 0, err
	}
	left, err := m.left(ctx)
	return total - left, err
}

// seed stores a schedule and its snapshots, all ready.
func (m *measurement) seed(ctx context.Context) error {
	r, err := m.NewRun(ctx, m.namespace)
	if err != nil {
		return err
	}
	spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", Suspend: true}
	if m.schedule, err = r.Schedule(ctx, "nightly", time.Hour, spec); err != nil {
		return err
	}
	for i := range claims {
		claim, err := r.Claim(ctx, fmt.Sprintf("data-%d", i), time.Hour, nil)
		if err != nil {
			return err
		}
		for n := range perClaim {
			taken := environment.Taken{Name: fmt.Sprintf("%d-%d", i, n), Age: time.Duration(n+1) * time.Hour}
			if err := r.Snapshot(ctx, m.schedule, claim, taken); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *measurement) start(ctx context.Context) error {
	config, _, err := cluster.Find()
	if err != nil {
		return err
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = m.Token
	kubeconfig := filepath.Join(m.dir, m.namespace+".kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, config); err != nil {
		return err
	}
	m.operator, err = operator.Start(ctx, operator.Options{
		Command: []string{m.program}, Kubeconfig: kubeconfig, Flags: []string{"--watch-namespaces=" + m.namespace}, Dir: m.dir, Name: m.namespace,
	})
	return err
}

// observes waits until the operator has observed the schedule, as a user does.
func (m *measurement) observes(ctx context.Context) error {
	return environment.Await(ctx, timeout, func() error {
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(m.schedule), m.schedule); err != nil {
			return err
		}
		if s := &m.schedule.Status; s.ObservedGeneration != m.schedule.Generation || s.Outputs.VolumeSnapshots.Total != total {
			return fmt.Errorf("generation %d, status %+v", m.schedule.Generation, m.schedule.Status)
		}
		return nil
	})
}

func propagating(how metav1.DeletionPropagation) func(context.Context, *measurement) error {
	return func(ctx context.Context, m *measurement) error {
		return m.Client.Delete(ctx, m.schedule, client.PropagationPolicy(how))
	}
}

// withoutOperator removes a finalizer that nobody else removes, as docs/operations.md says.
func withoutOperator(ctx context.Context, m *measurement) error {
	if err := m.operator.Stop(timeout); err != nil {
		return err
	}
	if err := m.Client.Delete(ctx, m.schedule); err != nil {
		return err
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	return client.IgnoreNotFound(m.Client.Patch(ctx, m.schedule, patch))
}

// withItsCRD deletes the CRD, and installs it again.
func withItsCRD(ctx context.Context, m *measurement) error {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("snapshotschedules." + v1alpha1.GroupName)
	if err := m.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
		return err
	}
	again := crd.DeepCopy()
	delete(again.Object, "status")
	again.Object["metadata"] = map[string]any{"name": crd.GetName(), "annotations": crd.Object["metadata"].(map[string]any)["annotations"]}
	if err := m.Client.Delete(ctx, crd); err != nil {
		return err
	}
	if err := m.gone(ctx, crd); err != nil {
		return err
	}
	time.Sleep(40 * time.Second) // the garbage collector looks for other kinds every 30 s
	if err := m.Client.Create(ctx, again); err != nil {
		return err
	}
	return environment.Await(ctx, timeout, func() error { return m.Client.List(ctx, &v1alpha1.SnapshotScheduleList{}) })
}

func (m *measurement) gone(ctx context.Context, o client.Object) error {
	return environment.Await(ctx, timeout, func() error {
		err := m.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("%s still exists, with finalizers %v", o.GetName(), o.GetFinalizers()))
	})
}

// left returns how many snapshots are left when the garbage collector has caught up: when
// it has deleted a snapshot whose owner was deleted last, and no other any more.
func (m *measurement) left(ctx context.Context) (int, error) {
	last := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "last"}}
	if err := m.Client.Create(ctx, last); err != nil {
		return 0, err
	}
	owned := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.namespace, Name: "last",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: last.Name, UID: last.UID}},
	}}
	owned.Spec.Source.VolumeSnapshotContentName = ptr.To("none")
	if err := errors.Join(m.Client.Create(ctx, owned), m.Client.Delete(ctx, last)); err != nil {
		return 0, err
	}
	if err := m.gone(ctx, owned); err != nil {
		return 0, err
	}
	before, since := -1, time.Now()
	for {
		var all metav1.PartialObjectMetadataList
		all.SetGroupVersionKind(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotList"))
		if err := m.Client.List(ctx, &all, client.InNamespace(m.namespace)); err != nil {
			return 0, err
		}
		if len(all.Items) != before {
			before, since = len(all.Items), time.Now()
		}
		if time.Since(since) > 10*time.Second {
			return before, nil
		}
		time.Sleep(time.Second)
	}
}
