// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bareclient is the client that the operator is compared with. It runs in a process of its own,
// creates snapshots or lists them as fast as client-go can, and decides nothing.
package bareclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/kubernetes-csi/external-snapshotter/client/v6/clientset/versioned"
	typed "github.com/kubernetes-csi/external-snapshotter/client/v6/clientset/versioned/typed/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// Arguments that this program is started with as the bare client.
const (
	Creates = "bare-creates"
	List    = "bare-list"
)

// Lines that the bare client writes and reads.
const (
	Ready = "ready"
	Go    = "go"
	Done  = "done"
)

// pageSize is the default of client-go's pager.
const pageSize = 500

// Job describes what the bare client creates: one snapshot of each PVC of a namespace.
type Job struct {
	Namespace string
	// Owner and OwnerUID identify the schedule that is the controller of the snapshots.
	Owner    string
	OwnerUID types.UID
	Slot     time.Time
	// Claims is how many PVCs there are.
	Claims int
	// Workers is the number of concurrent creates.
	Workers int
}

// RunIfRequested runs the bare client and exits if this program was started as the bare client.
func RunIfRequested(args []string) {
	var err error
	switch {
	case len(args) == 2 && args[0] == Creates:
		err = runCreates(args[1])
	case len(args) == 1 && args[0] == List:
		err = runList()
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// connect returns a configuration without rate limits, and a generated client.
func connect() (*rest.Config, versioned.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, nil, err
	}
	config.QPS = -1
	c, err := versioned.NewForConfig(config)
	return config, c, err
}

func runList() error {
	_, c, err := connect()
	if err != nil {
		return err
	}
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.SnapshotV1().VolumeSnapshots("").List(context.Background(), opts)
		if err != nil {
			return err
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			break
		}
	}
	fmt.Println(Done)
	orders := bufio.NewScanner(os.Stdin)
	orders.Scan() // until the input is closed
	return orders.Err()
}

func runCreates(text string) error {
	var job Job
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return err
	}
	config, c, err := connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	claims, seen, err := informers(ctx, config, c)
	if err != nil {
		return err
	}
	// The first list may be older than the last PVC.
	var work []*snapshotv1.VolumeSnapshot
	if err := poll(ctx, func() (bool, error) {
		work = toCreate(job, claims)
		return len(work) == job.Claims, nil
	}); err != nil {
		return err
	}
	orders := bufio.NewScanner(os.Stdin)
	fmt.Println(Ready)
	if !orders.Scan() {
		return orders.Err() // the input was closed instead
	}
	if err := createAll(ctx, c.SnapshotV1().VolumeSnapshots(job.Namespace), work, job.Workers); err != nil {
		return err
	}
	if err := waitForAll(ctx, seen, work); err != nil {
		return err
	}
	fmt.Println(Done)
	orders.Scan() // until the input is closed
	return orders.Err()
}

// informers starts informers without handlers, indexes and transforms.
func informers(ctx context.Context, config *rest.Config, c versioned.Interface) (claims, snapshots cache.Store, err error) {
	core := rest.CopyConfig(config)
	core.ContentType = runtime.ContentTypeProtobuf
	kube, err := kubernetes.NewForConfig(core)
	if err != nil {
		return nil, nil, err
	}
	start := func(client cache.Getter, resource string, o runtime.Object) cache.SharedInformer {
		informer := cache.NewSharedInformer(cache.NewListWatchFromClient(client, resource, "", fields.Everything()), o, 0)
		go informer.Run(ctx.Done())
		return informer
	}
	claimInformer := start(kube.CoreV1().RESTClient(), "persistentvolumeclaims", &corev1.PersistentVolumeClaim{})
	snapshotInformer := start(c.SnapshotV1().RESTClient(), "volumesnapshots", &snapshotv1.VolumeSnapshot{})
	if !cache.WaitForCacheSync(ctx.Done(), claimInformer.HasSynced, snapshotInformer.HasSynced) {
		return nil, nil, errors.New("the informers did not sync")
	}
	return claimInformer.GetStore(), snapshotInformer.GetStore(), nil
}

func toCreate(job Job, claims cache.Store) []*snapshotv1.VolumeSnapshot {
	owner := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{
		Namespace: job.Namespace, Name: job.Owner, UID: job.OwnerUID,
	}}
	var work []*snapshotv1.VolumeSnapshot
	for _, o := range claims.List() {
		if claim := o.(*corev1.PersistentVolumeClaim); claim.Namespace == job.Namespace {
			work = append(work, builders.Snapshot(owner, claim, job.Slot))
		}
	}
	return work
}

// fieldManager is the operator's: it is stored in each object.
const fieldManager = "snapshotschedule"

func createAll(ctx context.Context, c typed.VolumeSnapshotInterface, work []*snapshotv1.VolumeSnapshot, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *snapshotv1.VolumeSnapshot)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for s := range next {
				if _, err := c.Create(ctx, s, metav1.CreateOptions{FieldManager: fieldManager}); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, s := range work {
		next <- s
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// waitForAll waits until the informer has received all snapshots.
func waitForAll(ctx context.Context, store cache.Store, created []*snapshotv1.VolumeSnapshot) error {
	for _, s := range created {
		if err := poll(ctx, func() (bool, error) {
			_, seen, err := store.Get(s)
			return seen, err
		}); err != nil {
			return err
		}
	}
	return nil
}

func poll(ctx context.Context, ready func() (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) { return ready() })
}
