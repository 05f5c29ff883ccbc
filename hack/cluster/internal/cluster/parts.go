// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/progress"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// startAll starts all processes, in the order in which they need each other.
func (c *Cluster) startAll(ctx context.Context) error {
	var steps []progress.Step
	step := func(name string, do func(context.Context) error) {
		steps = append(steps, progress.Step{Name: name, Do: func() error { return errors.Join(do(ctx), ctx.Err()) }})
	}
	start := func(parts ...component) {
		for _, p := range parts {
			step(p.name, func(ctx context.Context) error { return c.start(ctx, p) })
		}
	}
	start(c.etcd())
	step(recipe.KubeAPIServer, c.startAPIServer)
	start(c.controllerManager())
	if c.State.Node {
		step("node's configuration", c.configureNode)
		start(c.containerd())
		step("pause image", c.loadPauseImage)
		start(c.scheduler(), c.kubelet(), c.kubeProxy())
		step("node is ready", c.waitForNode)
	}
	if c.State.CSI {
		step("snapshot CRDs", c.installCRDs)
		start(c.mockCSI(), c.sidecar(recipe.SnapshotController), c.sidecar(recipe.CSISnapshotter), c.sidecar(recipe.CSIProvisioner))
		step("default classes", c.applyClasses)
	}
	return progress.Run(c.progress, steps)
}

func (c *Cluster) pki(name string) string             { return filepath.Join(c.State.Dir.data("pki"), name) }
func (c *Cluster) kubeconfig(component string) string { return c.pki(component + ".kubeconfig") }
func (c *Cluster) csiSocket() string                  { return filepath.Join(c.State.Sockets, "csi.sock") }

// secure returns a component of Kubernetes itself, which serves its health with TLS.
func (c *Cluster) secure(name string, args ...string) component {
	return component{name, append(args, "--kubeconfig="+c.kubeconfig(name), "--bind-address=127.0.0.1", "--secure-port={port}",
		"--tls-cert-file="+c.pki("apiserver.crt"), "--tls-private-key-file="+c.pki("apiserver.key"), "--leader-elect=false",
	), "https://127.0.0.1:{port}/healthz"}
}

func (c *Cluster) controllerManager() component {
	controllers := "*"
	if !c.State.Node {
		controllers = "*,-ttl,-nodelifecycle"
	}
	if !c.State.CSI {
		controllers += ",-persistentvolume-binder-controller" // it would report stored PVCs as lost
	}
	return c.secure(recipe.KubeControllerManager, "--controllers="+controllers, "--root-ca-file="+c.pki("apiserver.crt"),
		"--service-account-private-key-file="+c.pki("sa.key"), "--use-service-account-credentials=false",
		"--kube-api-qps=500", "--kube-api-burst=1000")
}

func (c *Cluster) scheduler() component { return c.secure(recipe.KubeScheduler) }

func (c *Cluster) mockCSI() component {
	args := []string{c.csiSocket(), c.State.Dir.data("storage.json"), c.State.Dir.data("storage-state.json")}
	return component{recipe.MockCSI, args, "unix://" + c.csiSocket()}
}

// sidecar is a CSI controller. It serves metrics once it has reached the API server and, if it uses one, the driver.
func (c *Cluster) sidecar(name string) component {
	args := []string{
		"--kubeconfig=" + c.kubeconfig(name), "--http-endpoint=127.0.0.1:{port}", "--leader-election=false", "--v=2",
		// The default is five minutes, a long wait after the driver was stopped.
		"--retry-interval-max=5s",
		// The default is 5 requests per second, too slow for many snapshots.
		"--kube-api-qps=500", "--kube-api-burst=1000",
	}
	if name != recipe.SnapshotController {
		args = append(args, "--csi-address="+c.csiSocket())
	}
	if name == recipe.CSIProvisioner {
		args = append(args, "--extra-create-metadata") // the driver must know the namespaces
	}
	return component{name, args, "http://127.0.0.1:{port}/metrics"}
}

//go:embed files
var files embed.FS

// write fills in a configuration file and writes it among the data.
func (c *Cluster) write(name string) error {
	t, err := template.New(name).Option("missingkey=error").ParseFS(files, "files/"+name)
	if err != nil {
		return err
	}
	runc, _ := exec.LookPath("runc") // node.Check has found it
	dir := c.State.Dir
	var text bytes.Buffer
	err = t.Execute(&text, map[string]string{
		"Data": dir.at("data"), "PKI": dir.data("pki"), "Logs": dir.Logs(), "Bin": c.State.Bin, "Runc": runc,
		"Containerd": c.State.Containerd, "Cgroup": c.State.Cgroup, "Pause": pauseImage,
		"Node": node.Name, "PodCIDR": node.PodCIDR, "DNSIP": node.DNSIP,
	})
	return errors.Join(err, os.WriteFile(dir.data(name), text.Bytes(), 0o600))
}

// installCRDs installs the snapshot CRDs and waits until they are served.
func (c *Cluster) installCRDs(ctx context.Context) error {
	crds := "--filename=" + filepath.Join(c.State.Bin, recipe.CRDs)
	if err := c.kubectl(ctx, "apply", "--server-side", crds); err != nil {
		return err
	}
	return c.kubectl(ctx, "wait", "--for=condition=Established", "--timeout="+readyTimeout.String(), crds)
}

// applyClasses creates the default StorageClass and VolumeSnapshotClass.
func (c *Cluster) applyClasses(ctx context.Context) error {
	if err := c.write("classes.yaml"); err != nil {
		return err
	}
	return poll(ctx, readyTimeout, func(ctx context.Context) error { // a CRD that is established may not be discovered yet
		return c.kubectl(ctx, "apply", "--server-side", "--filename="+c.State.Dir.data("classes.yaml"))
	})
}

// kubectl runs kubectl as the admin.
func (c *Cluster) kubectl(ctx context.Context, args ...string) error {
	program := filepath.Join(c.State.Bin, recipe.Kubectl)
	args = append(args, "--kubeconfig="+c.kubeconfig(admin), "--cache-dir="+c.State.Dir.data("kubectl"))
	return run(exec.CommandContext(ctx, program, args...))
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %w\n%s", cmd.Args, err, out)
	}
	return nil
}
