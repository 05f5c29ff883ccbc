// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// overrides has one change of each value.
var overrides = map[string]string{
	"fullnameOverride":                  "{fullnameOverride: other}",
	"watchNamespaces":                   "{watchNamespaces: [a, b]}",
	"manager.replicas":                  "{manager: {replicas: 3}}",
	"manager.image.repository":          "{manager: {image: {repository: example.com/other}}}",
	"manager.image.tag":                 "{manager: {image: {tag: v9}}}",
	"manager.image.digest":              "{manager: {image: {digest: 'sha256:" + strings.Repeat("0f", 32) + "'}}}",
	"manager.image.pullPolicy":          "{manager: {image: {pullPolicy: Never}}}",
	"manager.imagePullSecrets":          "{manager: {imagePullSecrets: [{name: registry}]}}",
	"manager.args":                      "{manager: {args: [--max-clock-skew=5m]}}",
	"manager.env":                       "{manager: {env: [{name: GOGC, value: '100'}]}}",
	"manager.resources":                 "{manager: {resources: {limits: {memory: 1Gi}}}}",
	"manager.podSecurityContext":        "{manager: {podSecurityContext: {runAsUser: 20000}}}",
	"manager.securityContext":           "{manager: {securityContext: {privileged: false}}}",
	"manager.affinity":                  "{manager: {affinity: {nodeAffinity: {}}}}",
	"manager.nodeSelector":              "{manager: {nodeSelector: {kubernetes.io/os: linux}}}",
	"manager.tolerations":               "{manager: {tolerations: [{operator: Exists}]}}",
	"manager.topologySpreadConstraints": "{manager: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}",
	"manager.priorityClassName":         "{manager: {priorityClassName: system-cluster-critical}}",
	"manager.volumes":                   "{manager: {volumes: [{name: certificate, secret: {secretName: certificate}}]}}",
	"manager.volumeMounts":              "{manager: {volumeMounts: [{name: certificate, mountPath: /certificate}]}}",
	"manager.podAnnotations":            "{manager: {podAnnotations: {example.com/a: b}}}",
	"manager.podLabels":                 "{manager: {podLabels: {example.com/a: b}}}",
	"serviceAccount.annotations":        "{serviceAccount: {annotations: {example.com/a: b}}}",
	"serviceAccount.labels":             "{serviceAccount: {labels: {example.com/a: b}}}",
	"podDisruptionBudget.enable":        "{podDisruptionBudget: {enable: true}}",
	"prometheus.labels":                 "{prometheus: {enable: true, labels: {release: monitoring}}}",
	"prometheus.interval":               "{prometheus: {enable: true, interval: 30s}}",
	"prometheus.docsURL":                "{prometheus: {enable: true, docsURL: 'https://wiki.example.com/docs'}}",
	"dashboard.enable":                  "{dashboard: {enable: true}}",
	"dashboard.labels":                  "{dashboard: {enable: true, labels: {grafana_dashboard: null, dashboards: 'yes'}}}",
	"networkPolicy.apiServerPorts":      "{networkPolicy: {enable: true, apiServerPorts: [16443]}}",
	"rbacHelpers.enable":                "{rbacHelpers: {enable: false}}",
	"crd.enable":                        "{crd: {enable: false}}",
	"crd.keep":                          "{crd: {keep: false}}",
	"guardrails.enable":                 "{guardrails: {enable: true}}",
	"metrics.enable":                    "{metrics: {enable: false}}",
	"metrics.certificateSecret":         "{metrics: {certificateSecret: metrics-server-cert}}",
	"prometheus.enable":                 "{prometheus: {enable: true}}",
	"networkPolicy.enable":              "{networkPolicy: {enable: true}}",
}

func TestEveryValueChangesTheResult(t *testing.T) {
	folder := buildChart(t)
	text, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &defaults); err != nil {
		t.Fatal(err)
	}
	schema := map[string]any{}
	if text, err = os.ReadFile(filepath.Join(folder, "values.schema.json")); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &schema); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(overrides))
	if got := leaves(defaults, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("values.yaml has\n%q\nand the test has\n%q", got, want)
	}
	if _, global := schema["properties"].(map[string]any)["global"]; !global {
		t.Error("a parent chart cannot set global values")
	}
	for name, values := range overrides {
		// What a value changes may have to be turned on first.
		enable := ""
		for _, part := range []string{"prometheus", "dashboard", "networkPolicy"} {
			if rest, ok := strings.CutPrefix(name, part+"."); ok && rest != "enable" {
				enable = "{" + part + ": {enable: true}}"
			}
		}
		before := render(t, folder, likeKustomize.with(enable))
		if after := render(t, folder, likeKustomize.with(values)); reflect.DeepEqual(before, after) {
			t.Errorf("%s changes nothing", name)
		}
	}
}

// leaves returns the names of the values.
func leaves(values map[string]any, path []string) []string {
	var all []string
	for key, value := range values {
		inner := append(slices.Clone(path), key)
		name := strings.Join(inner, ".")
		if deeper, ok := value.(map[string]any); ok && overrides[name] == "" {
			all = append(all, leaves(deeper, inner)...)
			continue
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func TestInvalidValuesAreRejected(t *testing.T) {
	folder := buildChart(t)
	for values, message := range map[string]string{
		"{metrics: {enabled: false}}":                            "enabled",
		"{prometheus: {interval: often}}":                        "interval",
		"{prometheus: {docsURL: docs/}}":                         "docsURL",
		"{networkPolicy: {apiServerPorts: []}}":                  "apiServerPorts",
		"{replicas: 1}":                                          "replicas",
		"{watchNamespaces: [A]}":                                 "watchNamespaces",
		"{watchNamespaces: a}":                                   "watchNamespaces",
		"{manager: {image: {digest: latest}}}":                   "digest",
		"{manager: {replicas: many}}":                            "replicas",
		"{metrics: {enable: false}, prometheus: {enable: true}}": "prometheus.enable needs metrics.enable",
	} {
		if _, err := likeKustomize.with(values).objects(folder); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

func TestReferencesMatchUnderOtherNames(t *testing.T) {
	folder := buildChart(t)
	all := "watchNamespaces: [shop, bank], prometheus: {enable: true}, networkPolicy: {enable: true}, guardrails: {enable: true}"
	for _, i := range []install{
		{name: "backup", namespace: "ops", values: "{" + all + "}"},
		{name: "x", namespace: "ops", values: "{" + all + ", fullnameOverride: a-name-of-more-than-twenty-eight-characters}"},
	} {
		got := render(t, folder, i)
		if got["Role.rbac.authorization.k8s.io bank/"+nameOf(t, got)+"-manager-role"] == nil {
			t.Errorf("no Role in namespace bank: %q", keysOf(got))
		}
		for key, o := range got {
			if len(o.GetName()) > 63 {
				t.Errorf("the name of %s is too long", key)
			}
			text, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			for _, fixed := range []string{
				namespace, prefix + "controller", prefix + "manager", prefix + "metrics", prefix + "leader", prefix + "crd",
			} {
				if rest := strings.ReplaceAll(string(text), i.name+"-"+prefix, ""); strings.Contains(rest, fixed) {
					t.Errorf("%s contains %s: %s", key, fixed, text)
				}
			}
			checkReferences(t, got, o, i.namespace)
		}
	}
}

func nameOf(t *testing.T, all map[string]*unstructured.Unstructured) string {
	t.Helper()
	for key, o := range all {
		if strings.HasPrefix(key, "Deployment") {
			return strings.TrimSuffix(o.GetName(), "-controller-manager")
		}
	}
	t.Fatal("no Deployment")
	return ""
}

// checkReferences checks that what bindings and the Deployment refer to exists.
func checkReferences(t *testing.T, all map[string]*unstructured.Unstructured, o *unstructured.Unstructured, releaseNamespace string) {
	t.Helper()
	if role, ok, _ := unstructured.NestedStringMap(o.Object, "roleRef"); ok {
		roleNamespace := o.GetNamespace()
		if role["kind"] == "ClusterRole" {
			roleNamespace = ""
		}
		if all[role["kind"]+"."+role["apiGroup"]+" "+roleNamespace+"/"+role["name"]] == nil {
			t.Errorf("%s %s: missing %v", o.GetKind(), o.GetName(), role)
		}
	}
	if policy, ok, _ := unstructured.NestedString(o.Object, "spec", "policyName"); ok {
		if all["ValidatingAdmissionPolicy.admissionregistration.k8s.io /"+policy] == nil {
			t.Errorf("%s: missing %s", o.GetName(), policy)
		}
	}
	subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
	for _, s := range subjects {
		s := s.(map[string]any)
		if s["namespace"] != releaseNamespace || all["ServiceAccount "+releaseNamespace+"/"+s["name"].(string)] == nil {
			t.Errorf("%s %s: missing %v", o.GetKind(), o.GetName(), s)
		}
	}
	if o.GetKind() == "Deployment" {
		account, _, _ := unstructured.NestedString(o.Object, "spec", "template", "spec", "serviceAccountName")
		if all["ServiceAccount "+releaseNamespace+"/"+account] == nil {
			t.Errorf("missing ServiceAccount %s", account)
		}
	}
}

func TestImageReferencesAreKept(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0f", 32)
	for _, name := range []string{"a", "a:v1", "e.com:5000/a", "e.com:5000/b/a:v1", "e.com/a" + digest, "e.com:5000/a:v1" + digest} {
		files, err := Build(kustomizeOnce(t), Release{Version: "1.2.3", Image: name})
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(t.TempDir(), Name)
		if err := Write(folder, files); err != nil {
			t.Fatal(err)
		}
		got := render(t, folder, likeKustomize)
		manager := managerOf(t, got["Deployment.apps "+namespace+"/"+prefix+"controller-manager"])
		if manager["image"] != name {
			t.Errorf("%s became %s", name, manager["image"])
		}
	}
}

var source []*unstructured.Unstructured

func kustomizeOnce(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	if source == nil {
		source = kustomize(t, "hack/helm/source")
	}
	return source
}

func TestBuildRejectsUnknownObjectsAndInvalidReleases(t *testing.T) {
	unknown := &unstructured.Unstructured{Object: map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "x"}}}
	for name, build := range map[string]func() (map[string]string, error){
		"no folder": func() (map[string]string, error) {
			return Build(append(slices.Clone(kustomizeOnce(t)), unknown), release)
		},
		"no Deployment":  func() (map[string]string, error) { return Build(nil, release) },
		"not a semantic": func() (map[string]string, error) { return Build(kustomizeOnce(t), Release{Version: "v1", Image: "a"}) },
		"has no name": func() (map[string]string, error) {
			return Build(kustomizeOnce(t), Release{Version: "1.2.3", Image: ":v1"})
		},
	} {
		if _, err := build(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWriteKeepsAFolderThatIsNotAChart(t *testing.T) {
	folder := t.TempDir()
	kept := filepath.Join(folder, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(folder, map[string]string{"Chart.yaml": "x"}); err == nil {
		t.Error("the folder was replaced")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
