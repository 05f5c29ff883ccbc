// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// The test program also plays this program, and the processes of a cluster without a node and the snapshot stack.
func TestMain(m *testing.M) {
	var err error
	switch name := filepath.Base(os.Args[0]); {
	case slices.Contains(components, name):
		err = serve(name)
	case len(os.Args) == 3 && Commands[os.Args[1]] != nil:
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		err = Run(ctx, os.Args[1], os.Args[2])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var components = []string{recipe.Etcd, recipe.KubeAPIServer, recipe.KubeControllerManager}

// serve answers every request with 200, on the port and with the certificate that the arguments name.
func serve(name string) error {
	if failure, err := os.ReadFile(filepath.Join(filepath.Dir(os.Args[0]), name+".fails")); err == nil {
		return errors.Join(errors.New(string(failure)), os.Remove(filepath.Join(filepath.Dir(os.Args[0]), name+".fails")))
	}
	args := strings.Join(os.Args, " ")
	port := regexp.MustCompile(`(?:--secure-port=|--listen-client-urls=http://127.0.0.1:)(\d+)`).FindStringSubmatch(args)
	server := http.Server{Addr: "127.0.0.1:" + port[1], Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	if files := regexp.MustCompile(`--tls-cert-file=(\S+) --tls-private-key-file=(\S+)`).FindStringSubmatch(args); files != nil {
		return server.ListenAndServeTLS(files[1], files[2])
	}
	return server.ListenAndServe()
}

func testState(t *testing.T) State {
	t.Helper()
	s := State{Dir: Dir(filepath.Join(t.TempDir(), "cluster")), Bin: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range components {
		if err := os.Symlink(self, filepath.Join(s.Bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// fail lets the next start of a component fail.
func fail(t *testing.T, s State, component, message string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Bin, component+".fails"), []byte(message), 0o600); err != nil {
		t.Fatal(err)
	}
}

// up starts a cluster that another process keeps.
func up(t *testing.T) State {
	t.Helper()
	s := testState(t)
	if err := Up(t.Context(), s, t.Output()); err != nil {
		t.Fatal(err)
	}
	s, err := Load(s.Dir)
	if err != nil || len(s.Parts) != len(components) {
		t.Fatalf("got %+v, %v", s, err)
	}
	t.Cleanup(func() { _ = syscall.Kill(s.Keeper, syscall.SIGKILL) })
	return s
}

func allEnded(t *testing.T, s State) {
	t.Helper()
	for _, p := range s.Parts {
		err := poll(t.Context(), 20*time.Second, func(context.Context) error {
			if check(p.Probe) == nil {
				return errors.New("still runs")
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func TestProcessesDieWithAKilledKeeper(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	s := up(t)
	if err := syscall.Kill(s.Keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	allEnded(t, s)
	if was, err := Down(t.Context(), s.Dir); !was || err != nil || exists(s.Sockets) || exists(s.Dir.state()) {
		t.Errorf("after down: %v, %v", was, err)
	}
}

func TestAClusterStaysUpUntilDown(t *testing.T) {
	s := up(t)
	out := &strings.Builder{}
	if err := Up(t.Context(), s, out); err == nil || !strings.Contains(out.String(), "already up") {
		t.Errorf("a second one: %v, %s", err, out)
	}
	for _, p := range s.Parts {
		if err := check(p.Probe); err != nil {
			t.Error(err)
		}
	}
	if was, err := Down(t.Context(), s.Dir); !was || err != nil {
		t.Errorf("down: %v, %v", was, err)
	}
	allEnded(t, s)
	if exists(s.Dir.state()) || exists(s.Dir.at("data")) || exists(s.Sockets) || !exists(s.Dir.log(recipe.Etcd)) {
		t.Error("the data is left, or the logs are not")
	}
	if was, err := Down(t.Context(), s.Dir); was || err != nil {
		t.Errorf("down again: %v, %v", was, err)
	}
}

func TestATakenPortIsReplaced(t *testing.T) {
	s := testState(t)
	fail(t, s, recipe.KubeAPIServer, "listen: address already in use")
	want := errors.New("from the caller")
	err := Keep(t.Context(), s, t.Output(), func(context.Context, State) error { return want })
	if !errors.Is(err, want) || exists(s.Dir.state()) {
		t.Errorf("stopped with %v", err)
	}
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	s := testState(t)
	fail(t, s, recipe.KubeControllerManager, "no such flag")
	out := &strings.Builder{}
	err := Up(t.Context(), s, out)
	if err == nil || !strings.Contains(out.String(), "no such flag") || !strings.Contains(out.String(), "exit status 1") {
		t.Errorf("got %v, %s", err, out)
	}
	if exists(s.Dir.state()) || exists(s.Dir.at("data")) {
		t.Error("the data is left")
	}
}

func TestAFolderWithOtherContentIsRejected(t *testing.T) {
	s := testState(t)
	s.Dir = Dir(t.TempDir())
	other := s.Dir.at("logs")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Keep(t.Context(), s, t.Output(), nil); err == nil || !exists(other) {
		t.Errorf("got %v", err)
	}
	if was, err := Down(t.Context(), s.Dir); was || err != nil || !exists(other) {
		t.Errorf("down: %v, %v", was, err)
	}
}

func TestForwardCopiesBothDirectionsAndTheEnd(t *testing.T) {
	outside, inside := listen(t), listen(t)
	go forward(outside, inside.Addr().String())
	for _, open := range []bool{true, false} {
		if open {
			go func() {
				if conn, err := inside.Accept(); err == nil {
					_, _ = io.CopyN(conn, conn, 5)
					_ = conn.Close()
				}
			}()
		} else {
			_ = inside.Close()
		}
		conn, err := net.Dial("tcp", outside.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte("hello"))
		if got, _ := io.ReadAll(conn); (string(got) == "hello") != open {
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
	c := &Cluster{State: testState(t)}
	c.State.Parts = []Part{{Name: recipe.Etcd, Probe: "http://127.0.0.1:1/"}}
	_, err := c.State.Dir.prepare()
	list, listErr := files.ReadDir("files")
	components, argsErr := files.ReadDir("files/args")
	if err := errors.Join(err, listErr, argsErr); err != nil || len(list) < 5 || len(components) < 10 {
		t.Fatal(list, components, err)
	}
	for _, f := range components {
		if args, err := c.arguments(f.Name()); err != nil || len(args) == 0 {
			t.Errorf("%s: %q, %v", f.Name(), args, err)
		}
	}
	for _, f := range list {
		if f.IsDir() {
			continue
		}
		if err := c.write(f.Name()); err != nil {
			t.Error(err)
		}
	}
}

// Releases before 8.6 have no version v1 of group snapshots, and reject a class of it.
func TestGroupClassIsOnlyForCRDsThatHaveIt(t *testing.T) {
	for version, want := range map[string]bool{"v1": true, "v1beta1": false, "v1alpha1": false} {
		bin := t.TempDir()
		crd := filepath.Join(bin, recipe.CRDs, "groupsnapshot.storage.k8s.io_volumegroupsnapshotclasses.yaml")
		if err := errors.Join(os.Mkdir(filepath.Dir(crd), 0o700), os.WriteFile(crd, []byte("  versions:\n  - schema: {}\n    name: "+version+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		text, err := (&Cluster{State: State{Bin: bin}}).fill("classes.yaml")
		if err != nil || strings.Contains(text, "kind: VolumeGroupSnapshotClass") != want {
			t.Errorf("%s: error %v, classes\n%s", version, err, text)
		}
	}
}
