// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// canI matches a permission that a command names.
var canI = regexp.MustCompile(`(?m)^ *kubectl auth can-i (\w+) ([a-z]+)(?:\.([a-z0-9.]+))?(?: -n (\S+))?$`)

// named returns the permissions that an error names, by the namespace: empty for the whole cluster.
func named(said string) map[string][]rbacv1.PolicyRule {
	rules := map[string][]rbacv1.PolicyRule{}
	for _, right := range canI.FindAllStringSubmatch(said, -1) {
		rules[right[4]] = append(rules[right[4]], rbacv1.PolicyRule{Verbs: right[1:2], Resources: right[2:3], APIGroups: right[3:4]})
	}
	return rules
}

var _ = Describe("permissions", Ordered, ContinueOnFailure, func() {
	var (
		env, tenants *environment
		users        int
	)
	BeforeAll(func() {
		env, tenants = newEnvironment(), newEnvironment()
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "3d"})
		s.Labels = map[string]string{"in": env.namespace}
		put(s.CreationTimestamp.Time, s)
		all := env.createSnapshots(s, env.createClaim("data"), time.Hour, 3)
		fleet := tenants.createFleet(v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", Suspend: true, DeletionPolicy: v1alpha1.DeletionDelete,
		})
		tenants.createSnapshots(tenants.createChild(fleet), tenants.createClaim("data"), time.Hour, 2)
		// The class has the name of the namespace.
		class := &storagev1.StorageClass{Provisioner: env.namespace + ".csi"}
		class.Name = env.namespace
		Expect(api.Create(ctx, class)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, class)).To(Succeed()) })
		for _, v := range all {
			createContent(v, class.Provisioner)
			put(time.Time{}, v)
			content := &snapshotv1.VolumeSnapshotContent{}
			Expect(api.Get(ctx, client.ObjectKey{Name: *v.Status.BoundVolumeSnapshotContentName}, content)).To(Succeed())
			content.Status = &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: ptr.To("handle")}
			Expect(api.Status().Update(ctx, content)).To(Succeed())
		}
	})

	// exactly runs a command line as a user who has the permissions that it names, and no others, and returns what is wrong with them;
	// empty if the command succeeds, and uses each of them.
	exactly := func(in *environment, code int, line ...string) string {
		GinkgoHelper()
		users++
		name := fmt.Sprintf("user%d", users)
		user := name + "-" + in.namespace
		as := in.as(writeKubeconfig(GinkgoT().TempDir(), user))
		rules := named(as.run(line...).errOut)
		log := requests
		log.User = user
		begin := suite.Must(log.Mark())
		unused := sets.New[string]()
		in.mayInCluster(name, rules[""])
		for namespace, all := range rules {
			if namespace != "" {
				(&environment{namespace, ""}).bind(name, user, all)
			}
			for _, rule := range all {
				unused.Insert(rule.Verbs[0] + " " + rule.Resources[0])
			}
		}
		var last result
		for end := time.Now().Add(30 * time.Second); ; { // until the API server knows the bindings
			if last = as.run(line...); last.code == code || time.Now().After(end) {
				break
			}
		}
		if last.code != code {
			return fmt.Sprintf("%s, with %s: %s", strings.Join(line, " "), strings.Join(sets.List(unused), ", "), last.errOut)
		}
		for _, r := range suite.Must(log.Since(begin)) {
			if !r.Forbidden {
				unused.Delete(r.Verb + " " + r.Resource)
			}
		}
		if len(unused) > 0 || len(rules) == 0 {
			return fmt.Sprintf("%s, of %d namespaces, does not use %s", strings.Join(line, " "), len(rules), strings.Join(sets.List(unused), ", "))
		}
		return ""
	}

	// Contract: CLI-57.
	It("are those that an error names, and no others", func() {
		newest := strings.Fields(env.succeeds("list", "-o", "name"))[0]
		var wrong []string
		for _, line := range []string{
			"status", "status nightly", "status -A", "list", "list nightly", "list --pvc data", "coverage", "coverage -A", "timeline", "timeline nightly",
			"report -o json", "preview", "preview nightly", "preview --delete nightly", "why SNAPSHOT",
			"snapshot --dry-run", "snapshot nightly --dry-run", "snapshot nightly", "snapshot nightly --dry-run=server", "snapshot --pvc data",
			"snapshot -l !none", "snapshot -A -l in=CLASS --dry-run",
			"suspend nightly --dry-run", "suspend nightly", "resume nightly", "confirm nightly --dry-run", "confirm nightly",
			"restore SNAPSHOT --dry-run --storage-class CLASS", "restore SNAPSHOT --to a --storage-class CLASS",
			"restore SNAPSHOT --to b --dry-run=server --storage-class CLASS", "restore --pvc data --to c --storage-class CLASS",
			"restore --schedule nightly --to d --storage-class CLASS",
			"verify SNAPSHOT --dry-run --image i --storage-class CLASS --allow-retain", "verify --pvc data --dry-run --image i --storage-class CLASS --allow-retain",
			"verify --schedule nightly --dry-run --image i --storage-class CLASS --allow-retain",
			"restore SNAPSHOT --to-namespace OTHER --shared-handle --dry-run --storage-class CLASS", "restore --pvc data --to-namespace OTHER --shared-handle --dry-run --storage-class CLASS",
			"hold SNAPSHOT --dry-run", "hold SNAPSHOT", "hold SNAPSHOT --reason b --dry-run=server", "hold --all --reason c", "hold --pvc data --reason d",
			"hold --schedule nightly --reason e", "unhold SNAPSHOT --dry-run", "unhold SNAPSHOT --reason c", "unhold --all", "unhold --pvc data --dry-run",
			"release SNAPSHOT --dry-run", "release SNAPSHOT",
		} {
			args := strings.Fields(strings.NewReplacer("SNAPSHOT", newest, "CLASS", env.namespace, "OTHER", tenants.namespace).Replace(line))
			wrong = append(wrong, exactly(env, 0, args...))
		}
		for _, command := range []string{"snapshot", "confirm", "resume", "suspend"} {
			wrong = append(wrong, exactly(tenants, 0, command, "--cluster-schedule", tenants.namespace))
		}
		wrong = append(wrong, exactly(env, 3, "snapshot", "nightly", "--wait", "--timeout", "5s"))
		Expect(slices.DeleteFunc(wrong, func(text string) bool { return text == "" })).To(BeEmpty())
	})
})
