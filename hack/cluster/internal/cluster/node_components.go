// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/image"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// pauseImage is the image of the container that holds a pod's namespaces.
const pauseImage = "localhost/pause:local"

var containerd = definition{
	name: recipe.Containerd,
	prepare: func(c *Cluster, _ []int) error {
		runc, err := exec.LookPath("runc")
		if err != nil {
			return err
		}
		d := c.Dir
		err = writeJSON(d.data("cni/10-pods.conflist"), object{
			"cniVersion": "1.0.0", "name": "pods",
			// Routes instead of a bridge: kube-proxy then sees traffic between pods
			// without the kernel module br_netfilter.
			"plugins": []object{{"type": "ptp", "ipam": object{
				"type": "host-local", "dataDir": "/run/cni", "ranges": [][]object{{{"subnet": node.PodCIDR}}},
				"routes": []object{{"dst": "0.0.0.0/0"}},
			}}},
		})
		const cri = "io.containerd.cri.v1."
		return errors.Join(err, writePrivate(d.data("containerd.toml"), fmt.Appendf(nil, `version = 3
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
`, d.data("containerd"), c.node.Containerd, cri, pauseImage, runc, c.State.Bin, d.data("cni"))))
	},
	args:  func(c *Cluster, _ []int) []string { return []string{"--config=" + c.Dir.data("containerd.toml")} },
	probe: func(c *Cluster, _ []int) string { return "unix://" + c.node.Containerd },
}

// loadPauseImage creates the pause image and loads it.
func (c *Cluster) loadPauseImage(ctx context.Context) error {
	archive := c.Dir.data("pause.tar")
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	i := image.Image{Name: pauseImage, Program: filepath.Join(c.State.Bin, recipe.Pause), User: "65532:65532"}
	if err := errors.Join(i.Write(f), f.Close()); err != nil {
		return err
	}
	return poll(ctx, readyTimeout, func(ctx context.Context) error {
		return LoadImage(ctx, c.State.Bin, c.node.Containerd, archive)
	})
}

// LoadImage loads the images of an archive into the node.
func LoadImage(ctx context.Context, bin, socket, archive string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, recipe.Ctr), "--address", socket, "--namespace", "k8s.io", "images", "import", archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("load images from %s: %w\n%s", archive, err, out)
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
	probe: func(_ *Cluster, ports []int) string { return "https://" + loopback(ports[0]) + "/healthz" },
}

// Default ports, which are free because the node has its own network.
const (
	kubeletHealth   = 10248
	kubeProxyHealth = 10256
)

var kubelet = definition{
	name: recipe.Kubelet,
	prepare: func(c *Cluster, _ []int) error {
		d := c.Dir
		return writeJSON(d.data("kubelet.json"), object{
			"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
			"containerRuntimeEndpoint": "unix://" + c.node.Containerd,
			"cgroupDriver":             "cgroupfs", "cgroupRoot": "/" + c.node.Cgroup, "failCgroupV1": false,
			"failSwapOn": false,
			"authentication": object{
				"anonymous": object{"enabled": false}, "webhook": object{"enabled": false},
				"x509": object{"clientCAFile": d.pki("ca.crt")},
			},
			"authorization": object{"mode": "AlwaysAllow"},
			"tlsCertFile":   d.pki("server.crt"), "tlsPrivateKeyFile": d.pki("server.key"),
			"healthzPort": kubeletHealth,
			// There is no DNS, but without these settings kubelet sends a warning event
			// for every pod.
			"resolvConf": "", "clusterDNS": []string{node.DNSIP}, "clusterDomain": "cluster.local",
			"podLogsDir":      d.at("logs", "pods"),
			"volumePluginDir": d.data("volumeplugins"),
			"oomScoreAdj":     0, "maxOpenFiles": 20000,
			// Never remove images, because they cannot be pulled again.
			"imageGCHighThresholdPercent": 100,
			"evictionHard": map[string]string{
				"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%",
			},
		})
	},
	args: func(c *Cluster, _ []int) []string {
		return []string{
			"--config=" + c.Dir.data("kubelet.json"), "--kubeconfig=" + c.Dir.pki(recipe.Kubelet+".kubeconfig"),
			"--hostname-override=" + node.Name, "--node-ip=" + node.IP, "--root-dir=" + c.Dir.data("kubelet"), "--v=2",
		}
	},
	probe: func(*Cluster, []int) string { return "http://" + loopback(kubeletHealth) + "/healthz" },
}

var kubeProxy = definition{
	name: recipe.KubeProxy,
	prepare: func(c *Cluster, _ []int) error {
		return writeJSON(c.Dir.data("kube-proxy.json"), object{
			"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
			"mode": "nftables", "clusterCIDR": node.PodCIDR, "hostnameOverride": node.Name,
			"clientConnection":   object{"kubeconfig": c.Dir.pki(recipe.KubeProxy + ".kubeconfig")},
			"healthzBindAddress": loopback(kubeProxyHealth),
			// Zero leaves the settings of the whole machine unchanged.
			"conntrack": object{"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
		})
	},
	args:  func(c *Cluster, _ []int) []string { return []string{"--config=" + c.Dir.data("kube-proxy.json")} },
	probe: func(*Cluster, []int) string { return "http://" + loopback(kubeProxyHealth) + "/healthz" },
}
