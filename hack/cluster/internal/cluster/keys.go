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

// keys are the certificates of one cluster, made anew each time it comes up.
type keys struct {
	ca    *pki.Authority
	admin pki.Pair
}

// writeKeys makes the authority, the serving certificate and the service
// account keys. Client certificates come later, when the server's port is known.
func writeKeys(d Dir, also ...net.IP) (*keys, error) {
	ca, err := pki.NewAuthority()
	if err != nil {
		return nil, err
	}
	server, err := ca.Server(also...)
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

// writeKubeconfigs writes one for people and one for each part that talks to
// the API, under a name of its own: who did what shows in the audit log.
// People may have to reach the server at another address than the parts.
func (k *keys) writeKubeconfigs(d Dir, server, forPeople string) error {
	if err := writePrivate(d.Kubeconfig(), pki.Kubeconfig(forPeople, k.ca.Cert, "admin", k.admin)); err != nil {
		return err
	}
	const all = "system:masters"
	for part, as := range map[string]struct{ user, group string }{
		recipe.KubeControllerManager: {"system:kube-controller-manager", all},
		recipe.SnapshotController:    {recipe.SnapshotController, all},
		recipe.CSISnapshotter:        {recipe.CSISnapshotter, all},
		recipe.CSIProvisioner:        {recipe.CSIProvisioner, all},
		recipe.KubeScheduler:         {"system:kube-scheduler", all},
		recipe.KubeProxy:             {"system:kube-proxy", all},
		// What a node may do is up to the node authorizer.
		recipe.Kubelet: {"system:node:" + node.Name, "system:nodes"},
	} {
		pair, err := k.ca.Client(as.user, as.group)
		if err != nil {
			return err
		}
		if err := writePrivate(d.pki(part+".kubeconfig"), pki.Kubeconfig(server, k.ca.Cert, as.user, pair)); err != nil {
			return err
		}
	}
	return nil
}

// writeAuditPolicy has every request logged once, when it is answered.
func writeAuditPolicy(d Dir) error {
	b, err := json.MarshalIndent(map[string]any{
		"apiVersion": "audit.k8s.io/v1",
		"kind":       "Policy",
		"omitStages": []string{"RequestReceived"},
		"rules":      []map[string]string{{"level": "Metadata"}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(d.at("audit-policy.json"), b)
}

func writePrivate(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}
