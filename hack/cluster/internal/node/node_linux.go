// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fs"
	"github.com/opencontainers/cgroups/fs2"
	"golang.org/x/sys/unix"
)

// debianPackages maps each program that a node needs and that is not built from Go modules to its Debian package.
var debianPackages = map[string]string{"runc": "runc", "nft": "nftables"}

// Check returns why no node can run here, with its cluster in a folder, or nil. It adds the folders to PATH in which the
// programs of a node may be.
func Check(dir string) error {
	if os.Geteuid() != 0 {
		return errors.New("a node needs root, for namespaces, mounts and cgroups")
	}
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin"); err != nil {
		return err
	}
	var missing []string
	for program, debian := range debianPackages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, debian)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		return fmt.Errorf("a node needs programs that are not installed: apt-get install %s", strings.Join(missing, " "))
	}
	for _, h := range masked {
		if rel, err := filepath.Rel(h, dir); err == nil && !strings.HasPrefix(rel, "..") {
			return fmt.Errorf("the folder of a cluster with a node cannot be in %s (%s); set another one with --dir or $TMPDIR", h, dir)
		}
	}
	return nil
}

// Setup turns the caller's new namespaces into a node. RemoveCgroup, called from
// outside the node, removes its cgroup.
func Setup(cgroup string) error {
	if err := errors.Join(setUpMounts(), setUpNetwork(), tryNftables()); err != nil {
		return err
	}
	c, err := newCgroup(cgroup)
	if err != nil {
		return err
	}
	return c.Apply(-1) // no process
}

// setUpMounts mounts the node's own /proc, and empty folders over the masked ones.
func setUpMounts() error {
	// Private first: no mount of the node may propagate to the machine. Then shared:
	// kubelet needs its mounts to propagate to containers.
	for _, propagation := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|propagation, ""); err != nil {
			return fmt.Errorf("isolate mounts: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, dir := range masked {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mount tmpfs on %s: %w", dir, err)
		}
	}
	return errors.Join(os.Mkdir("/run/netns", 0o755), os.Mkdir("/run/lock", 0o755), maskSysctls())
}

// maskSysctls mounts files with the values that kubelet wants over the sysctls that
// have no namespace. Otherwise kubelet would change them for the whole machine.
func maskSysctls() error {
	for name, value := range map[string]string{"vm/overcommit_memory": "1", "kernel/panic": "10", "kernel/panic_on_oops": "1"} {
		file := filepath.Join("/run", strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			return err
		}
		if err := unix.Mount(file, filepath.Join("/proc/sys", name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mask sysctl %s: %w", name, err)
		}
	}
	return nil
}

// setUpNetwork brings up loopback, adds the node's address to it, and enables
// forwarding between pods.
func setUpNetwork() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, step := range []struct {
		name    string
		request uint
		set     func(*unix.Ifreq) error
	}{
		{"lo", unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }},
		{"lo:1", unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(net.ParseIP(IP).To4()) }},
		{"lo:1", unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(net.IPv4bcast.To4()) }},
	} {
		r, err := unix.NewIfreq(step.name)
		if err != nil {
			return err
		}
		if err := step.set(r); err != nil {
			return err
		}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(step.request), uintptr(unsafe.Pointer(r))); errno != 0 {
			return fmt.Errorf("set up %s: %w", step.name, errno)
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0o644)
}

// tryNftables checks that the kernel has what kube-proxy needs: address translation and maps.
func tryNftables() error {
	const commands = "add table ip trial; add chain ip trial nat { type nat hook output priority 0; }; " +
		"add map ip trial services { type ipv4_addr : verdict; }; delete table ip trial"
	if out, err := exec.Command("nft", commands).CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// newCgroup returns a cgroup below the root, in all hierarchies if this machine has more than one.
func newCgroup(name string) (cgroups.Manager, error) {
	config := &cgroups.Cgroup{Path: "/" + name, Resources: &cgroups.Resources{}}
	if cgroups.IsCgroup2UnifiedMode() {
		return fs2.NewManager(config, "")
	}
	return fs.NewManager(config, nil)
}

// RemoveCgroup removes the cgroup of a stopped node, and those in it.
func RemoveCgroup(name string) error {
	if name == "" {
		return nil
	}
	c, err := newCgroup(name)
	if err != nil {
		return err
	}
	return c.Destroy()
}

// RunInit is the init process of the node. It starts the main process, reaps orphans, and returns when the main process
// ends. The kernel then kills all other processes of the node.
func RunInit(main *exec.Cmd) error {
	if err := main.Start(); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case pid == main.Process.Pid && status.ExitStatus() == 0:
			return nil
		case pid == main.Process.Pid:
			return errors.New("the main process of the node failed")
		}
	}
}
