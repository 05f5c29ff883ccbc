// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
)

// asksAs has the test binary be a command that asks.
const asksAs = "KUBECTL_SNAPSCHED_TEST_ASKS"

// askAtTerminal asks at its terminal, and returns the exit code.
func askAtTerminal() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	f := &Factory{IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, Clock: clock.RealClock{}}
	root := &cobra.Command{Use: "asks", SilenceErrors: true, SilenceUsage: true, RunE: func(cmd *cobra.Command, _ []string) error {
		return f.Ask(cmd.Context(), "Continue?")
	}}
	return UntilInterrupted(ctx, func() int { return Execute(ctx, root, nil) })
}

// Contract: CLI-8.
func TestAQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		typed  string
		signal os.Signal
		code   int
		says   string
	}{
		"Ctrl-C at the terminal": {typed: "\x03", code: 130, says: "error: interrupted\r\n  Nothing was done\r\n"},
		"Ctrl-C after some text": {typed: "ye\x03", code: 130, says: "error: interrupted\r\n  Nothing was done\r\n"},
		"SIGINT":                 {signal: os.Interrupt, code: 130, says: "error: interrupted\r\n  Nothing was done\r\n"},
		"SIGTERM":                {signal: syscall.SIGTERM, code: 130, says: "error: interrupted\r\n  Nothing was done\r\n"},
		"yes":                    {typed: "Yes\n", code: 0},
		"no":                     {typed: "n\n", code: 2, says: "error: nothing was done\r\n"},
		"the end of the input":   {typed: "\x04", code: 2, says: "error: nothing was done\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { ours.Close() })
			executable, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), executable)
			cmd.Env = append(os.Environ(), asksAs+"=yes")
			var out bytes.Buffer // what is printed may be in a file
			cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, &out, theirs
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			theirs.Close()
			shown := bufio.NewReader(ours)
			if question, err := shown.ReadString(']'); err != nil || question != "Continue? [y/N]" {
				t.Fatalf("it printed %q: %v", question, err)
			}
			if c.signal != nil {
				err = cmd.Process.Signal(c.signal)
			} else {
				_, err = ours.WriteString(c.typed)
			}
			if err != nil {
				t.Fatal(err)
			}
			var rest strings.Builder
			_, _ = shown.WriteTo(&rest) // it ends with an error, when nobody has the other end open
			var exit *exec.ExitError
			if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if out.Len() > 0 {
				t.Errorf("its output is %q", out.String())
			}
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.HasSuffix(rest.String(), c.says) {
				t.Errorf("exit code %d, printed %q", code, rest.String())
			}
		})
	}
}

func TestInterruptedMessage(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupt signal received")
	cancel(cause)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"of a wait":                    {fmt.Errorf("wait: %w", cause), "error: interrupted"},
		"of a request":                 {fmt.Errorf("Get \"http://x\": %w", context.Canceled), "error: interrupted"},
		"with what to do":              {fmt.Errorf("wait: %w\nRun it again", cause), "error: interrupted\nRun it again"},
		"of something that had failed": {errors.New("quota exceeded"), "error: quota exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := interruptedMessage(ctx, c.err); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
