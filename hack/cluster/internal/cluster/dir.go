// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package local runs one cluster of plain processes in one folder.
package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Dir is the folder of one cluster.
type Dir string

// Kubeconfig is the file for people: user admin, all rights.
func (d Dir) Kubeconfig() string { return d.at("kubeconfig") }

// Audit is the log of every request to the API.
func (d Dir) Audit() string { return d.at("audit.log") }

// Logs is the folder of the parts' logs.
func (d Dir) Logs() string { return d.at("logs") }

// Log is the log of one part.
func (d Dir) Log(part string) string { return d.at("logs", part+".log") }

func (d Dir) state() string           { return d.at("cluster.json") }
func (d Dir) lock() string            { return d.at("cluster.lock") }
func (d Dir) pki(name string) string  { return d.at("pki", name) }
func (d Dir) data(part string) string { return d.at("data", part) }
func (d Dir) at(names ...string) string {
	return filepath.Join(append([]string{string(d)}, names...)...)
}

// prepare makes the folder, or refuses one that holds something else: what is
// in it gets removed when the cluster goes down.
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
		return fmt.Errorf("%s is neither empty nor the folder of a cluster; give another one with --dir", d)
	}
	return nil
}

// clear removes the data and keeps the logs.
func (d Dir) clear() error {
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

// freshLogs drops the logs of the cluster that ran here before.
func (d Dir) freshLogs() error {
	if err := os.RemoveAll(d.Logs()); err != nil {
		return err
	}
	if err := os.RemoveAll(d.Audit()); err != nil {
		return err
	}
	return os.MkdirAll(d.Logs(), 0o700)
}

// maxSocketPath stays below what the kernels allow for a unix socket's path:
// 108 bytes on Linux and 104 on macOS, of which programs add some.
const maxSocketPath = 100

// socket gives the CSI socket's path and, if the cluster's folder is too deep
// for it, the temporary folder made for it.
func (d Dir) socket() (path, tempDir string, err error) {
	if path = d.at("csi.sock"); len(path) < maxSocketPath {
		return path, "", nil
	}
	// Not os.TempDir: that may be long as well.
	tempDir, err = os.MkdirTemp("/tmp", "snapsched-")
	return filepath.Join(tempDir, "csi.sock"), tempDir, err
}
