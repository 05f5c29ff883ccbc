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

// prober checks the readiness of components.
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

// check returns an error unless the component at the URL (http, https or unix) is ready.
func (p *prober) check(ctx context.Context, url string) error {
	if path, ok := strings.CutPrefix(url, "unix://"); ok {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
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

// poll calls a condition until it returns no error. After the timeout it returns the
// last error.
func poll(ctx context.Context, timeout time.Duration, condition func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
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
			return fmt.Errorf("not ready after %s: %w", timeout, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
