// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// step prints a caption, acts, waits until that has had its effect, and shows tables.
type step struct {
	title   string            // empty: continues the step before
	text    string            // what happens and why it matters
	prepare func(*demo) error // before the commands
	run     []string          // shell commands; see demo.shell
	until   string            // the condition in words; empty: the commands have waited
	reached func(*demo) bool
	show    []string // more shell commands
}

// demo plays steps on a cluster.
type demo struct {
	*screen
	client   client.Client
	operator *operator
	limit    time.Duration // the longest wait for a condition
	now      view
	deleted  []snapshot // seen earlier, and no longer there

	// What steps remember for later.
	slot time.Time
	held string
}

func (d *demo) playAll(ctx context.Context, steps []step) error {
	titles, number := 0, 0
	for _, s := range steps {
		titles += min(1, len(s.title))
	}
	for _, s := range steps {
		if s.title != "" {
			number++
			head := fmt.Sprintf("── %d/%d  %s ", number, titles, s.title)
			d.print("\n%s\n", d.paint(bold, head+strings.Repeat("─", max(0, width-len([]rune(head))))))
		}
		if err := d.play(ctx, s); err != nil {
			return fmt.Errorf("step %d: %w", number, err)
		}
	}
	return nil
}

func (d *demo) play(ctx context.Context, s step) error {
	if s.text != "" {
		d.print("%s\n", s.text)
	}
	if s.prepare != nil {
		if err := s.prepare(d); err != nil {
			return err
		}
	}
	if err := d.shell(ctx, s.run); err != nil || s.until == "" {
		return err
	}
	start := time.Now()
	if err := d.wait(ctx, s); err != nil {
		return fmt.Errorf("waiting until %s: %w", s.until, err)
	}
	d.print("  %s %s %s\n", d.paint(green, "✓"), s.until, d.paint(dim, fmt.Sprintf("(%.1fs)", time.Since(start).Seconds())))
	return d.shell(ctx, s.show)
}

// wait returns when the step's condition is true, or fails: after the limit, with the
// context, with a read, or when the operator ends by itself.
func (d *demo) wait(ctx context.Context, s step) error {
	start := time.Now()
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, d.limit, true, func(ctx context.Context) (bool, error) {
		if err := d.refresh(ctx); err != nil {
			return false, err
		}
		d.progress(fmt.Sprintf("  %2.0fs  %suntil %s", time.Since(start).Seconds(), d.now.dots(), s.until))
		select {
		case <-d.operator.ended:
			return false, errors.New("the operator ended by itself")
		default:
			return s.reached(d), nil
		}
	})
}

// shell runs commands, and prints them and their output. {pid} is the operator's, {held} the held snapshot.
func (d *demo) shell(ctx context.Context, commands []string) error {
	names := strings.NewReplacer("{pid}", strconv.Itoa(d.operator.pid), "{held}", d.held)
	for _, command := range commands {
		command = names.Replace(command)
		d.print("  %s", d.paint(cyan, "$ "+command))
		out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			d.print("  %s", strings.TrimRight(line, "\n"))
		}
		if err != nil {
			return errors.Join(context.Cause(ctx), fmt.Errorf("%s: %w", command, err))
		}
		d.print("")
	}
	return nil
}
