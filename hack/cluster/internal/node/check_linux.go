// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// packages are the programs that a node needs and that no Go module holds, and
// the Debian package of each.
var packages = map[string]string{"runc": "runc", "nft": "nftables"}

// AddSbinToPath adds the folders of administrators' programs to PATH.
func AddSbinToPath() error {
	path := os.Getenv("PATH")
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if !strings.Contains(":"+path+":", ":"+dir+":") {
			path += ":" + dir
		}
	}
	return os.Setenv("PATH", path)
}

func missing() []string {
	var names []string
	for program, debian := range packages {
		if !installed(program) {
			names = append(names, debian)
		}
	}
	slices.Sort(names)
	return names
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// Install gets what is missing of the programs by apt-get, and says so.
func Install(ctx context.Context, out io.Writer) error {
	names := missing()
	// Where nothing can be installed, Check says what is missing.
	if len(names) == 0 || os.Geteuid() != 0 || !installed("apt-get") {
		return nil
	}
	_, _ = fmt.Fprintf(out, "installing %s by apt-get\n", strings.Join(names, " and "))
	install := append([]string{"install", "-y", "--no-install-recommends"}, names...)
	if aptGet(ctx, install) == nil {
		return nil
	}
	// The usual reason is that its lists are missing or old.
	if err := aptGet(ctx, []string{"update"}); err != nil {
		return err
	}
	return aptGet(ctx, install)
}

func aptGet(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, lines[len(lines)-1])
	}
	return nil
}

// Check says why no node can run here, if it can't. trial is this program with
// the arguments that make it call TrySetup.
func Check(dir string, trial *exec.Cmd) error {
	if os.Geteuid() != 0 {
		return errors.New("a node needs root, for namespaces, mounts and cgroups")
	}
	if names := missing(); len(names) > 0 {
		return fmt.Errorf("a node needs %s, and it is not installed: apt-get install %s",
			strings.Join(names, " and "), strings.Join(names, " "))
	}
	for _, h := range masked {
		if rel, err := filepath.Rel(h, dir); err == nil && !strings.HasPrefix(rel, "..") {
			return fmt.Errorf("the folder of a cluster with a node can't be in %s (%s): choose another with --dir or $TMPDIR", h, dir)
		}
	}
	if trial == nil {
		return nil
	}
	trial.SysProcAttr = &syscall.SysProcAttr{Cloneflags: Namespaces}
	out, err := trial.CombinedOutput()
	if err != nil {
		return fmt.Errorf("this machine allows no node: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Namespaces are those that a node has for itself.
const Namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID

// TrySetup makes a node that runs nothing: whatever the machine forbids shows here.
func TrySetup(cgroup string) error {
	if err := Setup(cgroup); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"nft", "add", "table", "ip", "trial"},
		// What kube-proxy's rules consist of: maps, and address translation.
		{"nft", "add", "chain", "ip", "trial", "nat", "{ type nat hook output priority 0; }"},
		{"nft", "add", "map", "ip", "trial", "services", "{ type ipv4_addr : verdict; }"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
