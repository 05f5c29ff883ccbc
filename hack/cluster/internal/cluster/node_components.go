// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/image"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// pauseImage holds the namespaces of each pod.
const pauseImage = "localhost/pause:local"

// Configuration files are maps, as the programs' types would draw all of
// Kubernetes into this module.
type object = map[string]any

var containerd = definition{
	name: recipe.Containerd,
	setup: func(c *Cluster, _ []int) error {
		runc, err := exec.LookPath("runc")
		if err != nil {
			return err
		}
		d := c.Dir
		network, err := json.Marshal(object{
			"cniVersion": "1.0.0", "name": "pods",
			// Pods are reached by routes, not over a bridge: so kube-proxy sees what
			// they send each other, without the kernel's module for that.
			"plugins": []object{{"type": "ptp", "ipam": object{
				"type": "host-local", "dataDir": "/run/cni", "ranges": [][]object{{{"subnet": node.PodCIDR}}},
				"routes": []object{{"dst": "0.0.0.0/0"}},
			}}},
		})
		if err != nil {
			return err
		}
		const cri = "io.containerd.cri.v1."
		return errors.Join(
			writePrivate(d.data("cni/10-pods.conflist"), network),
			writePrivate(d.data("containerd.toml"), fmt.Appendf(nil, `version = 3
root = %[1]q
state = '/run/containerd'
[grpc]
  address = %[2]q
[ttrpc]
  address = '/run/containerd/ttrpc.sock'
[plugins.'%[3]simages'.pinned_images]
  sandbox = %[4]q
[plugins.'%[3]sruntime']
  restrict_oom_score_adj = true
  [plugins.'%[3]sruntime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    [plugins.'%[3]sruntime'.containerd.runtimes.runc.options]
      BinaryName = %[5]q
      SystemdCgroup = false
  [plugins.'%[3]sruntime'.cni]
    bin_dirs = [%[6]q]
    conf_dir = %[7]q
[plugins.'io.containerd.nri.v1.nri']
  disable = true
`, d.data("containerd"), c.inside.Containerd, cri, pauseImage, runc, c.State.Bin, d.data("cni"))),
		)
	},
	args:  func(c *Cluster, _ []int) []string { return []string{"--config=" + c.Dir.data("containerd.toml")} },
	probe: func(c *Cluster, _ []int) string { return "unix://" + c.inside.Containerd },
}

// loadPause makes the image that no pod goes without, and loads it.
func (c *Cluster) loadPause(ctx context.Context) error {
	archive := c.Dir.data("pause.tar")
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	i := image.Image{Name: pauseImage, Program: filepath.Join(c.State.Bin, recipe.Pause), User: "65532:65532"}
	if err := errors.Join(i.Write(f), f.Close()); err != nil {
		return err
	}
	return until(ctx, readyDeadline, func(ctx context.Context) error {
		return LoadImage(ctx, c.State.Bin, c.inside.Containerd, archive)
	})
}

// LoadImage gives the node an image from an archive.
func LoadImage(ctx context.Context, bin, socket, archive string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, recipe.Ctr), "--address", socket, "--namespace", "k8s.io", "images", "import", archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("load the image of %s: %w\n%s", archive, err, out)
	}
	return nil
}

var scheduler = definition{
	name:  recipe.KubeScheduler,
	ports: 1,
	args: func(c *Cluster, ports []int) []string {
		d := c.Dir
		return []string{
			"--kubeconfig=" + d.pki(recipe.KubeScheduler+".kubeconfig"),
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
			"--tls-cert-file=" + d.pki("server.crt"), "--tls-private-key-file=" + d.pki("server.key"),
			"--leader-elect=false",
		}
	},
	probe: func(_ *Cluster, ports []int) string { return "https://" + local(ports[0]) + "/healthz" },
}

// The node has a network of its own, so these keep the ports they are known by.
const (
	kubeletHealth   = 10248
	kubeProxyHealth = 10256
)

var kubelet = definition{
	name: recipe.Kubelet,
	setup: func(c *Cluster, _ []int) error {
		d := c.Dir
		return writeYAML(d.data("kubelet.yaml"), object{
			"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
			"containerRuntimeEndpoint": "unix://" + c.inside.Containerd,
			"cgroupDriver":             "cgroupfs", "cgroupRoot": "/" + c.inside.Cgroup, "failCgroupV1": false,
			"failSwapOn": false,
			"authentication": object{
				"anonymous": object{"enabled": false}, "webhook": object{"enabled": false},
				"x509": object{"clientCAFile": d.pki("ca.crt")},
			},
			"authorization": object{"mode": "AlwaysAllow"},
			"tlsCertFile":   d.pki("server.crt"), "tlsPrivateKeyFile": d.pki("server.key"),
			"healthzPort": kubeletHealth,
			// There is no DNS. Pods are told of one all the same, as kubelet warns in
			// the events of each pod otherwise.
			"resolvConf": "", "clusterDNS": []string{node.DNSIP}, "clusterDomain": "cluster.local",
			"podLogsDir":      d.at("logs", "pods"),
			"volumePluginDir": d.data("volumeplugins"),
			"oomScoreAdj":     0, "maxOpenFiles": 20000,
			// Nobody could pull an image again, and a full disk is the machine's matter.
			"imageGCHighThresholdPercent": 100,
			"evictionHard": map[string]string{
				"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%",
			},
		})
	},
	args: func(c *Cluster, _ []int) []string {
		return []string{
			"--config=" + c.Dir.data("kubelet.yaml"), "--kubeconfig=" + c.Dir.pki(recipe.Kubelet+".kubeconfig"),
			"--hostname-override=" + node.Name, "--node-ip=" + node.IP, "--root-dir=" + c.Dir.data("kubelet"), "--v=2",
		}
	},
	probe: func(*Cluster, []int) string { return "http://" + local(kubeletHealth) + "/healthz" },
}

var kubeProxy = definition{
	name: recipe.KubeProxy,
	setup: func(c *Cluster, _ []int) error {
		return writeYAML(c.Dir.data("kube-proxy.yaml"), object{
			"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
			"mode": "nftables", "clusterCIDR": node.PodCIDR, "hostnameOverride": node.Name,
			"clientConnection":   object{"kubeconfig": c.Dir.pki(recipe.KubeProxy + ".kubeconfig")},
			"healthzBindAddress": local(kubeProxyHealth),
			// These are settings of the whole machine.
			"conntrack": object{"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
		})
	},
	args:  func(c *Cluster, _ []int) []string { return []string{"--config=" + c.Dir.data("kube-proxy.yaml")} },
	probe: func(*Cluster, []int) string { return "http://" + local(kubeProxyHealth) + "/healthz" },
}

// nodeReady waits until kubelet says that the node can run pods.
func (a *api) nodeReady(ctx context.Context) error {
	return until(ctx, 2*time.Minute, func(ctx context.Context) error {
		return a.hasCondition(ctx, "/api/v1/nodes/"+node.Name, "Ready")
	})
}

func writeYAML(path string, o object) error {
	b, err := yaml.Marshal(o)
	if err != nil {
		return err
	}
	return writePrivate(path, b)
}
