// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// What this program is started as to be the bare client, in a process of its own: on as many
// processors as the operator, but else with Go's defaults.
const (
	bareCreates = "bare-creates"
	bareList    = "bare-list"
)

// Lines that the bare client says and hears.
const (
	readyLine = "ready"
	goLine    = "go"
	doneLine  = "done"
)

// pageSize is that of client-go's own pager.
const pageSize = 500

// BareJob says what the bare client creates: one snapshot of each PVC of a namespace.
type BareJob struct {
	Namespace string
	// Owner and OwnerUID are the schedule that the snapshots name as their controller.
	Owner    string
	OwnerUID types.UID
	Slot     time.Time
	// Claims is how many PVCs there are.
	Claims int
	// Workers is how many creates are under way at once.
	Workers int
}

// StartBareCreates starts the bare client: it opens bare informers on PVCs and snapshots, and
// waits for Go.
func (l *Lab) StartBareCreates(ctx context.Context, m Manifest, job BareJob) (*Process, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	p, err := l.startSelf(ctx, "bare client", m, bareCreates, string(text))
	if err != nil {
		return nil, err
	}
	if err := p.hear(readyLine); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Go lets the bare client create. Done waits until it has.
func (p *Process) Go() error { return p.say(goLine) }

// Done waits until the bare client has done its work.
func (p *Process) Done() error { return p.hear(doneLine) }

// StartBareList starts a client that lists all snapshots of the cluster in pages.
func (l *Lab) StartBareList(ctx context.Context, m Manifest) (*Process, error) {
	return l.startSelf(ctx, "bare list", m, bareList)
}

func (l *Lab) startSelf(ctx context.Context, name string, m Manifest, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return l.start(ctx, name, m.Processors, self, args...)
}

// BecomeBare makes this program the bare client if it was started as one.
func BecomeBare(args []string) {
	var err error
	switch {
	case len(args) == 2 && args[0] == bareCreates:
		err = runBareCreates(args[1])
	case len(args) == 1 && args[0] == bareList:
		err = runBareList()
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type (
	snapshots = gentype.ClientWithList[*snapshotv1.VolumeSnapshot, *snapshotv1.VolumeSnapshotList]
	bareKit   struct {
		config *rest.Config
		client *rest.RESTClient
	}
)

// newBareKit is a typed client as client-gen makes it.
func newBareKit() (bareKit, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return bareKit{}, err
	}
	config.QPS = -1
	typed := rest.CopyConfig(config)
	typed.GroupVersion, typed.APIPath = &snapshotv1.SchemeGroupVersion, "/apis"
	typed.NegotiatedSerializer = serializer.NewCodecFactory(Scheme).WithoutConversion()
	c, err := rest.RESTClientFor(typed)
	return bareKit{config: config, client: c}, err
}

func (k bareKit) snapshots(namespace string) *snapshots {
	return gentype.NewClientWithList("volumesnapshots", k.client, runtime.NewParameterCodec(Scheme), namespace,
		func() *snapshotv1.VolumeSnapshot { return &snapshotv1.VolumeSnapshot{} },
		func() *snapshotv1.VolumeSnapshotList { return &snapshotv1.VolumeSnapshotList{} })
}

func runBareList() error {
	kit, err := newBareKit()
	if err != nil {
		return err
	}
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := kit.snapshots("").List(context.Background(), opts)
		if err != nil {
			return err
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			break
		}
	}
	fmt.Println(doneLine)
	orders := bufio.NewScanner(os.Stdin)
	orders.Scan() // until the input is closed
	return orders.Err()
}

func runBareCreates(text string) error {
	var job BareJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return err
	}
	kit, err := newBareKit()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	claims, seen, err := kit.informers(ctx)
	if err != nil {
		return err
	}
	// The first list may be a little older than the last PVC.
	var work []*snapshotv1.VolumeSnapshot
	if err := until(ctx, func() (bool, error) {
		work = bodies(job, claims)
		return len(work) == job.Claims, nil
	}); err != nil {
		return err
	}
	orders := bufio.NewScanner(os.Stdin)
	fmt.Println(readyLine)
	if !orders.Scan() {
		return orders.Err() // called off
	}
	if err := createAll(ctx, kit.snapshots(job.Namespace), work, job.Workers); err != nil {
		return err
	}
	if err := await(ctx, seen, work); err != nil {
		return err
	}
	fmt.Println(doneLine)
	orders.Scan() // until the input is closed
	return orders.Err()
}

// informers are bare: no handlers, no indexes, nothing left out.
func (k bareKit) informers(ctx context.Context) (claims, snapshots cache.Store, err error) {
	core := rest.CopyConfig(k.config)
	core.ContentType = runtime.ContentTypeProtobuf
	kube, err := kubernetes.NewForConfig(core)
	if err != nil {
		return nil, nil, err
	}
	all := k.snapshots("")
	listSnapshots := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return all.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, o)
		},
	}
	pvcs := kube.CoreV1().PersistentVolumeClaims("")
	listClaims := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pvcs.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return pvcs.Watch(ctx, o)
		},
	}
	claimInformer := cache.NewSharedInformer(listClaims, &corev1.PersistentVolumeClaim{}, 0)
	snapshotInformer := cache.NewSharedInformer(listSnapshots, &snapshotv1.VolumeSnapshot{}, 0)
	go claimInformer.Run(ctx.Done())
	go snapshotInformer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), claimInformer.HasSynced, snapshotInformer.HasSynced) {
		return nil, nil, errors.New("the informers did not sync")
	}
	return claimInformer.GetStore(), snapshotInformer.GetStore(), nil
}

func bodies(job BareJob, claims cache.Store) []*snapshotv1.VolumeSnapshot {
	owner := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{
		Namespace: job.Namespace, Name: job.Owner, UID: job.OwnerUID,
	}}
	var work []*snapshotv1.VolumeSnapshot
	for _, o := range claims.List() {
		if claim := o.(*corev1.PersistentVolumeClaim); claim.Namespace == job.Namespace {
			work = append(work, NewSnapshot(owner, claim, job.Slot))
		}
	}
	return work
}

// fieldManager is the operator's: the API server notes it in each object.
const fieldManager = "snapshotschedule"

func createAll(ctx context.Context, c *snapshots, work []*snapshotv1.VolumeSnapshot, workers int) error {
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

// await waits until the informer has seen what was created.
func await(ctx context.Context, store cache.Store, created []*snapshotv1.VolumeSnapshot) error {
	for _, s := range created {
		if err := until(ctx, func() (bool, error) {
			_, seen, err := store.Get(s)
			return seen, err
		}); err != nil {
			return err
		}
	}
	return nil
}

func until(ctx context.Context, holds func() (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) { return holds() })
}
