// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// Token is a token for a ServiceAccount.
func (c *Cluster) Token(ctx context.Context, namespace, account string) string {
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)},
	}
	answer, err := c.Kube.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	must(err, "token for ServiceAccount %s/%s", namespace, account)
	return answer.Status.Token
}

// writeKubeconfig makes a kubeconfig for the operator's ServiceAccount, with a
// token of its own: its ID tells this start of the operator from others.
func (c *Cluster) writeKubeconfig(ctx context.Context, dir string) (path, credential string) {
	token := c.Token(ctx, c.System, Account)
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{
		Server:                   c.Config.Host,
		CertificateAuthorityData: c.Config.CAData,
	}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "operator"}
	config.CurrentContext = "e2e"
	path = filepath.Join(dir, "kubeconfig")
	must(clientcmd.WriteToFile(*config, path), "the operator's kubeconfig")
	return path, tokenID(token)
}

func tokenID(token string) string {
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	must(err, "a token")
	var claims struct{ JTI string }
	must(json.Unmarshal(payload, &claims), "a token")
	return claims.JTI
}
