// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/child"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// startControlPlane starts etcd and the API server, and writes the kubeconfigs.
func (c *Cluster) startControlPlane(context.Context) error {
	if err := errors.Join(c.writeKeys(), c.write("audit-policy.yaml")); err != nil {
		return err
	}
	ca, err := os.ReadFile(c.pki("apiserver.crt"))
	if err != nil {
		return err
	}
	etcd := &envtest.Etcd{DataDir: c.config.Dir.data("etcd"), StartTimeout: readyTimeout, StopTimeout: stopTimeout}
	server := &envtest.APIServer{CertDir: c.config.Dir.data("pki"), StartTimeout: readyTimeout, StopTimeout: stopTimeout}
	server.CA = ca
	if etcd.Path, etcd.Out, err = c.program(recipe.Etcd); err != nil {
		return err
	}
	if server.Path, server.Out, err = c.program(recipe.KubeAPIServer); err != nil {
		return err
	}
	etcd.Err, server.Err = etcd.Out, server.Out
	c.plane = envtest.ControlPlane{Etcd: etcd, APIServer: server}
	c.configureControlPlane()
	if err := errors.Join(os.Mkdir(etcd.DataDir, 0o700), c.plane.Start()); err != nil {
		return fmt.Errorf("%w%s%s", err, tail(c.config.Dir.log(recipe.Etcd)), tail(c.config.Dir.log(recipe.KubeAPIServer)))
	}
	c.State.Parts = append(c.State.Parts,
		Part{Name: recipe.Etcd, Probe: etcd.URL.String() + "/readyz"},
		Part{Name: recipe.KubeAPIServer, Probe: server.SecureServing.URL("https", "/readyz").String()})
	return c.writeKubeconfigs()
}

// program returns the path at which envtest starts a program, and its log.
func (c *Cluster) program(name string) (string, io.Writer, error) {
	log, err := os.Create(c.config.Dir.log(name))
	if err != nil {
		return "", nil, err
	}
	path, err := child.Wrapped(c.config.Dir.data("bin"), filepath.Join(c.config.Kind.Bin, name))
	return path, log, err
}

func (c *Cluster) configureControlPlane() {
	c.plane.Etcd.Configure().
		// Short, because a single member needs no votes.
		Set("heartbeat-interval", "20").Set("election-timeout", "200").
		Set("quota-backend-bytes", "8589934592").Set("log-level", "warn")
	args := c.plane.APIServer.Configure().
		Set("service-account-key-file", c.pki("sa.key")).Set("service-account-signing-key-file", c.pki("sa.key")).
		Set("service-account-issuer", "https://kubernetes.default.svc").
		Set("audit-policy-file", c.config.Dir.data("audit-policy.yaml")).Set("audit-log-path", c.config.Dir.at("audit.log")).
		// In megabytes: tests count its lines, so it must not be rotated.
		Set("audit-log-maxsize", "100000").
		Set("max-requests-inflight", "2000").Set("max-mutating-requests-inflight", "1000")
	if !c.config.inNode() {
		// Otherwise it fails on a machine that has only loopback addresses.
		args.Set("advertise-address", "127.0.0.1").Set("endpoint-reconciler-type", "none").
			Set("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
		return
	}
	args.Set("bind-address", "0.0.0.0").Set("advertise-address", node.IP).Set("authorization-mode", "Node,RBAC").
		Disable("disable-admission-plugins").
		Set("enable-admission-plugins", "OwnerReferencesPermissionEnforcement,NodeRestriction").
		Set("kubelet-preferred-address-types", "InternalIP").Set("kubelet-certificate-authority", c.pki("apiserver.crt"))
}

// writeKeys writes the certificate that all servers of the cluster share, followed by that of its authority, and the key of
// service account tokens. envtest's own certificate is not valid for a node's addresses.
func (c *Cluster) writeKeys() error {
	crt, key, err := cert.GenerateSelfSignedCertKey("localhost",
		[]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.ParseIP(node.IP), net.ParseIP(node.ServiceIP)},
		[]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc"})
	tokens, tokensErr := keyutil.MakeEllipticPrivateKeyPEM()
	return errors.Join(err, tokensErr, os.WriteFile(c.pki("apiserver.crt"), crt, 0o600),
		os.WriteFile(c.pki("apiserver.key"), key, 0o600), os.WriteFile(c.pki("sa.key"), tokens, 0o600))
}

// writeKubeconfigs writes the admin's kubeconfig, for outside a node and inside, and one for each component that uses the
// API. Each has its own user name, which the audit log shows.
func (c *Cluster) writeKubeconfigs() error {
	const all = "system:masters"
	for component, user := range map[string]envtest.User{
		admin:                        {Name: admin, Groups: []string{all}},
		recipe.KubeControllerManager: {Name: "system:kube-controller-manager", Groups: []string{all}},
		recipe.SnapshotController:    {Name: recipe.SnapshotController, Groups: []string{all}},
		recipe.CSISnapshotter:        {Name: recipe.CSISnapshotter, Groups: []string{all}},
		recipe.CSIProvisioner:        {Name: recipe.CSIProvisioner, Groups: []string{all}},
		recipe.KubeScheduler:         {Name: "system:kube-scheduler", Groups: []string{all}},
		recipe.KubeProxy:             {Name: "system:kube-proxy", Groups: []string{all}},
		// The node authorizer grants the permissions of this group.
		recipe.Kubelet: {Name: "system:node:" + node.Name, Groups: []string{"system:nodes"}},
	} {
		u, err := c.plane.AddUser(user, nil)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(c.kubeconfig(component), u); err != nil {
			return err
		}
		if component != admin {
			continue
		}
		if c.config.inNode() {
			u.Config().Host = c.config.Server
		}
		if err := writeKubeconfig(c.config.Dir.Kubeconfig(), u); err != nil {
			return err
		}
	}
	return nil
}

func writeKubeconfig(path string, u *envtest.AuthenticatedUser) error {
	text, err := u.KubeConfig()
	return errors.Join(err, os.WriteFile(path, text, 0o600))
}
