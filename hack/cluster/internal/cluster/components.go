// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// definition says how one part is started and how to see that it is ready.
type definition struct {
	name  string
	ports int
	// setup, if set, runs before each try, with the ports of that try.
	setup func(c *Cluster, ports []int) error
	args  func(c *Cluster, ports []int) []string
	probe func(c *Cluster, ports []int) string
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// Nothing here is meant to survive: etcd never waits for the disk.
var etcd = definition{
	name:  recipe.Etcd,
	ports: 2,
	setup: func(c *Cluster, ports []int) error {
		c.etcd = "http://" + local(ports[0])
		return os.RemoveAll(c.Dir.data("etcd"))
	},
	args: func(c *Cluster, ports []int) []string {
		peer := "http://" + local(ports[1])
		return []string{
			"--data-dir=" + c.Dir.data("etcd"),
			"--listen-client-urls=" + c.etcd, "--advertise-client-urls=" + c.etcd,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=default=" + peer,
			// A single member waits for nobody's vote, so it need not wait long.
			"--heartbeat-interval=20", "--election-timeout=200",
			"--unsafe-no-fsync", "--quota-backend-bytes=8589934592", "--log-level=warn",
		}
	},
	probe: func(c *Cluster, _ []int) string { return c.etcd + "/readyz" },
}

var apiserver = definition{
	name:  recipe.KubeAPIServer,
	ports: 1,
	setup: func(c *Cluster, ports []int) error {
		c.State.Server = "https://" + local(ports[0])
		forPeople := c.State.Server
		if c.inside != nil {
			forPeople = c.inside.Server
		}
		return c.keys.writeKubeconfigs(c.Dir, c.State.Server, forPeople)
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
			// Megabytes. Tests count lines in it, so it must never be rotated.
			"--audit-log-maxsize=100000",
			"--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
		}, apiserverFor(c)...)
	},
	probe: func(c *Cluster, _ []int) string { return c.State.Server + "/readyz" },
}

// apiserverFor is what differs between a cluster with a node and one without.
func apiserverFor(c *Cluster) []string {
	if c.inside == nil {
		return []string{
			"--bind-address=127.0.0.1",
			// Without these it looks for an address of this machine to
			// announce, and fails where there is none but loopback.
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
	probe: func(_ *Cluster, ports []int) string { return "https://" + local(ports[0]) + "/healthz" },
}

func controllers(c *Cluster) string {
	if c.inside == nil {
		// There are no nodes.
		return "*,-ttl,-nodelifecycle"
	}
	return "*"
}

var mockCSI = definition{
	name:  recipe.MockCSI,
	args:  func(c *Cluster, _ []int) []string { return []string{c.socket} },
	probe: func(c *Cluster, _ []int) string { return "unix://" + c.socket },
}

// sidecar is what the three CSI programs have in common. They open their
// metrics address once they have reached the API and, those that talk to it,
// the driver. The default of 5 requests a second makes many snapshots slow.
func sidecar(name string, withDriver bool) definition {
	return definition{
		name:  name,
		ports: 1,
		args: func(c *Cluster, ports []int) []string {
			args := []string{
				"--kubeconfig=" + c.Dir.pki(name+".kubeconfig"),
				"--http-endpoint=" + local(ports[0]),
				"--leader-election=false", "--v=2",
				"--kube-api-qps=500", "--kube-api-burst=1000",
				// Nobody should have to wait five minutes, their default, for a part that
				// is back after it was stopped.
				"--retry-interval-max=5s",
			}
			if withDriver {
				args = append(args, "--csi-address="+c.socket)
			}
			return args
		},
		probe: func(_ *Cluster, ports []int) string { return "http://" + local(ports[0]) + "/metrics" },
	}
}

var (
	snapshotController = sidecar(recipe.SnapshotController, false)
	csiSnapshotter     = sidecar(recipe.CSISnapshotter, true)
	csiProvisioner     = sidecar(recipe.CSIProvisioner, true)
)
