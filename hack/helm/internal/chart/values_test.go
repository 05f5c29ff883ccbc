// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
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
	"nameOverride":                      "{nameOverride: other}",
	"commonLabels":                      "{commonLabels: {team: storage}}",
	"extraObjects":                      "{extraObjects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Release.Name }}-more'}}]}",
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
	"serviceAccount.create":             "{serviceAccount: {create: false, name: other}}",
	"serviceAccount.name":               "{serviceAccount: {name: other}}",
	"serviceAccount.annotations":        "{serviceAccount: {annotations: {example.com/a: b}}}",
	"serviceAccount.labels":             "{serviceAccount: {labels: {example.com/a: b}}}",
	"podDisruptionBudget.enabled":       "{podDisruptionBudget: {enabled: true}}",
	"prometheus.labels":                 "{prometheus: {enabled: true, labels: {release: monitoring}}}",
	"prometheus.serviceAccount":         "{prometheus: {serviceAccount: {name: prometheus, namespace: monitoring}}}",
	"prometheus.interval":               "{prometheus: {enabled: true, interval: 30s}}",
	"prometheus.docsURL":                "{prometheus: {enabled: true, docsURL: 'https://wiki.example.com/docs'}}",
	"prometheus.alerts.disabled":        "{prometheus: {enabled: true, alerts: {disabled: [SnapshotScheduleProblems]}}}",
	"prometheus.alerts.labels":          "{prometheus: {enabled: true, alerts: {labels: {team: storage}}}}",
	"prometheus.alerts.for":             "{prometheus: {enabled: true, alerts: {for: {SnapshotScheduleProblems: 1d}}}}",
	"dashboard.enabled":                 "{dashboard: {enabled: true}}",
	"dashboard.labels":                  "{dashboard: {enabled: true, labels: {grafana_dashboard: null, dashboards: 'yes'}}}",
	"networkPolicy.apiServerPorts":      "{networkPolicy: {enabled: true, apiServerPorts: [16443]}}",
	"rbacHelpers.enabled":               "{rbacHelpers: {enabled: false}}",
	"crds.enabled":                      "{crds: {enabled: false}}",
	"crds.keep":                         "{crds: {keep: false}}",
	"admission.enabled":                 "{admission: {enabled: false}}",
	"guardrails.enabled":                "{guardrails: {enabled: true}}",
	"warnings.enabled":                  "{warnings: {enabled: true}}",
	"metrics.enabled":                   "{metrics: {enabled: false}}",
	"metrics.certificateSecret":         "{metrics: {certificateSecret: metrics-server-cert}}",
	"prometheus.enabled":                "{prometheus: {enabled: true}}",
	"networkPolicy.enabled":             "{networkPolicy: {enabled: true}}",
}

// A ServiceAccount that the chart does not create is the one that pods and bindings name.
func TestAnotherServiceAccountIsNamedEverywhere(t *testing.T) {
	got := render(t, loadChart(t, release), likeKustomize.with("{serviceAccount: {create: false, name: other}}"))
	named := 0
	for key, o := range got {
		if o.GetKind() == "ServiceAccount" {
			t.Errorf("%s is created", key)
		}
		for _, reference := range references(o) {
			if account, ok := strings.CutPrefix(reference, "ServiceAccount "+namespace+"/"); ok {
				if named++; account != "other" {
					t.Errorf("%s names %s", key, account)
				}
			}
		}
	}
	if named < 4 {
		t.Errorf("found %d references", named)
	}
}

func TestEveryValueChangesTheResult(t *testing.T) {
	c := loadChart(t, release)
	schema := map[string]any{}
	if err := yaml.UnmarshalStrict(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(overrides))
	if got := leaves(c.Values, nil); !slices.Equal(got, want) {
		t.Errorf("values.yaml has\n%q\nand the test has\n%q", got, want)
	}
	if _, global := schema["properties"].(map[string]any)["global"]; !global {
		t.Error("a parent chart cannot set global values")
	}
	for name, values := range overrides {
		// What a value changes may have to be turned on first.
		enable := ""
		for _, part := range []string{"prometheus", "dashboard", "networkPolicy"} {
			if rest, ok := strings.CutPrefix(name, part+"."); ok && rest != "enabled" {
				enable = "{" + part + ": {enabled: true}}"
			}
		}
		before := render(t, c, likeKustomize.with(enable))
		if after := render(t, c, likeKustomize.with(values)); reflect.DeepEqual(before, after) {
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
	c := loadChart(t, release)
	for values, message := range map[string]string{
		"{metrics: {enable: false}}":                                      "enable",
		"{commonLabels: {app.kubernetes.io/name: other}}":                 "commonLabels",
		"{serviceAccount: {create: false}}":                               "serviceAccount.name",
		"{prometheus: {interval: often}}":                                 "interval",
		"{prometheus: {docsURL: docs/}}":                                  "docsURL",
		"{prometheus: {alerts: {disabled: [Problems]}}}":                  "/prometheus/alerts/disabled",
		"{prometheus: {alerts: {for: {Problems: 1d}}}}":                   "/prometheus/alerts/for",
		"{prometheus: {alerts: {labels: {severity: page}}}}":              "/prometheus/alerts/labels",
		"{prometheus: {alerts: {labels: {a-b: c}}}}":                      "/prometheus/alerts/labels",
		"{prometheus: {alerts: {for: {SnapshotScheduleProblems: soon}}}}": "/prometheus/alerts/for",
		"{networkPolicy: {apiServerPorts: []}}":                           "apiServerPorts",
		"{replicas: 1}":                                                   "replicas",
		"{watchNamespaces: [A]}":                                          "watchNamespaces",
		"{watchNamespaces: a}":                                            "watchNamespaces",
		"{manager: {image: {digest: latest}}}":                            "digest",
		"{manager: {replicas: many}}":                                     "replicas",
		"{metrics: {enabled: false}, prometheus: {enabled: true}}":        "prometheus.enabled needs metrics.enabled",
	} {
		if _, err := likeKustomize.with(values).files(c); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

func TestReferencesMatchUnderOtherNames(t *testing.T) {
	c := loadChart(t, release)
	all := "watchNamespaces: [shop, bank], prometheus: {enabled: true}, networkPolicy: {enabled: true}, guardrails: {enabled: true}, warnings: {enabled: true}"
	for _, i := range []install{
		{name: "backup", namespace: "ops", values: "{" + all + "}"},
		{name: "x", namespace: "ops", values: "{" + all + ", fullnameOverride: a-name-of-more-than-twenty-eight-characters}"},
	} {
		got := render(t, c, i)
		name := strings.TrimSuffix(got.deployment(t).GetName(), "-controller-manager")
		if got["Role.rbac.authorization.k8s.io bank/"+name+"-manager-role"] == nil {
			t.Error("no Role in namespace bank")
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
			for _, reference := range references(o) {
				if got[reference] == nil {
					t.Errorf("%s refers to a missing %s", key, reference)
				}
			}
		}
	}
}

// references returns the keys of what bindings and the Deployment refer to.
func references(o *unstructured.Unstructured) (keys []string) {
	if role, ok, _ := unstructured.NestedStringMap(o.Object, "roleRef"); ok {
		roleNamespace := o.GetNamespace()
		if role["kind"] == "ClusterRole" {
			roleNamespace = ""
		}
		keys = append(keys, role["kind"]+"."+role["apiGroup"]+" "+roleNamespace+"/"+role["name"])
	}
	if policy, ok, _ := unstructured.NestedString(o.Object, "spec", "policyName"); ok {
		keys = append(keys, "ValidatingAdmissionPolicy.admissionregistration.k8s.io /"+policy)
	}
	subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
	for _, s := range subjects {
		keys = append(keys, fmt.Sprintf("ServiceAccount %v/%v", s.(map[string]any)["namespace"], s.(map[string]any)["name"]))
	}
	if account, ok, _ := unstructured.NestedString(o.Object, "spec", "template", "spec", "serviceAccountName"); ok {
		keys = append(keys, "ServiceAccount "+o.GetNamespace()+"/"+account)
	}
	return keys
}

// Artifact Hub shows what the annotations say.
func TestAnnotationsDescribeTheCRDs(t *testing.T) {
	c := loadChart(t, release)
	got := render(t, c, likeKustomize)
	kinds := map[string]bool{}
	var crds, examples []struct{ Kind, Version, Name, APIVersion string }
	for annotation, into := range map[string]any{"crds": &crds, "crdsExamples": &examples} {
		if err := yaml.Unmarshal([]byte(c.Metadata.Annotations["artifacthub.io/"+annotation]), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, crd := range crds {
		o := got["CustomResourceDefinition.apiextensions.k8s.io /"+crd.Name]
		if o == nil {
			t.Fatalf("no CRD is named %q", crd.Name)
		}
		if kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind"); kind != crd.Kind {
			t.Errorf("%s is of kind %s", crd.Name, crd.Kind)
		}
		kinds["snapshots.mapcontroller.dev/"+crd.Version+" "+crd.Kind] = true
	}
	for _, example := range examples {
		if !kinds[example.APIVersion+" "+example.Kind] {
			t.Errorf("an example is a %s", example.Kind)
		}
	}
	if len(crds) != 2 || len(examples) != 2 {
		t.Errorf("%d CRDs, %d examples", len(crds), len(examples))
	}
}

func TestImageReferencesAreKept(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0f", 32)
	for _, name := range []string{"a", "a:v1", "e.com:5000/a", "e.com:5000/b/a:v1", "e.com/a" + digest, "e.com:5000/a:v1" + digest} {
		got := render(t, loadChart(t, Release{Version: "1.2.3", Image: name}), likeKustomize)
		manager := managerOf(t, got.deployment(t))
		if manager["image"] != name {
			t.Errorf("%s became %s", name, manager["image"])
		}
	}
}

func TestBuildRejectsUnknownObjectsAndInvalidReleases(t *testing.T) {
	unknown := &unstructured.Unstructured{Object: map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "x"}}}
	for want, test := range map[string]struct {
		objects []*unstructured.Unstructured
		release Release
	}{
		"no folder":      {append(slices.Clone(kustomizeOnce(t)), unknown), release},
		"no Deployment":  {nil, release},
		"not a semantic": {kustomizeOnce(t), Release{Version: "v1", Image: "a"}},
		"has no name":    {kustomizeOnce(t), Release{Version: "1.2.3", Image: ":v1"}},
	} {
		if _, err := Build(test.objects, test.release); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
