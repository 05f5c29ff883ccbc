// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment is what the campaign's runs happen in: a real API server, etcd and
// garbage collector, the record of every change that is committed there, the
// operator's processes, and what plays the CSI driver.
package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// The operator's ServiceAccount, as shipped.
const (
	systemNamespace = "snapshotschedule-system"
	account         = "snapshotschedule-controller-manager"
)

// EnvClusterDir names the variable with the folder of the local cluster.
const EnvClusterDir = "SNAPSCHED_CLUSTER_DIR"

// Scheme knows every kind of a run.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// Cluster is the API server, seen by an administrator.
type Cluster struct {
	Client    client.WithWatch
	Upstream  *url.URL
	Transport http.RoundTripper
	// Token is the operator's.
	Token string
	// Records is every change, of all runs.
	Records *Recorder

	config  *rest.Config
	kube    kubernetes.Interface
	etcd    etcd
	volumes *volumes
	// collects is closed when the garbage collector knows the kinds.
	collects chan struct{}
}

// Connect finds the cluster that the environment names, installs what is shipped
// and begins to record. root is the root of the repository.
func Connect(ctx context.Context, root string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("read $KUBECONFIG: %w", err)
	}
	config.QPS = -1
	c := &Cluster{config: config, collects: make(chan struct{})}
	if c.etcd, err = findEtcd(os.Getenv(EnvClusterDir)); err != nil {
		return nil, err
	}
	if c.Upstream, err = url.Parse(config.Host); err != nil {
		return nil, err
	}
	if c.Transport, err = transport(config); err != nil {
		return nil, err
	}
	if c.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if err := c.install(ctx, root); err != nil {
		return nil, err
	}
	if c.Client, err = client.NewWithWatch(config, client.Options{Scheme: Scheme}); err != nil {
		return nil, err
	}
	if c.Token, err = c.newToken(ctx); err != nil {
		return nil, err
	}
	if c.volumes, err = newVolumes(ctx, c.etcd); err != nil {
		return nil, err
	}
	if c.Records, err = record(ctx, c.Client); err != nil {
		return nil, err
	}
	go c.awaitCollector(ctx)
	return c, nil
}

// transport is a way to the API server that carries no credentials: those of the
// operator go through the proxy.
func transport(config *rest.Config) (http.RoundTripper, error) {
	anonymous := rest.AnonymousClientConfig(config)
	tls, err := rest.TLSConfigFor(anonymous)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		TLSClientConfig: tls, DisableCompression: true,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
	}, nil
}

func (c *Cluster) install(ctx context.Context, root string) error {
	direct, err := client.New(c.config, client.Options{Scheme: Scheme})
	if err != nil {
		return err
	}
	text, err := snapshotCRDs()
	if err != nil {
		return err
	}
	shipped, err := kustomize(ctx, root)
	if err != nil {
		return err
	}
	objects, err := decode(text + "\n---\n" + shipped)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			continue
		}
		err := direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("faults"), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return c.awaitServed(ctx, direct)
}

// awaitServed waits until the API server serves the kinds that it was just told
// of.
func (c *Cluster) awaitServed(ctx context.Context, direct client.Client) error {
	for _, list := range []client.ObjectList{&v1alpha1.SnapshotScheduleList{}, &snapshotv1.VolumeSnapshotList{}} {
		err := Await(ctx, 30*time.Second, func() error { return direct.List(ctx, list) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Await waits until something succeeds, and returns its last error if it does
// not in time.
func Await(ctx context.Context, within time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func snapshotCRDs() (string, error) {
	pattern := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "crds", "snapshot.storage.k8s.io_*.yaml")
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no snapshot CRDs at %s: run this by 'go run ./test/faults', or set KUBEBUILDER_ASSETS to what "+
			"'go -C hack/cluster run . assets' prints", pattern)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		all = append(all, string(text))
	}
	return strings.Join(all, "\n---\n"), nil
}

// kustomize builds what is shipped, with the kustomize that the repository pins.
func kustomize(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=hack/tools/kustomize.mod", "kustomize", "build", "config/default")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("kustomize build config/default: %w: %s", err, stderr.String())
	}
	return string(out), nil
}

func decode(text string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := documents.Decode(o)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

func (c *Cluster) newToken(ctx context.Context) (string, error) {
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](24 * 3600)},
	}
	answer, err := c.kube.CoreV1().ServiceAccounts(systemNamespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("a token for the operator: %w", err)
	}
	return answer.Status.Token, nil
}

// findEtcd reads where etcd listens from the state of the local cluster.
func findEtcd(dir string) (etcd, error) {
	text, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err != nil {
		return etcd{}, fmt.Errorf("the local cluster of $%s: %w", EnvClusterDir, err)
	}
	var state struct {
		Parts []struct{ Name, Probe string }
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return etcd{}, err
	}
	for _, part := range state.Parts {
		if part.Name == "etcd" {
			return etcd{url: strings.TrimSuffix(part.Probe, "/readyz")}, nil
		}
	}
	return etcd{}, fmt.Errorf("the local cluster of $%s has no etcd", EnvClusterDir)
}
