// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// definition defines how a component is started and probed.
type definition struct {
	name string
	// ports is the number of ports the component needs.
	ports int
	// prepare is optional and runs before each attempt.
	prepare func(c *Cluster, ports []int) error
	args    func(c *Cluster, ports []int) []string
	// probe returns the URL that answers when the component is ready.
	probe func(c *Cluster, ports []int) string
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

var etcd = definition{
	name:  recipe.Etcd,
	ports: 2,
	prepare: func(c *Cluster, ports []int) error {
		c.etcd = "http://" + loopback(ports[0])
		return os.RemoveAll(c.Dir.data("etcd"))
	},
	args: func(c *Cluster, ports []int) []string {
		peer := "http://" + loopback(ports[1])
		return []string{
			"--data-dir=" + c.Dir.data("etcd"),
			"--listen-client-urls=" + c.etcd, "--advertise-client-urls=" + c.etcd,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=default=" + peer,
			// Short, because a single member needs no votes.
			"--heartbeat-interval=20", "--election-timeout=200",
			// Fast, because the data need not survive a crash.
			"--unsafe-no-fsync", "--quota-backend-bytes=8589934592", "--log-level=warn",
		}
	},
	probe: func(c *Cluster, _ []int) string { return c.etcd + "/readyz" },
}

var apiserver = definition{
	name:  recipe.KubeAPIServer,
	ports: 1,
	prepare: func(c *Cluster, ports []int) error {
		c.State.Server = "https://" + loopback(ports[0])
		external := c.State.Server
		if c.node != nil {
			external = c.node.Server
		}
		return c.keys.writeKubeconfigs(c.Dir, c.State.Server, external)
	},
	args: func(c *Cluster, ports []int) []string {
		d := c.Dir
		return append([]string{
			"--etcd-servers=" + c.etcd,
			fmt.Sprintf("--secure-port=%d", ports[0]),
			"--cert-dir=" + d.pki("apiserver"),
			"--tls-cert-file=" + d.pki("server.crt"), "--tls-private-key-file=" + d.pki("server.key"),
			"--client-ca-file=" + d.pki("ca.crt"),
			"--service-account-key-file=" + d.pki("sa.pub"), "--service-account-signing-key-file=" + d.pki("sa.key"),
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-cluster-ip-range=" + node.ServiceCIDR, "--allow-privileged=true",
			"--audit-policy-file=" + d.at("audit-policy.json"), "--audit-log-path=" + d.Audit(),
			// In megabytes: tests count its lines, so it must not be rotated.
			"--audit-log-maxsize=100000",
			"--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
		}, apiserverNodeArgs(c)...)
	},
	probe: func(c *Cluster, _ []int) string { return c.State.Server + "/readyz" },
}

// apiserverNodeArgs returns the arguments that differ between a cluster with a node
// and one without.
func apiserverNodeArgs(c *Cluster) []string {
	if c.node == nil {
		return []string{
			"--bind-address=127.0.0.1",
			// Otherwise it fails on a machine that has only loopback addresses.
			"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
			"--authorization-mode=RBAC",
			"--disable-admission-plugins=ServiceAccount",
			"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		}
	}
	return []string{
		"--bind-address=0.0.0.0", "--advertise-address=" + node.IP,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement,NodeRestriction",
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + c.Dir.pki("admin.crt"), "--kubelet-client-key=" + c.Dir.pki("admin.key"),
		"--kubelet-certificate-authority=" + c.Dir.pki("ca.crt"),
	}
}

var controllerManager = definition{
	name:  recipe.KubeControllerManager,
	ports: 1,
	args: func(c *Cluster, ports []int) []string {
		d := c.Dir
		return []string{
			"--kubeconfig=" + d.pki(recipe.KubeControllerManager+".kubeconfig"),
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
			"--tls-cert-file=" + d.pki("server.crt"), "--tls-private-key-file=" + d.pki("server.key"),
			"--root-ca-file=" + d.pki("ca.crt"), "--service-account-private-key-file=" + d.pki("sa.key"),
			"--use-service-account-credentials=false", "--leader-elect=false",
			"--controllers=" + controllers(c),
			"--kube-api-qps=500", "--kube-api-burst=1000",
		}
	},
	probe: func(_ *Cluster, ports []int) string { return "https://" + loopback(ports[0]) + "/healthz" },
}

func controllers(c *Cluster) string {
	if c.node == nil {
		return "*,-ttl,-nodelifecycle"
	}
	return "*"
}

var mockCSI = definition{
	name:  recipe.MockCSI,
	args:  func(c *Cluster, _ []int) []string { return []string{c.socket} },
	probe: func(c *Cluster, _ []int) string { return "unix://" + c.socket },
}

// sidecar defines a CSI controller. It serves metrics once it has reached the API
// server and, if it uses one, the driver.
func sidecar(name string, withDriver bool) definition {
	return definition{
		name:  name,
		ports: 1,
		args: func(c *Cluster, ports []int) []string {
			args := []string{
				"--kubeconfig=" + c.Dir.pki(name+".kubeconfig"),
				"--http-endpoint=" + loopback(ports[0]),
				"--leader-election=false", "--v=2",
				// The default is five minutes, a long wait after the driver was stopped.
				"--retry-interval-max=5s",
			}
			if name == recipe.CSIProvisioner || !c.defaultRates {
				// The default is 5 requests per second, too slow for many snapshots.
				args = append(args, "--kube-api-qps=500", "--kube-api-burst=1000")
			}
			if withDriver {
				args = append(args, "--csi-address="+c.socket)
			}
			return args
		},
		probe: func(_ *Cluster, ports []int) string { return "http://" + loopback(ports[0]) + "/metrics" },
	}
}

var (
	snapshotController = sidecar(recipe.SnapshotController, false)
	csiSnapshotter     = sidecar(recipe.CSISnapshotter, true)
	csiProvisioner     = sidecar(recipe.CSIProvisioner, true)
)
