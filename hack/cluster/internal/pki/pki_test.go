// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
)

// serve runs a server that requires client certificates and returns the client's
// name and group.
func serve(t *testing.T, a *Authority) *httptest.Server {
	t.Helper()
	pair, err := a.Server()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		_, _ = io.WriteString(w, subject.CommonName+"/"+subject.Organization[0])
	}))
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(a.Cert)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func authority(t *testing.T) *Authority {
	t.Helper()
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// get connects with a kubeconfig.
func get(t *testing.T, kubeconfig []byte) (string, error) {
	t.Helper()
	field := func(name string) string {
		return regexp.MustCompile(` ` + name + `: (.+)`).FindStringSubmatch(string(kubeconfig))[1]
	}
	decode := func(name string) []byte {
		b, err := base64.StdEncoding.DecodeString(field(name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	cert, err := tls.X509KeyPair(decode("client-certificate-data"), decode("client-key-data"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(decode("certificate-authority-data"))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(field("server"))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestKubeconfigAuthenticates(t *testing.T) {
	a := authority(t)
	s := serve(t, a)
	admin, err := a.Client("admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	who, err := get(t, Kubeconfig(s.URL, a.Cert, "admin", admin))
	if err != nil || who != "admin/system:masters" {
		t.Errorf("who = %q, err = %v", who, err)
	}
}

func TestOtherAuthoritiesAreNotTrusted(t *testing.T) {
	a, other := authority(t), authority(t)
	s := serve(t, a)
	foreign, err := other.Client("admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if who, err := get(t, Kubeconfig(s.URL, a.Cert, "admin", foreign)); err == nil {
		t.Errorf("the server accepted a client of another authority as %s", who)
	}
	admin, err := a.Client("admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, Kubeconfig(s.URL, other.Cert, "admin", admin)); err == nil {
		t.Error("the client trusted a server of another authority")
	}
}
