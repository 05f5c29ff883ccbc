// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// databaseImage has the servers and clients of PostgreSQL and MariaDB, and the plugin.
const databaseImage = "localhost/databases:test"

// packages are Debian's, with all that they depend on: the image has nothing of this machine.
var packages = []string{"postgresql", "mariadb-server", "mariadb-client", "bash", "coreutils", "sed", "grep", "dash", "hostname"}

// unpack makes a root file system of packages, and leaves out what is large and not needed.
const unpack = `set -e
mkdir -p usr/bin usr/sbin usr/lib usr/lib64 tmp
ln -s usr/bin bin; ln -s usr/sbin sbin; ln -s usr/lib lib; ln -s usr/lib64 lib64
for package in "$1"/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -f -
done
rm -rf usr/share/doc usr/share/man usr/share/locale usr/share/info usr/lib/*/libLLVM* usr/lib/llvm* usr/lib/systemd boot dev proc sys run
printf '%s\n' root:x:0:0::/root:/bin/bash database:x:1000:1000::/tmp:/bin/bash > etc/passwd
ln -sf /usr/share/zoneinfo/UTC etc/localtime
mkdir -p usr/local/bin
cp "$2" usr/local/bin/kubectl-snapsched
`

// loadDatabaseImage builds the image and loads it into the node. It skips the spec where Debian's packages cannot be had.
func loadDatabaseImage(ctx context.Context, plugin string) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	debs, files, archive := filepath.Join(dir, "debs"), filepath.Join(dir, "root"), filepath.Join(dir, "image.tar")
	Expect(os.MkdirAll(filepath.Join(debs, "partial"), 0o700)).To(Succeed())
	Expect(os.MkdirAll(files, 0o700)).To(Succeed())
	download := exec.CommandContext(ctx, "apt-get", append([]string{
		"--yes", "--quiet", "-o", "Dir::State::status=/dev/null", "-o", "Dir::Cache::archives=" + debs, "-o", "Debug::NoLocking=1",
		"-o", "APT::Sandbox::User=root", "install", "--download-only", "--no-install-recommends",
	}, packages...)...)
	if output, err := download.CombinedOutput(); err != nil {
		Skip("nothing was tested: Debian's packages of PostgreSQL and MariaDB cannot be had (apt-get update may help): " +
			errors.Join(err, errors.New(string(output))).Error())
	}
	untar := exec.CommandContext(ctx, "bash", "-c", unpack, "unpack", debs, plugin)
	untar.Dir = files
	output, err := untar.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	servers := suite.Must(filepath.Glob(filepath.Join(files, "usr/lib/postgresql/*/bin")))
	Expect(servers).To(HaveLen(1))
	writeImage(archive, files, "/usr/local/bin:/"+suite.Must(filepath.Rel(files, servers[0]))+":/usr/sbin:/usr/bin")
	load(ctx, archive)
}

// writeImage writes an archive of an image with a root file system and a PATH.
func writeImage(archive, files, path string) {
	GinkgoHelper()
	layer := archive + ".layer"
	sum := sha256.New()
	to := suite.Must(os.Create(layer))
	t := tar.NewWriter(io.MultiWriter(to, sum))
	Expect(errors.Join(t.AddFS(os.DirFS(files)), t.Close(), to.Close())).To(Succeed())
	config := suite.Must(json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{"Env": []string{"PATH=" + path}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum.Sum(nil))}},
	}))
	manifest := suite.Must(json.Marshal([]map[string]any{{
		"Config": "config.json", "RepoTags": []string{databaseImage}, "Layers": []string{"layer.tar"},
	}}))
	out := suite.Must(os.Create(archive))
	t = tar.NewWriter(out)
	Expect(t.AddFS(fstest.MapFS{"config.json": {Mode: 0o644, Data: config}, "manifest.json": {Mode: 0o644, Data: manifest}})).To(Succeed())
	from := suite.Must(os.Open(layer))
	size := suite.Must(from.Stat()).Size()
	Expect(t.WriteHeader(&tar.Header{Name: "layer.tar", Mode: 0o644, Size: size})).To(Succeed())
	Expect(io.Copy(t, from)).To(Equal(size))
	Expect(errors.Join(t.Close(), out.Close(), from.Close())).To(Succeed())
}

// tryExec runs a script in a pod, and returns why it failed.
func tryExec(ctx context.Context, namespace, pod, script string) string {
	cmd := exec.CommandContext(ctx, "kubectl", "-n", namespace, "exec", pod, "--", "bash", "-c", script)
	if output, err := cmd.CombinedOutput(); err != nil {
		return err.Error() + ": " + string(output)
	}
	return ""
}
