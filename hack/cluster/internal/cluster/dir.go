// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster starts and stops a cluster of plain processes in one folder.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/filelock"
)

// Dir is the folder of a cluster.
type Dir string

// Kubeconfig returns the path of the admin's kubeconfig.
func (d Dir) Kubeconfig() string { return d.at("kubeconfig") }

// Audit returns the path of the audit log.
func (d Dir) Audit() string { return d.at("audit.log") }

// Logs returns the folder of the components' logs.
func (d Dir) Logs() string { return d.at("logs") }

// Log returns the path of a component's log.
func (d Dir) Log(component string) string { return d.at("logs", component+".log") }

func (d Dir) state() string           { return d.at("cluster.json") }
func (d Dir) lock() string            { return d.at("cluster.lock") }
func (d Dir) pki(name string) string  { return d.at("pki", name) }
func (d Dir) data(name string) string { return d.at("data", name) }
func (d Dir) at(names ...string) string {
	return filepath.Join(append([]string{string(d)}, names...)...)
}

// prepare creates the folder. It rejects a folder with other content, because Down
// removes what is in it.
func (d Dir) prepare() error {
	entries, err := os.ReadDir(string(d))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return os.MkdirAll(string(d), 0o700)
	case err != nil:
		return err
	case len(entries) == 0:
		return os.Chmod(string(d), 0o700)
	}
	if _, err := os.Stat(d.lock()); err != nil {
		return fmt.Errorf("%s is neither empty nor the folder of a cluster; set another one with --dir", d)
	}
	return nil
}

// acquireLock serializes runs that start or stop the cluster.
func (d Dir) acquireLock(ctx context.Context, out io.Writer) (release func(), err error) {
	return filelock.Acquire(ctx, d.lock(), func() {
		_, _ = fmt.Fprintf(out, "waiting for another run that starts or stops the cluster in %s\n", d)
	})
}

// removeData removes everything except the logs.
func (d Dir) removeData() error {
	return errors.Join(
		os.RemoveAll(d.at("data")),
		os.RemoveAll(d.at("pki")),
		os.RemoveAll(d.Kubeconfig()),
		os.RemoveAll(d.at("audit-policy.json")),
		os.RemoveAll(d.at("csi.sock")),
		os.RemoveAll(d.at(containerdSocket)),
		os.RemoveAll(d.state()),
	)
}

// resetLogs removes the logs of an earlier cluster.
func (d Dir) resetLogs() error {
	return errors.Join(os.RemoveAll(d.Logs()), os.RemoveAll(d.Audit()), os.MkdirAll(d.Logs(), 0o700))
}

// maxSocketPath is below the limits for the path of a unix socket, 108 bytes on Linux
// and 104 on macOS, because programs append to it.
const maxSocketPath = 100

// socket returns the path of the CSI socket. If the cluster's folder is too deep, the
// socket is in a new temporary folder.
func (d Dir) socket() (path, tempDir string, err error) {
	if path = d.at("csi.sock"); len(path) < maxSocketPath {
		return path, "", nil
	}
	// Not os.TempDir, which can be long too.
	tempDir, err = os.MkdirTemp("/tmp", "snapsched-")
	return filepath.Join(tempDir, "csi.sock"), tempDir, err
}
