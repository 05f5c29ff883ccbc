// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster holds what a test needs to reach the API server it runs against: the local
// cluster's state, the scheme, and the operator's identity.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const (
	// EnvDir is the environment variable with the folder of the local cluster.
	EnvDir = "SNAPSCHED_CLUSTER_DIR"
	// SystemNamespace is the namespace that config/default installs the operator into.
	SystemNamespace = "snapshotschedule-system"
	// ServiceAccount is the name of the operator's ServiceAccount.
	ServiceAccount = "snapshotschedule-controller-manager"
)

// Scheme knows every kind that the tests use.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(groupv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// OperatorUser is the name that the API server gives to the operator in a namespace.
func OperatorUser(namespace string) string {
	return "system:serviceaccount:" + namespace + ":" + ServiceAccount
}

// State is what the local cluster's program writes down about the cluster it runs.
type State struct {
	// Dir is the folder of the cluster.
	Dir string `json:"-"`
	// Node says whether the cluster has a node, and Containerd is the socket of its containerd.
	Node       bool
	Containerd string
	Parts      []Part
}

// Part is a process of the local cluster. Probe is the URL that tells whether it is ready.
type Part struct {
	Name, Probe string
	Pid         int
}

// Part returns the part with a name.
func (s State) Part(name string) (Part, error) {
	for _, p := range s.Parts {
		if p.Name == name {
			return p, nil
		}
	}
	return Part{}, fmt.Errorf("the local cluster of $%s has no %s", EnvDir, name)
}

// AuditLog is the path of the API server's audit log.
func (s State) AuditLog() string { return filepath.Join(s.Dir, "audit.log") }

// Find returns the local cluster that $KUBECONFIG and $SNAPSCHED_CLUSTER_DIR name, with a
// client configuration without rate limits.
func Find() (*rest.Config, State, error) {
	kubeconfig, dir := os.Getenv("KUBECONFIG"), os.Getenv(EnvDir)
	if kubeconfig == "" || dir == "" {
		return nil, State{}, fmt.Errorf("KUBECONFIG and %s are not both set", EnvDir)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, State{}, fmt.Errorf("read $KUBECONFIG: %w", err)
	}
	config.QPS = -1
	state, err := readState(dir)
	return config, state, err
}

func readState(dir string) (State, error) {
	state := State{Dir: dir}
	return state, readJSON(filepath.Join(dir, "cluster.json"), &state)
}

// readJSON reads a file of the local cluster.
func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("read %s of the local cluster: %w", filepath.Base(path), err)
	}
	return nil
}

// Token requests a token for a ServiceAccount.
func Token(ctx context.Context, kube kubernetes.Interface, namespace, account string, validity time.Duration) (string, error) {
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(validity.Seconds()))},
	}
	answer, err := kube.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request a token for ServiceAccount %s/%s: %w", namespace, account, err)
	}
	return answer.Status.Token, nil
}

// WriteKubeconfig writes the host, the CA and the token of a configuration to a file.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "test"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	return clientcmd.WriteToFile(*c, path)
}

// JSON encodes an object with its kind, as the API server does.
func JSON(o client.Object) ([]byte, error) {
	gvk, err := apiutil.GVKForObject(o, Scheme)
	if err != nil {
		return nil, err
	}
	o = o.DeepCopyObject().(client.Object)
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return json.Marshal(o)
}
