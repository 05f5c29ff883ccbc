// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/discovery"
)

// serverTime returns the API server's clock, in whole seconds. A time that is
// written for the operator must not come from a user's machine: if its clock is
// behind, an existing snapshot could cover the time.
func (f *Factory) serverTime(ctx context.Context) (time.Time, error) {
	config, err := f.Config.ToRESTConfig()
	if err != nil {
		return time.Time{}, err
	}
	var date string
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := base.RoundTrip(r)
			if err == nil {
				date = resp.Header.Get("Date")
			}
			return resp, err
		})
	})
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return time.Time{}, err
	}
	if err := d.RESTClient().Get().AbsPath("/version").Do(ctx).Error(); err != nil && date == "" {
		return time.Time{}, err
	}
	at, err := http.ParseTime(date)
	return at.UTC(), err
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
