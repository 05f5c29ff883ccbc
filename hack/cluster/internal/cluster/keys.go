// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/pki"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// keys are the certificates of one cluster. Each start of a cluster creates new ones.
type keys struct {
	ca    *pki.Authority
	admin pki.Pair
}

// writeKeys creates the authority, the serving certificate, the service account keys
// and the admin's certificate.
func writeKeys(d Dir, addresses ...net.IP) (*keys, error) {
	ca, err := pki.NewAuthority()
	if err != nil {
		return nil, err
	}
	server, err := ca.Server(addresses...)
	if err != nil {
		return nil, err
	}
	tokens, err := pki.SigningKey()
	if err != nil {
		return nil, err
	}
	admin, err := ca.Client("admin", "system:masters")
	if err != nil {
		return nil, err
	}
	for name, b := range map[string][]byte{
		"ca.crt": ca.Cert, "admin.crt": admin.Cert, "admin.key": admin.Key, "server.crt": server.Cert, "server.key": server.Key,
		"sa.pub": tokens.Cert, "sa.key": tokens.Key,
	} {
		if err := writePrivate(d.pki(name), b); err != nil {
			return nil, err
		}
	}
	return &keys{ca: ca, admin: admin}, nil
}

// writeKubeconfigs writes the user's kubeconfig, and one for each component that uses
// the API. Each has its own user name, which the audit log shows. The external URL of
// the server can differ from the one that components use.
func (k *keys) writeKubeconfigs(d Dir, server, external string) error {
	if err := writePrivate(d.Kubeconfig(), pki.Kubeconfig(external, k.ca.Cert, "admin", k.admin)); err != nil {
		return err
	}
	const all = "system:masters"
	for component, as := range map[string]struct{ user, group string }{
		recipe.KubeControllerManager: {"system:kube-controller-manager", all},
		recipe.SnapshotController:    {recipe.SnapshotController, all},
		recipe.CSISnapshotter:        {recipe.CSISnapshotter, all},
		recipe.CSIProvisioner:        {recipe.CSIProvisioner, all},
		recipe.KubeScheduler:         {"system:kube-scheduler", all},
		recipe.KubeProxy:             {"system:kube-proxy", all},
		// The node authorizer grants the permissions of this group.
		recipe.Kubelet: {"system:node:" + node.Name, "system:nodes"},
	} {
		pair, err := k.ca.Client(as.user, as.group)
		if err != nil {
			return err
		}
		if err := writePrivate(d.pki(component+".kubeconfig"), pki.Kubeconfig(server, k.ca.Cert, as.user, pair)); err != nil {
			return err
		}
	}
	return nil
}

// writeAuditPolicy writes a policy that logs every request once, with its response.
func writeAuditPolicy(d Dir) error {
	return writeJSON(d.at("audit-policy.json"), object{
		"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
		"omitStages": []string{"RequestReceived"},
		"rules":      []object{{"level": "Metadata"}},
	})
}

// object is the content of a configuration file. The typed configurations would make
// this module depend on Kubernetes itself.
type object = map[string]any

func writeJSON(path string, o object) error {
	b, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(path, b)
}

// writePrivate writes a file that only this user can read.
func writePrivate(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}
