// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// server is an API server and etcd and nothing else, as an administrator reaches them.
type server struct {
	// client has no rate limit, and its requests are not measured.
	client client.WithWatch

	// audit is the log of the operator's requests, if there is one.
	audit       *audit.Log
	dir         string
	environment envtest.Environment
	etcd        etcd.Client
	// kubeconfig is a file for the operator's ServiceAccount.
	kubeconfig string
	// pids are the processes of etcd and kube-apiserver.
	pids []int
	// started counts the operators and bare clients so far, and running those that run.
	started, running atomic.Int32
}

// start starts the server in its folder, with the programs of the assets, and installs what the operator needs. With an
// audit the server logs every request, which costs CPU: speeds are compared without it.
func (s *server) start(ctx context.Context, root, assets string, audited bool) {
	s.environment = envtest.Environment{
		CRDDirectoryPaths:        value(repo.SnapshotCRDFiles()),
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	plane := &s.environment.ControlPlane
	plane.Etcd = &envtest.Etcd{Path: filepath.Join(assets, "etcd")}
	plane.Etcd.Configure().Set("quota-backend-bytes", "8589934592").Set("log-level", "error")
	apiserver := plane.GetAPIServer()
	apiserver.Path = filepath.Join(assets, "kube-apiserver")
	if audited {
		s.audit = &audit.Log{Path: value(audit.Enable(apiserver, s.dir)), User: cluster.OperatorUser(cluster.SystemNamespace)}
	}
	config := value(s.environment.Start())
	config.QPS = -1
	s.etcd = etcd.Client{URL: plane.Etcd.URL.String()}
	s.client = value(client.NewWithWatch(config, client.Options{Scheme: cluster.Scheme}))
	s.pids = []int{value(process.Child("etcd")), value(process.Child("kube-apiserver"))}

	// The bare client uses the operator's ServiceAccount, too, so that the API server authorizes and queues both in the same way.
	kube := value(kubernetes.NewForConfig(config))
	must(cluster.Install(ctx, s.client, kube.Discovery(), value(repo.Shipped(ctx, root))...))
	must(s.client.Create(ctx, snapshotClass()))
	operator := rest.AnonymousClientConfig(config)
	operator.BearerToken = value(cluster.Token(ctx, kube, cluster.SystemNamespace, cluster.ServiceAccount, 3*time.Hour))
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	must(cluster.WriteKubeconfig(s.kubeconfig, operator))
}

// stop stops etcd and kube-apiserver and removes their files.
func (s *server) stop() error { return errors.Join(s.environment.Stop(), os.RemoveAll(s.dir)) }

// namespace creates a namespace.
func (s *server) namespace(ctx context.Context, name string) error {
	return s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// mark returns the end of the log of requests, if there is one, for since.
func (s *server) mark() audit.Mark {
	if s.audit == nil {
		return 0
	}
	return value(s.audit.Mark())
}

// since returns the operator's requests since a mark, if they are logged.
func (s *server) since(mark audit.Mark) audit.Requests {
	if s.audit == nil {
		return nil
	}
	return value(s.audit.Since(mark))
}

// cpu returns what etcd and kube-apiserver have used so far.
func (s *server) cpu() (sum time.Duration) {
	for _, pid := range s.pids {
		sum += value(process.CPU(pid))
	}
	return sum
}

// poll waits until a condition holds. An error ends the wait.
func poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	err := wait.PollUntilContextCancel(ctx, every, true, func(context.Context) (bool, error) { return done() })
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// put writes objects into etcd, or overwrites them, and waits until the API server has seen all of them: it writes
// the last one of each type again, alone, and waits for that.
func (s *server) put(ctx context.Context, objects ...client.Object) {
	// The objects of one transaction have the same revision. A client that starts a watch between two of them
	// misses the rest, and a running client may have to start its watch again at any time.
	size := etcd.MaxObjects
	if s.running.Load() > 0 {
		size = 1
	}
	for some := range slices.Chunk(objects, size) {
		value(s.etcd.Put(ctx, some...))
	}
	last := map[reflect.Type]client.Object{}
	for _, o := range objects {
		last[reflect.TypeOf(o)] = o
	}
	for _, o := range last {
		s.putAlone(ctx, o)
	}
}

func (s *server) putAlone(ctx context.Context, o client.Object) {
	revision := value(s.etcd.Put(ctx, o))
	kind := value(apiutil.GVKForObject(o, cluster.Scheme))
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	must(poll(ctx, 5*time.Millisecond, func() (bool, error) {
		err := s.client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"metadata.name": o.GetName()},
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
		if apierrors.IsTooManyRequests(err) { // the API server's cache of a new kind is being filled
			return false, nil
		}
		return err == nil && len(list.Items) == 1 && list.Items[0].ResourceVersion == revision, err
	}))
}

// drop removes an object from etcd, whatever finalizers it has.
func (s *server) drop(ctx context.Context, o client.Object) {
	must(s.etcd.Delete(ctx, value(etcd.Key(o))))
}

// clear removes all PVCs, snapshots and schedules of a namespace from etcd.
func (s *server) clear(ctx context.Context, namespace string) {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(http.DefaultMaxIdleConnsPerHost)
	for _, o := range []client.Object{&v1alpha1.SnapshotSchedule{}, &snapshotv1.VolumeSnapshot{}, &corev1.PersistentVolumeClaim{}} {
		o.SetNamespace(namespace)
		for _, key := range value(s.etcd.Keys(ctx, o)) {
			all.Go(func() error { return s.etcd.Delete(ctx, key) })
		}
	}
	must(all.Wait())
}

// normalized returns a snapshot of a namespace as JSON, without the values that differ between any two
// snapshots. It is the same for two clients that create the same objects.
func (s *server) normalized(ctx context.Context, namespace string) string {
	var list snapshotv1.VolumeSnapshotList
	must(s.client.List(ctx, &list, client.InNamespace(namespace), client.Limit(1)))
	if len(list.Items) == 0 {
		must(fmt.Errorf("namespace %s has no snapshots", namespace))
	}
	return normalize(&list.Items[0])
}

// varying are the values that differ. Each has a fixed length, except the resource version.
var varying = []struct {
	value *regexp.Regexp
	by    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`-\d{14}-[0-9a-z]{10}`), "-SLOT-HASH"},
	{regexp.MustCompile(`"resourceVersion":"\d+"`), `"resourceVersion":"N"`},
	{regexp.MustCompile(`claim-\d{5}`), "CLAIM"},
	{regexp.MustCompile(`"namespace":"[^"]*"`), `"namespace":"NAMESPACE"`},
}

func normalize(o *snapshotv1.VolumeSnapshot) string {
	text := value(json.Marshal(o))
	for _, v := range varying {
		text = v.value.ReplaceAll(text, []byte(v.by))
	}
	return string(text)
}
