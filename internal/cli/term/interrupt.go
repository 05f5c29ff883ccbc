// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// lastingFor is how long a command may go on after a signal, to remove what it must not leave. Then the program ends without
// it: some of what it waits for knows no context, such as a named pipe.
const lastingFor = 6 * time.Second

// UntilInterrupted runs a command, and returns when it ends, or soon after the context.
func UntilInterrupted(ctx context.Context, command func() int) int {
	ended := make(chan int, 1)
	go func() { ended <- command() }()
	select {
	case code := <-ended:
		return code
	case <-ctx.Done():
	}
	select {
	case code := <-ended:
		return code
	case <-time.After(lastingFor):
		return ExitInterrupted
	}
}

// interruptedMessage is what is printed of the error of a command that a signal ended: the lines after the first one say what stays
// behind, and how to go on. The first one is that of a request, or of a wait, that the signal ended, unless something else failed.
func interruptedMessage(ctx context.Context, err error) string {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.Cause(ctx)) {
		return MessageOf(err)
	}
	if _, advice, found := strings.Cut(err.Error(), "\n"); found {
		return "error: interrupted\n" + advice
	}
	return "error: interrupted"
}

// interruptible is a reader whose reads end with a context. What such a read would have read is lost.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	buffer, done := make([]byte, len(p)), make(chan result, 1) // the caller may use p again while the read goes on
	go func() {
		n, err := r.Reader.Read(buffer)
		done <- result{n, err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	case read := <-done:
		return copy(p, buffer[:read.n]), read.err
	}
}

// UntilDone returns a reader whose reads end with a context.
func UntilDone(ctx context.Context, r io.Reader) io.Reader { return interruptible{ctx, r} }

// AddYes adds --yes, which answers the questions of a command.
func AddYes(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVarP(to, "yes", "y", false, "Answer all questions with yes.")
}

// Ask asks whoever sits at a terminal, whose output may be in a file. Without a yes, it returns an error.
func (f *Factory) Ask(ctx context.Context, question string) error {
	file, ok := f.In.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return errors.New("cannot ask without a terminal: specify --yes")
	}
	fmt.Fprint(f.ErrOut, question+" [y/N] ")
	answer, err := bufio.NewReader(UntilDone(ctx, f.In)).ReadString('\n')
	if ctx.Err() != nil {
		fmt.Fprintln(f.ErrOut)
		return fmt.Errorf("%w\nNothing was done", err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}
