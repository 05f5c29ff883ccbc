// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// prober asks a part whether it is ready, at its own health address.
type prober struct{ http *http.Client }

func newProber(d Dir) *prober {
	pool := x509.NewCertPool()
	if pem, err := os.ReadFile(d.pki("ca.crt")); err == nil {
		pool.AppendCertsFromPEM(pem)
	}
	return &prober{&http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true},
	}}
}

// check is nil when the part at the address (http, https or unix) is ready.
func (p *prober) check(ctx context.Context, address string) error {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// until polls a condition, often, until it holds or the deadline passes. The
// error is the last reason why it didn't hold.
func until(ctx context.Context, deadline time.Duration, condition func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	for {
		err := condition(limited)
		if err == nil {
			return nil
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("not ready after %s: %w", deadline, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
