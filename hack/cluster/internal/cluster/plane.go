// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// admin is the user of the kubeconfig that users get.
const admin = "admin"

// users are the users of the API and their groups. Each component has its own, which the audit log shows.
var users = map[string]struct{ name, group string }{
	admin:                        {admin, "system:masters"},
	recipe.KubeControllerManager: {"system:kube-controller-manager", "system:masters"},
	recipe.SnapshotController:    {recipe.SnapshotController, "system:masters"},
	recipe.CSISnapshotter:        {recipe.CSISnapshotter, "system:masters"},
	recipe.CSIProvisioner:        {recipe.CSIProvisioner, "system:masters"},
	recipe.KubeScheduler:         {"system:kube-scheduler", "system:masters"},
	recipe.KubeProxy:             {"system:kube-proxy", "system:masters"},
	// The node authorizer grants the permissions of this group.
	recipe.Kubelet: {"system:node:" + node.Name, "system:nodes"},
}

func (c *Cluster) etcd() component {
	return component{recipe.Etcd, []string{
		"--data-dir=" + c.State.Dir.data("etcd"), "--listen-peer-urls=http://127.0.0.1:0",
		"--listen-client-urls=http://127.0.0.1:{port}", "--advertise-client-urls=http://127.0.0.1:{port}",
		// Short, because a single member needs no votes.
		"--heartbeat-interval=20", "--election-timeout=200",
		"--unsafe-no-fsync", "--quota-backend-bytes=8589934592", "--log-level=warn",
	}, "http://127.0.0.1:{port}/readyz"}
}

// apiServer is the API server. Its etcd has been started.
func (c *Cluster) apiServer() component {
	args := []string{
		"--etcd-servers=http://" + c.address(recipe.Etcd), "--secure-port={port}",
		"--tls-cert-file=" + c.pki("apiserver.crt"), "--tls-private-key-file=" + c.pki("apiserver.key"),
		"--token-auth-file=" + c.pki("tokens.csv"), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki("sa.key"), "--service-account-signing-key-file=" + c.pki("sa.key"),
		"--service-cluster-ip-range=" + node.ServiceCIDR, "--allow-privileged",
		"--audit-policy-file=" + c.State.Dir.data("audit-policy.yaml"), "--audit-log-path=" + c.State.Dir.at("audit.log"),
		// In megabytes: tests count its lines, so it must not be rotated.
		"--audit-log-maxsize=100000",
		"--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
	}
	if c.State.Node {
		args = append(args, "--bind-address=0.0.0.0", "--advertise-address="+node.IP, "--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=OwnerReferencesPermissionEnforcement,NodeRestriction",
			"--kubelet-preferred-address-types=InternalIP", "--kubelet-certificate-authority="+c.pki("apiserver.crt"))
	} else {
		// It advertises no address: a machine may have only loopback addresses. Without a node, no pod needs a ServiceAccount.
		args = append(args, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
			"--authorization-mode=RBAC", "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
			"--disable-admission-plugins=ServiceAccount")
	}
	return component{recipe.KubeAPIServer, args, "https://127.0.0.1:{port}/readyz"}
}

// startAPIServer starts the API server, and writes the kubeconfigs: the admin's for outside a node and inside, and one for
// each component that uses the API.
func (c *Cluster) startAPIServer(ctx context.Context) error {
	tokens, err := c.writeKeys()
	if err := errors.Join(err, c.write("audit-policy.yaml")); err != nil {
		return err
	}
	if err := c.start(ctx, c.apiServer()); err != nil {
		return err
	}
	inside := "https://" + c.address(recipe.KubeAPIServer)
	outside := inside
	if c.State.Node {
		outside = c.State.Server
	}
	for component, token := range tokens {
		err = errors.Join(err, c.writeKubeconfig(c.kubeconfig(component), inside, token))
	}
	return errors.Join(err, c.writeKubeconfig(c.State.Dir.Kubeconfig(), outside, tokens[admin]))
}

// writeKeys writes the certificate that all servers of the cluster share, followed by that of its authority, the key of
// service account tokens, and the tokens of the users, which it returns.
func (c *Cluster) writeKeys() (tokens map[string]string, err error) {
	crt, key, err := cert.GenerateSelfSignedCertKey("localhost",
		[]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.ParseIP(node.IP), net.ParseIP(node.ServiceIP)},
		[]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc"})
	serviceAccounts, keyErr := keyutil.MakeEllipticPrivateKeyPEM()
	tokens = map[string]string{}
	var csv strings.Builder
	for component, user := range users {
		tokens[component] = rand.Text()
		fmt.Fprintf(&csv, "%s,%s,%s,%s\n", tokens[component], user.name, user.name, user.group)
	}
	err = errors.Join(err, keyErr)
	for name, text := range map[string][]byte{
		"apiserver.crt": crt, "apiserver.key": key, "sa.key": serviceAccounts, "tokens.csv": []byte(csv.String()),
	} {
		err = errors.Join(err, os.WriteFile(c.pki(name), text, 0o600))
	}
	return tokens, err
}

func (c *Cluster) writeKubeconfig(path, server, token string) error {
	const name = "local"
	ca, err := os.ReadFile(c.pki("apiserver.crt"))
	k := clientcmdapi.NewConfig()
	k.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	k.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	k.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	k.CurrentContext = name
	return errors.Join(err, clientcmd.WriteToFile(*k, path))
}
