// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// firstUser is the first user and group of the range that namespaces get.
const firstUser int64 = 1000680000

// userRange are the annotations by which OpenShift gives a namespace its users.
var userRange = []string{"openshift.io/sa.scc.uid-range=1000680000/10000", "openshift.io/sa.scc.supplemental-groups=1000680000/10000"}

// restrictedV2 is how OpenShift's SCC restricted-v2 chooses the users of pods, in the namespaces of proofs: a pod that names no user
// and no group gets the first ones of its namespace, and one that names a user outside of the range, or another group, is rejected, like
// every pod before the namespace has a range. What else the SCC demands, the restricted policy demands as well.
const restrictedV2 = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: restricted-v2}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  variables:
  - name: user
    expression: int(namespaceObject.metadata.annotations["openshift.io/sa.scc.uid-range"].split("/")[0])
  - name: group
    expression: int(namespaceObject.metadata.annotations["openshift.io/sa.scc.supplemental-groups"].split("/")[0])
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        has(object.spec.securityContext.fsGroup) ? Object{} :
        Object{spec: Object.spec{securityContext: Object.spec.securityContext{fsGroup: variables.group}}}
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        has(object.spec.securityContext.runAsUser) ? Object{} :
        Object{spec: Object.spec{
          initContainers: object.spec.?initContainers.orValue([]).filter(c, !c.?securityContext.?runAsUser.hasValue()).map(c,
            Object.spec.initContainers{name: c.name, securityContext: Object.spec.initContainers.securityContext{runAsUser: variables.user}}),
          containers: object.spec.containers.filter(c, !c.?securityContext.?runAsUser.hasValue()).map(c,
            Object.spec.containers{name: c.name, securityContext: Object.spec.containers.securityContext{runAsUser: variables.user}})
        }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: restricted-v2}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  variables:
  - name: users
    expression: namespaceObject.metadata.annotations["openshift.io/sa.scc.uid-range"].split("/").map(n, int(n))
  - name: group
    expression: int(namespaceObject.metadata.annotations["openshift.io/sa.scc.supplemental-groups"].split("/")[0])
  validations:
  - expression: >-
      (object.spec.containers + object.spec.?initContainers.orValue([])).map(c,
        c.?securityContext.?runAsUser.or(object.spec.securityContext.?runAsUser).orValue(0)
      ).all(u, u >= variables.users[0] && u < variables.users[0] + variables.users[1])
    message: a user outside of the range
  - expression: object.spec.securityContext.?fsGroup.orValue(0) == variables.group
    message: another group
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: restricted-v2}
spec:
  policyName: restricted-v2
  matchResources: {namespaceSelector: {matchExpressions: [{key: snapshots.mapcontroller.dev/proof, operator: Exists}]}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: restricted-v2}
spec:
  policyName: restricted-v2
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchExpressions: [{key: snapshots.mapcontroller.dev/proof, operator: Exists}]}}
`

// likeOpenShift has the API server choose the users of proofs as OpenShift does, until the end of the spec.
func likeOpenShift(ctx context.Context) {
	GinkgoHelper()
	const probe = "labeled" // as a proof's, by somebody else
	create := []byte(restrictedV2 + `---
apiVersion: v1
kind: Namespace
metadata: {name: ` + probe + `, labels: {snapshots.mapcontroller.dev/proof: abcde}}
`)
	DeferCleanup(func(ctx context.Context) {
		run(ctx, create, "kubectl", "delete", "--timeout=1m", "-f", "-")
		kubectl(ctx, "annotate", "namespace", "default", "openshift.io/sa.scc.uid-range-", "openshift.io/sa.scc.supplemental-groups-")
	})
	run(ctx, create, "kubectl", "apply", "-f", "-")
	kubectl(ctx, append([]string{"annotate", "namespace", "default"}, userRange...)...)

	try := func(user *int64) func() (corev1.PodSpec, error) {
		return func() (corev1.PodSpec, error) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: probe, Name: "try"}}
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: user, FSGroup: user}
			pod.Spec.Containers = []corev1.Container{{Name: "try", Image: "try"}}
			err := client.NewDryRunClient(cluster.Client).Create(ctx, pod)
			return pod.Spec, err
		}
	}
	// The API server needs a moment until it enforces a policy.
	denied := func(user *int64, words string) {
		GinkgoHelper()
		Eventually(func() error { _, err := try(user)(); return err }).WithContext(ctx).Should(MatchError(ContainSubstring(words)))
	}
	denied(nil, "no such key") // it has no range yet
	kubectl(ctx, append([]string{"annotate", "namespace", probe}, userRange...)...)
	denied(ptr.To[int64](65532), "a user outside of the range")
	Eventually(try(nil)).WithContext(ctx).Should(And(
		HaveField("SecurityContext.FSGroup", HaveValue(Equal(firstUser))),
		HaveField("Containers", HaveExactElements(HaveField("SecurityContext.RunAsUser", HaveValue(Equal(firstUser)))))))
}

// usersOfPods watches the pods of a namespace, and returns what returns as which users their containers have run, by pod/container.
func usersOfPods(ctx context.Context, namespace string) func() map[string]int64 {
	GinkgoHelper()
	changes := suite.Must(cluster.Client.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace)))
	all, ended := map[string]int64{}, make(chan struct{})
	go func() {
		defer close(ended)
		for change := range changes.ResultChan() {
			pod, is := change.Object.(*corev1.Pod)
			if !is {
				continue
			}
			for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
				if c.User != nil && c.User.Linux != nil {
					all[pod.Name+"/"+c.Name] = c.User.Linux.UID
				}
			}
		}
	}()
	return func() map[string]int64 {
		changes.Stop()
		<-ended
		return all
	}
}
