// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"

	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// request is a write of the program.
type request struct {
	method, resource, name, body string
	dryRun                       bool
}

// always lets every write pass.
func always(request) bool { return true }

// intercept starts a proxy before the API server and returns a kubeconfig for it. before is called with every write, one at a
// time. If it returns false, the connection breaks and the API server does not get the write.
func intercept(before func(request) bool) string {
	GinkgoHelper()
	return interceptBoth(before, always)
}

// beforeFirst starts a proxy like intercept's, which calls a function before it passes the first write.
func beforeFirst(act func()) string {
	GinkgoHelper()
	var first sync.Once
	return intercept(func(request) bool {
		first.Do(act)
		return true
	})
}

// interceptBoth also calls after when the API server has answered a write. If that returns false, the answer is lost.
func interceptBoth(before, after func(request) bool) string {
	GinkgoHelper()
	var one sync.Mutex
	return startProxy(func(r *http.Request, send roundTripper) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return send(r)
		}
		defer GinkgoRecover()
		one.Lock()
		defer one.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		write := requestOf(r, string(body))
		if !before(write) {
			return nil, io.ErrUnexpectedEOF
		}
		resp, err := send(r)
		if err == nil && !after(write) {
			resp.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return resp, err
	})
}

// interceptWatch starts a proxy like intercept's. It closes the channel when the API server has answered the first watch.
func interceptWatch() (watching chan struct{}, kubeconfig string) {
	GinkgoHelper()
	watching = make(chan struct{})
	var first sync.Once
	return watching, startProxy(func(r *http.Request, send roundTripper) (*http.Response, error) {
		resp, err := send(r)
		if err == nil && r.URL.Query().Get("watch") == "true" {
			first.Do(func() { close(watching) })
		}
		return resp, err
	})
}

// proxyAt starts a proxy before the API server, whose clock stands still, and returns a kubeconfig for it.
func proxyAt(now time.Time) string {
	GinkgoHelper()
	return startProxy(func(r *http.Request, send roundTripper) (*http.Response, error) {
		resp, err := send(r)
		if err == nil {
			resp.Header.Set("Date", now.Format(http.TimeFormat))
		}
		return resp, err
	})
}

// startProxy starts a proxy before the API server and returns a kubeconfig for it. handle is given every request.
func startProxy(handle func(r *http.Request, send roundTripper) (*http.Response, error)) string {
	GinkgoHelper()
	transport := suite.Must(rest.TransportFor(server.Config))
	target, _, err := rest.DefaultServerUrlFor(server.Config)
	Expect(err).NotTo(HaveOccurred())
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		Transport:     roundTripper(func(r *http.Request) (*http.Response, error) { return handle(r, transport.RoundTrip) }),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	listener := httptest.NewServer(proxy)
	DeferCleanup(listener.Close)

	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: proxy\nclusters: [{name: proxy, cluster: {server: %s}}]\n"+
		"contexts: [{name: proxy, context: {cluster: proxy}}]\n", listener.URL)
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	return file
}

// requestOf returns a write. The name of what a POST creates is not in its path.
func requestOf(r *http.Request, body string) request {
	w := request{method: r.Method, body: body, resource: path.Base(path.Dir(r.URL.Path)), name: path.Base(r.URL.Path)}
	if r.Method == http.MethodPost {
		w.resource, w.name = path.Base(r.URL.Path), ""
	}
	w.dryRun = r.URL.Query().Get("dryRun") != ""
	return w
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
