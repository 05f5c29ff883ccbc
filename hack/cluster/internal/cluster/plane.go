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

// startAPIServer starts the API server, and writes the kubeconfigs: the admin's for outside a node and inside, and one for
// each component that uses the API.
func (c *Cluster) startAPIServer(ctx context.Context) error {
	tokens, err := c.writeKeys()
	if err := errors.Join(err, c.write("audit-policy.yaml")); err != nil {
		return err
	}
	if err := c.start(ctx, recipe.KubeAPIServer, "https://127.0.0.1:{port}/readyz"); err != nil {
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
