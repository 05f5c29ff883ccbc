// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/image"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/progress"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// admin is the user of the kubeconfig that users get.
const admin = "admin"

// pauseImage is the image of the container that holds a pod's namespaces.
const pauseImage = "localhost/pause:local"

// step is one step of starting a cluster.
type step struct {
	name, verb string
	do         func(context.Context) error
}

// steps returns the steps in the order in which they need each other.
func (c *Cluster) steps() []step {
	var steps []step
	start := func(parts ...component) {
		for _, p := range parts {
			steps = append(steps, step{p.name, "starting", func(ctx context.Context) error { return c.start(ctx, p) }})
		}
	}
	steps = append(steps, step{"etcd, kube-apiserver", "starting", c.startControlPlane})
	start(c.controllerManager())
	if c.config.inNode() {
		steps = append(steps, step{"node's configuration", "writing", c.configureNode})
		start(c.containerd())
		steps = append(steps, step{"pause image", "loading", c.loadPauseImage})
		start(c.scheduler(), c.kubelet(), c.kubeProxy())
		steps = append(steps, step{"node", "waiting for", c.waitForNode})
	}
	if c.config.Kind.CSI {
		steps = append(steps, step{"snapshot CRDs", "installing", c.installCRDs})
		start(c.mockCSI(), c.sidecar(recipe.SnapshotController), c.sidecar(recipe.CSISnapshotter), c.sidecar(recipe.CSIProvisioner))
		steps = append(steps, step{"default classes", "applying", c.applyClasses})
	}
	return steps
}

// startAll starts all processes.
func (c *Cluster) startAll(ctx context.Context) error {
	steps := c.steps()
	report := progress.New(c.progress, len(steps))
	for _, s := range steps {
		if err := report.Do(s.name, s.verb, func() error { return errors.Join(s.do(ctx), ctx.Err()) }); err != nil {
			return err
		}
	}
	if !c.config.inNode() {
		return nil
	}
	l, err := net.FileListener(c.listener)
	if err != nil {
		return err
	}
	go forward(l, c.plane.APIServer.HostPort())
	return nil
}

func (c *Cluster) pki(name string) string             { return filepath.Join(c.config.Dir.data("pki"), name) }
func (c *Cluster) kubeconfig(component string) string { return c.pki(component + ".kubeconfig") }
func (c *Cluster) csiSocket() string                  { return filepath.Join(c.State.Sockets, "csi.sock") }
func (c *Cluster) containerdSocket() string           { return filepath.Join(c.State.Sockets, "containerd.sock") }

// secure returns a component of Kubernetes itself, which serves its health with TLS.
func (c *Cluster) secure(name string, args ...string) component {
	return component{name, append(args, "--kubeconfig="+c.kubeconfig(name), "--bind-address=127.0.0.1", "--secure-port={port}",
		"--tls-cert-file="+c.pki("apiserver.crt"), "--tls-private-key-file="+c.pki("apiserver.key"), "--leader-elect=false",
	), "https://127.0.0.1:{port}/healthz"}
}

func (c *Cluster) controllerManager() component {
	controllers := "*"
	if !c.config.inNode() {
		controllers = "*,-ttl,-nodelifecycle"
	}
	if !c.config.Kind.CSI {
		controllers += ",-persistentvolume-binder-controller" // it would report stored PVCs as lost
	}
	return c.secure(recipe.KubeControllerManager, "--controllers="+controllers, "--root-ca-file="+c.pki("apiserver.crt"),
		"--service-account-private-key-file="+c.pki("sa.key"), "--use-service-account-credentials=false",
		"--kube-api-qps=500", "--kube-api-burst=1000")
}

func (c *Cluster) mockCSI() component {
	return component{recipe.MockCSI, []string{c.csiSocket()}, "unix://" + c.csiSocket()}
}

// sidecar is a CSI controller. It serves metrics once it has reached the API server and, if it uses one, the driver.
func (c *Cluster) sidecar(name string) component {
	args := []string{
		"--kubeconfig=" + c.kubeconfig(name), "--http-endpoint=127.0.0.1:{port}", "--leader-election=false", "--v=2",
		// The default is five minutes, a long wait after the driver was stopped.
		"--retry-interval-max=5s",
	}
	if name == recipe.CSIProvisioner || c.config.inNode() || !c.config.Kind.DefaultRates {
		// The default is 5 requests per second, too slow for many snapshots.
		args = append(args, "--kube-api-qps=500", "--kube-api-burst=1000")
	}
	if name != recipe.SnapshotController {
		args = append(args, "--csi-address="+c.csiSocket())
	}
	return component{name, args, "http://127.0.0.1:{port}/metrics"}
}

func (c *Cluster) scheduler() component { return c.secure(recipe.KubeScheduler) }

func (c *Cluster) containerd() component {
	return component{recipe.Containerd, []string{"--config=" + c.config.Dir.data("containerd.toml")}, "unix://" + c.containerdSocket()}
}

// The ports of kubelet and kube-proxy are free because the node has its own network.

func (c *Cluster) kubelet() component {
	return component{recipe.Kubelet, []string{
		"--config=" + c.config.Dir.data("kubelet.yaml"), "--kubeconfig=" + c.kubeconfig(recipe.Kubelet),
		"--hostname-override=" + node.Name, "--node-ip=" + node.IP, "--root-dir=" + c.config.Dir.data("kubelet"), "--v=2",
	}, "http://127.0.0.1:10248/healthz"}
}

func (c *Cluster) kubeProxy() component {
	return component{recipe.KubeProxy, []string{"--config=" + c.config.Dir.data("kube-proxy.yaml")}, "http://127.0.0.1:10256/healthz"}
}

//go:embed files
var files embed.FS

// write fills in a configuration file and writes it among the data.
func (c *Cluster) write(name string) error {
	t, err := template.ParseFS(files, "files/"+name)
	if err != nil {
		return err
	}
	runc, _ := exec.LookPath("runc") // node.Check has found it
	dir := c.config.Dir
	var text bytes.Buffer
	err = t.Execute(&text, map[string]string{
		"Data": dir.at("data"), "PKI": dir.data("pki"), "Logs": dir.Logs(), "Bin": c.config.Kind.Bin, "Runc": runc,
		"Containerd": c.containerdSocket(), "Cgroup": c.State.Cgroup, "Pause": pauseImage,
		"Node": node.Name, "PodCIDR": node.PodCIDR, "DNSIP": node.DNSIP,
	})
	return errors.Join(err, os.WriteFile(dir.data(name), text.Bytes(), 0o600))
}

// configureNode writes the configuration files of the node. Its pods have routes instead of a bridge: kube-proxy then sees
// traffic between pods without the kernel module br_netfilter.
func (c *Cluster) configureNode(context.Context) error {
	cni := c.config.Dir.data("cni")
	return errors.Join(c.write("containerd.toml"), c.write("kubelet.yaml"), c.write("kube-proxy.yaml"), c.write("pods.conflist"),
		os.Mkdir(cni, 0o700), os.Rename(c.config.Dir.data("pods.conflist"), filepath.Join(cni, "10-pods.conflist")))
}

func (c *Cluster) loadPauseImage(ctx context.Context) error {
	archive := c.config.Dir.data("pause.tar")
	i := image.Image{Name: pauseImage, Program: filepath.Join(c.config.Kind.Bin, recipe.Pause), User: "65532:65532"}
	if err := i.WriteFile(archive); err != nil {
		return err
	}
	return poll(ctx, readyTimeout, func(ctx context.Context) error {
		return LoadImage(ctx, c.config.Kind.Bin, c.containerdSocket(), archive)
	})
}

// LoadImage loads the images of an archive into a node.
func LoadImage(ctx context.Context, bin, socket, archive string) error {
	program := filepath.Join(bin, recipe.Ctr)
	return run(exec.CommandContext(ctx, program, "--address", socket, "--namespace", "k8s.io", "images", "import", archive))
}

func (c *Cluster) waitForNode(ctx context.Context) error {
	return poll(ctx, 2*readyTimeout, func(ctx context.Context) error {
		return c.kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=30s", "node/"+node.Name)
	})
}

// installCRDs installs the snapshot CRDs and waits until they are served.
func (c *Cluster) installCRDs(context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig(admin))
	if err != nil {
		return err
	}
	_, err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		Paths: []string{filepath.Join(c.config.Kind.Bin, recipe.CRDs)}, ErrorIfPathMissing: true, MaxTime: readyTimeout,
	})
	return err
}

// applyClasses creates the default StorageClass and VolumeSnapshotClass.
func (c *Cluster) applyClasses(ctx context.Context) error {
	if err := c.write("classes.yaml"); err != nil {
		return err
	}
	return c.kubectl(ctx, "apply", "--server-side", "--filename="+c.config.Dir.data("classes.yaml"))
}

// kubectl runs kubectl as the admin.
func (c *Cluster) kubectl(ctx context.Context, args ...string) error {
	program := filepath.Join(c.config.Kind.Bin, recipe.Kubectl)
	args = append(args, "--kubeconfig="+c.kubeconfig(admin), "--cache-dir="+c.config.Dir.data("kubectl"))
	return run(exec.CommandContext(ctx, program, args...))
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %w\n%s", cmd.Args, err, out)
	}
	return nil
}

// forward connects clients outside the node to an address inside.
func forward(l net.Listener, address string) {
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		server, err := net.Dial("tcp", address)
		if err != nil {
			_ = client.Close()
			continue
		}
		go copyOneWay(client.(*net.TCPConn), server.(*net.TCPConn))
		go copyOneWay(server.(*net.TCPConn), client.(*net.TCPConn))
	}
}

// copyOneWay copies one direction of a connection, including its end.
func copyOneWay(from, to *net.TCPConn) {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.CloseWrite()
	}
	if err != nil {
		_, _ = from.Close(), to.Close()
	}
}
