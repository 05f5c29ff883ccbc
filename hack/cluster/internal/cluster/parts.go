// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
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
	// The probe of a component answers when it is ready.
	start := func(name, probe string) {
		step(name, func(ctx context.Context) error { return c.start(ctx, name, probe) })
	}
	start(recipe.Etcd, "http://127.0.0.1:{port}/readyz")
	step(recipe.KubeAPIServer, c.startAPIServer)
	start(recipe.KubeControllerManager, "https://127.0.0.1:{port}/healthz")
	if c.State.Node {
		step("node's configuration", c.configureNode)
		start(recipe.Containerd, "unix://"+c.State.Containerd)
		step("pause image", c.loadPauseImage)
		start(recipe.KubeScheduler, "https://127.0.0.1:{port}/healthz")
		// These ports are free because the node has its own network.
		start(recipe.Kubelet, "http://127.0.0.1:10248/healthz")
		start(recipe.KubeProxy, "http://127.0.0.1:10256/healthz")
		step("node is ready", c.waitForNode)
	}
	if c.State.CSI {
		step("snapshot CRDs", c.installCRDs)
		start(recipe.MockCSI, "unix://"+filepath.Join(c.State.Sockets, "csi.sock"))
		// They serve metrics once they have reached the API server and, if they use one, the driver.
		for _, name := range []string{recipe.SnapshotController, recipe.CSISnapshotter, recipe.CSIProvisioner} {
			start(name, "http://127.0.0.1:{port}/metrics")
		}
		step("default classes", c.applyClasses)
	}
	return progress.Run(c.progress, steps)
}

func (c *Cluster) pki(name string) string             { return filepath.Join(c.State.Dir.data("pki"), name) }
func (c *Cluster) kubeconfig(component string) string { return c.pki(component + ".kubeconfig") }

//go:embed files
var files embed.FS

// fill fills in a file of files, for a component if it has its arguments.
func (c *Cluster) fill(name string) (string, error) {
	t, err := template.New(path.Base(name)).Option("missingkey=error").Funcs(template.FuncMap{"address": c.address}).
		ParseFS(files, "files/args/*", "files/"+name)
	if err != nil {
		return "", err
	}
	runc, _ := exec.LookPath("runc") // node.Check has found it
	s := c.State
	var text strings.Builder
	err = t.Execute(&text, map[string]any{
		"Name": path.Base(name), "WithNode": s.Node, "WithCSI": s.CSI,
		"Dir": s.Dir, "Data": s.Dir.at("data"), "PKI": s.Dir.data("pki"), "Logs": s.Dir.Logs(), "Bin": s.Bin, "Runc": runc,
		"Sockets": s.Sockets, "Containerd": s.Containerd, "Cgroup": s.Cgroup, "Pause": pauseImage,
		"Node": node.Name, "NodeIP": node.IP, "PodCIDR": node.PodCIDR, "ServiceCIDR": node.ServiceCIDR, "DNSIP": node.DNSIP,
	})
	return text.String(), err
}

// write fills in a configuration file and writes it among the data.
func (c *Cluster) write(name string) error {
	text, err := c.fill(name)
	return errors.Join(err, os.WriteFile(c.State.Dir.data(name), []byte(text), 0o600))
}

// arguments returns the arguments of a component: the lines of its file. In them, {port} stands for a free port on loopback.
func (c *Cluster) arguments(component string) (args []string, err error) {
	text, err := c.fill("args/" + component)
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			args = append(args, line)
		}
	}
	return args, err
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
