// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bareclient is the client that the operator is compared with. It runs in a process of its own,
// creates snapshots or lists them as fast as client-go can, and decides nothing.
package bareclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/kubernetes-csi/external-snapshotter/client/v6/clientset/versioned"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// List is the argument that makes this program list all snapshots in pages.
const (
	List    = "bare-list"
	creates = "bare-creates"
)

// Lines that the bare client writes and reads.
const (
	Ready = "ready"
	Go    = "go"
	Done  = "done"
)

// Job describes what the bare client creates: one snapshot of each PVC of a namespace.
type Job struct {
	// Owner is the controller of the snapshots.
	Owner *v1alpha1.SnapshotSchedule
	Slot  time.Time
	// Claims is how many PVCs there are.
	Claims int
	// Workers is the number of concurrent creates.
	Workers int
}

// Creates returns the arguments that make this program open its informers and wait for Go.
func Creates(job Job) []string {
	text, _ := json.Marshal(job) // it has no values that can't be encoded
	return []string{creates, string(text)}
}

// RunIfRequested runs the bare client and exits if this program was started as the bare client.
func RunIfRequested(args []string) {
	var job Job
	switch {
	case len(args) == 2 && args[0] == creates:
		must(json.Unmarshal([]byte(args[1]), &job))
		run(job.run)
	case len(args) == 1 && args[0] == List:
		run(list)
	}
}

// must ends the process with an error.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// value returns a value unless there is an error, which ends the process.
func value[T any](v T, err error) T {
	must(err)
	return v
}

// run does some work without rate limits, and ends the process when the input is closed.
func run(work func(context.Context, *rest.Config, versioned.Interface)) {
	config := value(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	config.QPS = -1
	work(context.Background(), config, value(versioned.NewForConfig(config)))
	fmt.Println(Done)
	orders := bufio.NewScanner(os.Stdin)
	orders.Scan()
	must(orders.Err())
	os.Exit(0)
}

func list(ctx context.Context, _ *rest.Config, c versioned.Interface) {
	opts := metav1.ListOptions{Limit: 500} // the default of client-go's pager
	for {
		page := value(c.SnapshotV1().VolumeSnapshots("").List(ctx, opts))
		if opts.Continue = page.Continue; opts.Continue == "" {
			return
		}
	}
}

func (job *Job) run(ctx context.Context, config *rest.Config, c versioned.Interface) {
	claims, seen := informers(ctx, config, c)
	// The first list may be older than the last PVC.
	var work []*snapshotv1.VolumeSnapshot
	poll(ctx, func() bool {
		work = job.toCreate(claims)
		return len(work) == job.Claims
	})
	fmt.Println(Ready)
	var order [len(Go) + 1]byte
	value(os.Stdin.Read(order[:])) // an error if the input was closed instead
	job.create(ctx, c, work)
	for _, s := range work {
		poll(ctx, func() bool {
			_, exists, _ := seen.Get(s)
			return exists
		})
	}
}

// informers starts informers without handlers, indexes and transforms.
func informers(ctx context.Context, config *rest.Config, c versioned.Interface) (claims, snapshots cache.Store) {
	core := rest.CopyConfig(config)
	core.ContentType = runtime.ContentTypeProtobuf
	kube := value(kubernetes.NewForConfig(core))
	start := func(client cache.Getter, resource string, o runtime.Object) cache.Store {
		informer := cache.NewSharedInformer(cache.NewListWatchFromClient(client, resource, "", fields.Everything()), o, 0)
		go informer.Run(ctx.Done())
		poll(ctx, informer.HasSynced)
		return informer.GetStore()
	}
	return start(kube.CoreV1().RESTClient(), "persistentvolumeclaims", &corev1.PersistentVolumeClaim{}),
		start(c.SnapshotV1().RESTClient(), "volumesnapshots", &snapshotv1.VolumeSnapshot{})
}

func (job *Job) toCreate(claims cache.Store) (work []*snapshotv1.VolumeSnapshot) {
	for _, o := range claims.List() {
		if claim := o.(*corev1.PersistentVolumeClaim); claim.Namespace == job.Owner.Namespace {
			work = append(work, builders.Snapshot(job.Owner, claim, job.Slot))
		}
	}
	return work
}

// fieldManager is the operator's: it is stored in each object.
const fieldManager = "snapshotschedule"

func (job *Job) create(ctx context.Context, c versioned.Interface, work []*snapshotv1.VolumeSnapshot) {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(job.Workers)
	for _, s := range work {
		all.Go(func() error {
			_, err := c.SnapshotV1().VolumeSnapshots(s.Namespace).Create(ctx, s, metav1.CreateOptions{FieldManager: fieldManager})
			return err
		})
	}
	must(all.Wait())
}

func poll(ctx context.Context, ready func() bool) {
	must(wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) { return ready(), nil }))
}
