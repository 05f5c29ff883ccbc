// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Operator is one process of the operator's program.
type Operator struct {
	log   string
	cmd   *exec.Cmd
	ended chan struct{}
	once  sync.Once
}

// StartOperator starts a program as the operator, which finds its API server at a
// URL. dir is a folder for its kubeconfig and log, name tells its files from
// others'.
func (c *Cluster) StartOperator(program, url, dir, name string, flags ...string) (*Operator, error) {
	kubeconfig := filepath.Join(dir, name+".kubeconfig")
	if err := writeKubeconfig(kubeconfig, url); err != nil {
		return nil, err
	}
	o := &Operator{log: filepath.Join(dir, name+".log"), ended: make(chan struct{})}
	log, err := os.Create(o.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := append([]string{"--health-probe-bind-address=127.0.0.1:0", "--status-interval=200ms"}, flags...)
	o.cmd = exec.Command(program, args...)
	o.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	o.cmd.SysProcAttr = dieWithParent()
	if err := o.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	go func() {
		_ = o.cmd.Wait()
		close(o.ended)
	}()
	return o, nil
}

func writeKubeconfig(path, url string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["faults"] = &clientcmdapi.Cluster{Server: url}
	config.Contexts["faults"] = &clientcmdapi.Context{Cluster: "faults"}
	config.CurrentContext = "faults"
	return clientcmd.WriteToFile(*config, path)
}

// Ended is closed when the process has ended.
func (o *Operator) Ended() <-chan struct{} { return o.ended }

// Kill ends the process as a crash would, and waits until it is gone.
func (o *Operator) Kill() {
	o.once.Do(func() { _ = o.cmd.Process.Kill() })
	<-o.ended
}

// Stop ends the process as a kubelet would.
func (o *Operator) Stop() error {
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-o.ended:
		return nil
	case <-time.After(15 * time.Second):
		o.Kill()
		return errors.New("the operator did not end within 15 s of SIGTERM")
	}
}

// stack is what every error of a log has at its end.
var stack = regexp.MustCompile(`,"stacktrace":".*"`)

// Tail is the end of its log.
func (o *Operator) Tail(n int) string {
	text, err := os.ReadFile(o.log)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"msg":"Starting `) {
			lines = append(lines, line)
		}
	}
	return stack.ReplaceAllString(strings.Join(lines[max(0, len(lines)-n):], ""), "")
}
