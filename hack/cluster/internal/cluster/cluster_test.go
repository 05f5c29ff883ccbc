// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/child"
)

// The test program also plays the processes of a cluster.
func TestMain(m *testing.M) {
	child.Exec()
	if len(os.Args) < 3 {
		os.Exit(m.Run())
	}
	var config Config
	_ = json.Unmarshal([]byte(os.Args[2]), &config)
	var err error
	switch os.Args[1] {
	case "run": // starts a cluster, and a command on it whose child ignores its end
		var k *Keeper
		if k, err = Start(context.Background(), config, os.Stderr); err == nil {
			cmd := exec.Command("sh", "-c", "sleep 60 & wait")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			err = cmd.Start()
			k.KillWith(cmd.Process.Pid)
			fmt.Println(cmd.Process.Pid)
			if config.Attached {
				select {}
			}
		}
	case KeepCommand:
		err = Keep(config, Inherited(), upTest)
	case "serve": // a component
		if _, busy := os.Stat(filepath.Join(filepath.Dir(os.Args[0]), "busy")); busy == nil {
			_ = os.Remove(filepath.Join(filepath.Dir(os.Args[0]), "busy"))
			err = errors.New("listen: address already in use")
			break
		}
		if _, broken := os.Stat(filepath.Join(filepath.Dir(os.Args[0]), "broken")); broken == nil {
			err = errors.New("no such flag")
			break
		}
		err = http.ListenAndServe("127.0.0.1:"+os.Args[2], http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// upTest starts a component, and a program as envtest starts one.
func upTest(ctx context.Context, c *Cluster) error {
	if err := c.start(ctx, component{"part", []string{"serve", "{port}"}, "http://127.0.0.1:{port}/"}); err != nil {
		return err
	}
	path, err := child.Wrapped(c.config.Dir.data("bin"), filepath.Join(c.config.Kind.Bin, "wrapped"))
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, "serve", port)
	if err := cmd.Start(); err != nil {
		return err
	}
	c.watch("wrapped", cmd)
	c.State.Parts = append(c.State.Parts, Part{Name: "wrapped", Probe: "http://127.0.0.1:" + port})
	return poll(ctx, readyTimeout, func(ctx context.Context) error { return check(ctx, c.State.Parts[1].Probe) })
}

func testConfig(t *testing.T) Config {
	t.Helper()
	config := Config{Dir: Dir(filepath.Join(t.TempDir(), "cluster")), Kind: Kind{Bin: t.TempDir()}, Attached: true, Temporary: true}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"part", "wrapped"} {
		if err := os.Symlink(self, filepath.Join(config.Kind.Bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

// runTest starts a process that runs a cluster, and returns it with the leader of its command's group.
func runTest(t *testing.T, config Config) (program *exec.Cmd, command int, state State) {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	self, _ := os.Executable()
	program = exec.Command(self, "run", string(text))
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &command); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-command, syscall.SIGKILL) })
	if state, err = Load(config.Dir); err != nil || len(state.Parts) != 2 {
		t.Fatalf("got %+v, %v", state, err)
	}
	return program, command, state
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := poll(t.Context(), 20*time.Second, func(context.Context) error {
		if !condition() {
			return errors.New(what)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func allEnded(t *testing.T, s State) {
	t.Helper()
	for _, p := range s.Parts {
		eventually(t, p.Name+" still runs", func() bool { return check(t.Context(), p.Probe) != nil })
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func TestNothingIsLeftOfAKilledRun(t *testing.T) {
	config := testConfig(t)
	program, command, state := runTest(t, config)
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait()
	allEnded(t, state)
	eventually(t, "its command still runs", func() bool { return !groupRuns(command) })
	eventually(t, "folders are left", func() bool { return !exists(string(config.Dir)) && !exists(state.Sockets) })
}

// groupRuns returns whether a process group has a member that is not a zombie.
func groupRuns(group int) bool {
	out, _ := exec.Command("ps", "-A", "-o", "pgid=,stat=").Output()
	for line := range strings.Lines(string(out)) {
		var g int
		var stat string
		if _, err := fmt.Sscan(line, &g, &stat); err == nil && g == group && !strings.HasPrefix(stat, "Z") {
			return true
		}
	}
	return false
}

func TestProcessesDieWithAKilledKeeper(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	config := testConfig(t)
	config.Temporary = false
	_, _, state := runTest(t, config)
	if err := syscall.Kill(state.Keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	allEnded(t, state)
	if was, err := Down(t.Context(), config.Dir); !was || err != nil || exists(state.Sockets) || exists(config.Dir.state()) {
		t.Errorf("after down: %v, %v", was, err)
	}
}

func TestAClusterStaysUpUntilDown(t *testing.T) {
	config := testConfig(t)
	config.Attached, config.Temporary = false, false
	program, _, state := runTest(t, config)
	if err := program.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), config, os.Stderr); err == nil || !strings.Contains(err.Error(), "already up") {
		t.Errorf("a second one: %v", err)
	}
	if err := check(t.Context(), state.Parts[1].Probe); err != nil {
		t.Error(err)
	}
	if was, err := Down(t.Context(), config.Dir); !was || err != nil {
		t.Errorf("down: %v, %v", was, err)
	}
	allEnded(t, state)
	if exists(config.Dir.state()) || exists(config.Dir.at("data")) || !exists(config.Dir.log("part")) {
		t.Error("the data is left, or the logs are not")
	}
	if was, err := Down(t.Context(), config.Dir); was || err != nil {
		t.Errorf("down again: %v, %v", was, err)
	}
}

func TestATakenPortIsReplaced(t *testing.T) {
	config := testConfig(t)
	if err := os.WriteFile(filepath.Join(config.Kind.Bin, "busy"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := Start(t.Context(), config, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Stop(); err != nil || exists(string(config.Dir)) {
		t.Errorf("stopped with %v", err)
	}
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	config := testConfig(t)
	if err := os.WriteFile(filepath.Join(config.Kind.Bin, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), config, os.Stderr)
	if err == nil || !strings.Contains(err.Error(), "no such flag") || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v", err)
	}
	if exists(string(config.Dir)) {
		t.Error("the folder is left")
	}
}

func TestAFolderWithOtherContentIsRejected(t *testing.T) {
	config := testConfig(t)
	config.Dir = Dir(t.TempDir())
	other := config.Dir.at("logs")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), config, os.Stderr); err == nil || !exists(other) {
		t.Errorf("got %v", err)
	}
	if was, err := Down(t.Context(), config.Dir); was || err != nil || !exists(other) {
		t.Errorf("down: %v, %v", was, err)
	}
}

func TestForwardCopiesBothDirectionsAndTheEnd(t *testing.T) {
	outside, inside := listen(t), listen(t)
	go forward(outside, inside.Addr().String())
	for _, open := range []bool{true, false} {
		go func() {
			conn, err := inside.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 5)
			_, _ = conn.Read(request)
			_, _ = conn.Write(request)
			_ = conn.Close()
		}()
		if !open {
			_ = inside.Close()
		}
		conn, err := net.Dial("tcp", outside.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if open {
			_, _ = conn.Write([]byte("hello"))
		}
		if got, _ := bufio.NewReader(conn).ReadString(0); (got == "hello") != open {
			t.Errorf("with a server %v: got %q", open, got)
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestConfigurationFilesAreComplete(t *testing.T) {
	c := &Cluster{config: testConfig(t), State: State{Sockets: "/tmp/s", Cgroup: "g"}}
	if err := c.config.Dir.prepare(); err != nil {
		t.Fatal(err)
	}
	list, err := files.ReadDir("files")
	if err != nil || len(list) < 5 {
		t.Fatal(err)
	}
	for _, f := range list {
		if err := c.write(f.Name()); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(c.config.Dir.data(f.Name()))
		if err != nil || strings.Contains(string(text), "<no value>") {
			t.Errorf("%s: %v\n%s", f.Name(), err, text)
		}
	}
}
