// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

// Operator is one process of the operator's program.
type Operator struct {
	*process.Process
	// Credential identifies its token in the audit log.
	Credential string
}

// Token returns a token for a ServiceAccount.
func (c *Cluster) Token(ctx context.Context, namespace, account string) string {
	GinkgoHelper()
	token, err := local.Token(ctx, c.Kube, namespace, account, time.Hour)
	Expect(err).NotTo(HaveOccurred())
	return token
}

// credentialOf returns the ID of a token.
func credentialOf(token string) string {
	GinkgoHelper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	Expect(err).NotTo(HaveOccurred())
	var claims struct{ JTI string }
	Expect(json.Unmarshal(payload, &claims)).To(Succeed())
	return claims.JTI
}

// Launch starts the operator as the shipped ServiceAccount and does not wait for it. It is killed
// at the end of the node of the suite that started it.
func (c *Cluster) Launch(ctx context.Context, flags ...string) *Operator {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	kubeconfig, config := filepath.Join(dir, "kubeconfig"), rest.AnonymousClientConfig(c.Config)
	config.BearerToken = c.Token(ctx, c.System, local.ServiceAccount)
	Expect(local.WriteKubeconfig(kubeconfig, config)).To(Succeed())
	started, err := process.Start(context.WithoutCancel(ctx), process.Options{
		Name: "operator", Log: filepath.Join(dir, "operator.log"), Env: []string{"KUBECONFIG=" + kubeconfig},
		Command: append([]string{program, "--health-probe-bind-address=127.0.0.1:0"}, flags...),
	})
	Expect(err).NotTo(HaveOccurred())
	o := &Operator{Process: started, Credential: credentialOf(config.BearerToken)}
	DeferCleanup(func() {
		o.Kill()
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Printf("the end of an operator's log (%v):\n%s\n", flags, o.Tail(60))
		}
	})
	return o
}

// Start starts the operator and waits until it is ready.
func (c *Cluster) Start(ctx context.Context, flags ...string) *Operator {
	GinkgoHelper()
	o := c.Launch(ctx, flags...)
	o.WaitFor(ctx, "readyz")
	return o
}

// StartElected starts an operator that takes part in leader election.
func (c *Cluster) StartElected(ctx context.Context, flags ...string) *Operator {
	GinkgoHelper()
	return c.Start(ctx, append(flags, "--leader-elect", "--leader-election-namespace="+c.System)...)
}

// WaitFor waits until a probe succeeds.
func (o *Operator) WaitFor(ctx context.Context, probe string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		if !o.Alive() {
			StopTrying("the operator ended: " + o.Tail(20)).Now()
		}
		g.Expect(o.Probe(probe)).To(Equal(http.StatusOK))
	}).WithContext(ctx).WithPolling(20*time.Millisecond).Should(Succeed(), "%s should succeed", probe)
}

var probeAddress = regexp.MustCompile(`"msg":"starting server".*"name":"health probe".*"addr":"([^"]*)"`)

// Probe returns the status code of healthz or readyz, at the address that the log names.
func (o *Operator) Probe(path string) (int, error) {
	text, err := o.Log()
	address := probeAddress.FindStringSubmatch(text)
	if address == nil {
		return 0, errors.Join(errors.New("the log names no address of the probes"), err)
	}
	answer, err := http.Get("http://" + address[1] + "/" + path)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// Stop ends the operator as a kubelet does, and expects it to exit 0 soon.
func (o *Operator) Stop() {
	GinkgoHelper()
	Expect(o.Process.Stop(10*time.Second)).To(Succeed(), "the operator should exit 0 soon after SIGTERM")
}
