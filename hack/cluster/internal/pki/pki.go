// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki creates the certificates, keys and kubeconfigs of a cluster.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime is long so that no certificate of a local cluster expires.
const lifetime = 10 * 365 * 24 * time.Hour

// Pair is a certificate and its key, PEM-encoded.
type Pair struct{ Cert, Key []byte }

// Authority is the certificate authority of one cluster.
type Authority struct {
	Pair
	cert *x509.Certificate
	key  crypto.Signer
}

// NewAuthority creates a self-signed authority.
func NewAuthority() (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := certTemplate(pkix.Name{CommonName: "snapshotschedule-local-cluster"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	return &Authority{Pair: pair, cert: template, key: key}, nil
}

// Server issues a serving certificate for loopback, the names of the
// kube-apiserver Service, and the given addresses.
func (a *Authority) Server(addresses ...net.IP) (Pair, error) {
	t := certTemplate(pkix.Name{CommonName: "localhost"})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	t.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, addresses...)
	t.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	return a.issue(t)
}

// Client issues a certificate that authenticates as user, a member of groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	t := certTemplate(pkix.Name{CommonName: user, Organization: groups})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(t)
}

// SigningKey creates a key pair for service account tokens. Cert is the public
// key.
func SigningKey() (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, err
	}
	private, err := encodeKey(key)
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), Key: private}, err
}

func (a *Authority) issue(t *x509.Certificate) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	return sign(t, a.cert, key, a.key)
}

func certTemplate(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		Subject: subject,
		// In the past, in case the clock steps back.
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(lifetime),
	}
}

func sign(t, parent *x509.Certificate, key, parentKey crypto.Signer) (Pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, err
	}
	t.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), parentKey)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate for %s: %w", t.Subject.CommonName, err)
	}
	private, err := encodeKey(key)
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: private}, err
}

// encodeKey uses the EC form because Kubernetes reads it for certificates and for
// service account keys.
func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey))
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func newKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }
