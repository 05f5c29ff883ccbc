// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/progress"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// startAll starts all processes, in the order in which they need each other.
func (c *Cluster) startAll(ctx context.Context) error {
	var steps []progress.Step
	step := func(name string, do func(context.Context) error) {
		steps = append(steps, progress.Step{Name: name, Do: func(func(string)) error { return errors.Join(do(ctx), ctx.Err()) }})
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
		"Name": path.Base(name), "WithNode": s.Node, "WithCSI": s.CSI, "WithGroups": c.hasGroups(),
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

// hasGroups returns whether the CRDs have version v1 of group snapshots, as those of 8.6 and later do.
func (c *Cluster) hasGroups() bool {
	text, err := os.ReadFile(filepath.Join(c.State.Bin, recipe.CRDs, "groupsnapshot.storage.k8s.io_volumegroupsnapshotclasses.yaml"))
	return err == nil && strings.Contains(string(text), "\n    name: v1\n")
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
