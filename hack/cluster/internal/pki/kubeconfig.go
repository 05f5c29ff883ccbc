// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"encoding/base64"
	"fmt"
)

// Kubeconfig returns a kubeconfig with embedded certificates.
func Kubeconfig(server string, ca []byte, user string, client Pair) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %s
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: local
  context:
    cluster: local
    user: %s
current-context: local
`, server, b64(ca), user, b64(client.Cert), b64(client.Key), user)
}
