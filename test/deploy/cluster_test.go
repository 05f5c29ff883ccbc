// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// root is that of the repository, seen from this folder.
const root = "../.."

// Cluster is a local cluster with a node, seen by an administrator.
type Cluster struct {
	Client client.Client
	Kube   kubernetes.Interface
	// Dir is the cluster's folder, Containerd the socket of the node's containerd.
	Dir, Containerd string
}

// connect finds the cluster that "make test-deploy" has brought up.
func connect() (*Cluster, error) {
	const how = "run these tests with: make test-deploy"
	kubeconfig, dir := os.Getenv("KUBECONFIG"), os.Getenv("SNAPSCHED_CLUSTER_DIR")
	if kubeconfig == "" || dir == "" {
		return nil, errors.New("KUBECONFIG and SNAPSCHED_CLUSTER_DIR are not both set; " + how)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err != nil {
		return nil, fmt.Errorf("no local cluster: %w; %s", err, how)
	}
	var state struct {
		Node       bool
		Containerd string
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, err
	}
	if !state.Node {
		return nil, errors.New("the local cluster has no node; " + how)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	scheme := k8sruntime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	c := &Cluster{Dir: dir, Containerd: state.Containerd}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	c.Kube, err = kubernetes.NewForConfig(config)
	return c, err
}

// run runs a program in the root of the repository and returns what it prints.
func run(ctx context.Context, stdin []byte, name string, args ...string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	Expect(err).NotTo(HaveOccurred(), "%s %s\n%s%s", name, strings.Join(args, " "), &stdout, &stderr)
	return stdout.String()
}

func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return run(ctx, nil, "kubectl", args...)
}

// forbidden are the requests of the operator that were denied, as the audit log
// has them.
func (c *Cluster) forbidden() []string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(c.Dir, "audit.log"))
	Expect(err).NotTo(HaveOccurred())
	var denied []string
	requests := 0
	for line := range bytes.Lines(text) {
		var event struct {
			Verb, RequestURI string
			User             struct{ Username string }
			ResponseStatus   struct{ Code int }
		}
		// The last line may be half written.
		if json.Unmarshal(line, &event) != nil || event.User.Username != operatorUser {
			continue
		}
		requests++
		if event.ResponseStatus.Code == 403 {
			denied = append(denied, event.Verb+" "+event.RequestURI)
		}
	}
	Expect(requests).NotTo(BeZero(), "the audit log should hold the operator's requests")
	return denied
}
