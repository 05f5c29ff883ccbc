// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// environment is what a page expects to find: the zero value is a PVC pgdata with a snapshot of the schedule nightly.
type environment struct {
	// claims are the names of the PVCs, and labels theirs.
	claims string
	labels map[string]string
	// schedules select all of them. Without, the page creates its own.
	schedules []string
	// apply has the schedules of the page itself created.
	apply bool
	// group is set if they take groups, fleet if there is the ClusterSnapshotSchedule gold, and workload if a StatefulSet has the PVCs.
	group, fleet, workload bool
	// guarded is set if the page puts the guardrails in force.
	guarded bool
	// names are what words of the page stand for here.
	names []string
	// order are the blocks that are typed, if not all in the order of the page.
	order []int
	// before prepares a block that contains a text, and cleanup removes what is of no namespace.
	before  map[string]string
	cleanup string
}

// protected waits for the first group snapshot, whose members are found a moment after it is cut.
const protected = "kubectl wait snapsched --all --for=condition=Protected --timeout=150s"

var (
	gold      = environment{schedules: []string{"nightly"}, fleet: true, names: []string{"NAME", "gold"}}
	ofClasses = environment{claims: "pgdata", names: []string{"RBD_CLASS", "CLASS", "CEPHFS_CLASS", "CLASS-2"}}
	// unsized is for snapshots of deleted PVCs: the mock driver reports no size of a snapshot.
	unsized = []string{"--to '{pvc}' ", "--to '{pvc}' --size 1Gi "}
	named   = environment{schedules: []string{"nightly"}, names: []string{"NAME", "nightly"}}
)

// environments are those of the pages that need something else than the zero value.
var environments = map[string]environment{
	"README.md": {claims: "data-db-0 data-db-1 uploads", apply: true},
	"docs/my-data-is-gone.md": {workload: true, group: true, names: unsized, before: map[string]string{
		"annotate volumesnapshots": "kubectl snapsched unhold --all -n shop --reason incident",
		"patch pv pvc-":            "kubectl patch pv VOLUME -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'\nkubectl delete pvc pgdata",
		"--to '{pvc}'":             "kubectl delete pvc --all",
	}},
	"docs/reference/conditions.md": named,
	"docs/reference/problems.md":   named,
	"docs/run/eks.md":              {schedules: []string{"nightly"}, names: []string{"--all --all-namespaces", "--all"}},
	"docs/run/guardrails.md":       {names: []string{"-k config", "-k ROOT/config"}, guarded: true},
	"docs/run/install.md":          {names: []string{"<name>", "CLASS"}},
	"docs/run/limits.md":           {names: []string{" ebs ", " CLASS "}},
	"docs/run/openshift.md": {cleanup: "kubectl delete clusterrolebinding snapshotschedule-metrics-token\n" +
		"kubectl -n snapshotschedule-system delete secret/metrics-reader serviceaccount/metrics-reader --ignore-not-found"},
	"docs/run/uninstall.md": {schedules: []string{"nightly"}, group: true, names: []string{"--all-namespaces", "-n shop"}},
	"docs/storage/ceph.md":  ofClasses,
	"docs/tasks/another-namespace.md": {
		schedules: []string{"nightly"}, names: []string{" lab ", " lab-of-NAMESPACE "},
		before: map[string]string{"lab": "kubectl create namespace lab-of-NAMESPACE\n" + // and what a proof would have written
			"kubectl annotate --overwrite volumesnapshotclass mock snapshots.mapcontroller.dev/proven='2026-01-01T00:00:00Z unknown copies=yes'"},
		cleanup: "kubectl annotate volumesnapshotclass mock snapshots.mapcontroller.dev/proven-",
	},
	"docs/tasks/before-an-upgrade.md": {schedules: []string{"my-app"}},
	"docs/tasks/change-a-schedule.md": {schedules: []string{"nightly"}, fleet: true},
	"docs/tasks/groups.md":            {claims: "data log", labels: map[string]string{"app": "shop-db"}, apply: true, group: true, names: []string{"<name>", "CLASS"}, before: map[string]string{"restore": protected}},
	"docs/tasks/jobs.md":              {names: []string{"my-app-snapshot-ops", "ops-of-NAMESPACE"}},
	"docs/tasks/migrate-from-snapscheduler.md": {
		order: []int{0, 1, 3, 0, 1, 2}, before: map[string]string{"--dry-run": "kubectl apply -f ROOT/test/cli/testdata/snapscheduler.yaml\n" +
			"kubectl wait --for=condition=Established crd/snapshotschedules.snapscheduler.backube\n" +
			`echo '{apiVersion: snapscheduler.backube/v1, kind: SnapshotSchedule, metadata: {name: hourly}, spec: {schedule: "0 * * * *"}}' | kubectl apply -f -`},
	},
	"docs/tasks/nightly.md":      {labels: map[string]string{"app": "my-database"}, apply: true},
	"docs/tasks/restore.md":      {schedules: []string{"nightly", "my-database"}, names: unsized, before: map[string]string{"--to '{pvc}' ": "kubectl delete pvc --all"}},
	"docs/tasks/rollback.md":     {workload: true},
	"docs/tasks/select-pvcs.md":  {claims: "cache", names: []string{"NAME", "CLASS"}},
	"docs/tasks/snapshot-now.md": {claims: "pgdata pgwal", schedules: []string{"my-database"}, fleet: true, before: map[string]string{"gold": "kubectl label snapsched my-database backup=gold"}},
	"docs/tasks/statefulsets.md": {claims: "data-db-0 data-db-1", labels: map[string]string{"app": "db"}, workload: true, names: []string{"--to data-db-1 ", "--to data-db-1 --size 1Gi "}},
	"docs/tasks/tiers.md":        {schedules: []string{"my-database"}},
	"docs/tasks/try-a-schedule.md": {before: map[string]string{"simulate": "cat > nightly.yaml <<'END'\n" +
		"{apiVersion: snapshots.mapcontroller.dev/v1alpha1, kind: SnapshotSchedule, metadata: {name: nightly}, " +
		"spec: {schedule: '30 2 * * *', snapshotTTL: 31d}}\nEND"}},
	"docs/tasks/verify.md":                              {schedules: []string{"nightly"}, names: []string{"NAME", "SNAPSHOT"}},
	"docs/tasks/virtual-machines.md":                    {claims: "web-root web-data", apply: true, group: true, before: map[string]string{"restore": protected}},
	"docs/tasks/when-a-driver-fails.md":                 {schedules: []string{"nightly"}, names: []string{"volumesnapshotcontent NAME", "volumesnapshotcontent CONTENT"}},
	"docs/tasks/whole-cluster.md":                       {fleet: true},
	"docs/runbooks/snapshotscheduleclusternotready.md":  gold,
	"docs/runbooks/snapshotscheduleclustersuspended.md": gold,
	"docs/runbooks/snapshotscheduledataretained.md": {before: map[string]string{"delete volumesnapshotcontent": "kubectl patch volumesnapshotcontent CONTENT " +
		"--type=merge -p '{\"spec\":{\"deletionPolicy\":\"Retain\"}}'\nkubectl delete volumesnapshot SNAPSHOT"}},
}

// typedElsewhere have specs of their own.
var typedElsewhere = []string{"docs/learn/quickstart.md", "docs/learn/tutorial.md", "docs/tasks/adopt.md", "docs/tasks/delete-a-schedule.md", "docs/tasks/hold.md"}

var (
	block    = regexp.MustCompile("(?ms)^( *)(<!-- not run: [^\n]+ -->\n *)?```sh\n(.*?)^ *```$")
	manifest = regexp.MustCompile("(?ms)^ *```yaml\n(apiVersion: snapshots.mapcontroller.dev/.*?)^ *```$")
	// Names of snapshots and volumes, and times, that a page shows.
	anySnapshot = regexp.MustCompile(`\b[a-z0-9-]+-2026\d{10}-[a-z0-9]{10}\b|<snapshot>`)
	anyVolume   = regexp.MustCompile(`\bpvc-[0-9a-f]{8}-[0-9a-f-]{27}|\bVOLUME\b`)
	anyTime     = regexp.MustCompile(`\b2026-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	shop        = regexp.MustCompile(`\bshop(["\s/]|$)`)
	files       = regexp.MustCompile(`-f ([\w-]+)\.yaml`)
	// asks matches commands that ask, and finds matches those whose exit code 1 says that they found something, or nothing.
	asks  = regexp.MustCompile(`(?m)^(kubectl snapsched (?:rollback|migrate) [^#\n]*?)\s*(#.*)?$`)
	finds = regexp.MustCompile(`(?m)^([^#\n]*(?:--fail-on-|snapsched doctor|\| grep )[^#\n]*?)\s*(#.*)?$`)
)

// userPages are the pages for users that show commands, with the blocks that are run.
func userPages() map[string][]string {
	all := map[string][]string{}
	add := func(name string) {
		text := string(suite.Must(os.ReadFile(filepath.Join(root, name))))
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			if m[2] == "" {
				all[name] = append(all[name], strings.ReplaceAll("\n"+m[3], "\n"+m[1], "\n")[1:])
			}
		}
	}
	add("README.md")
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		// The examples of a command's page are those of its help.
		if filepath.Ext(name) == ".md" && !strings.HasPrefix(name, "docs/contribute/") && !strings.HasPrefix(name, "docs/reference/cli/") {
			add(name)
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	for _, name := range typedElsewhere {
		delete(all, name)
	}
	return all
}

// Whatever a page shows is run, unless a comment before it says what it needs: <!-- not run: needs a registry -->.
var _ = Describe("Who types all commands of a page", Ordered, ContinueOnFailure, func() {
	var plugin string
	BeforeAll(func(ctx context.Context) {
		plugin = buildPlugin(ctx)
		cluster.Start(ctx)
	}, NodeTimeout(3*time.Minute))

	pages := userPages()
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		It("finds that they work: "+page, func(ctx context.Context) {
			e := environments[page]
			if e.claims == "" {
				e.claims = "pgdata"
			}
			if len(e.schedules) == 0 && !e.apply {
				e.schedules = []string{"nightly"}
			}
			if e.group && !hasGroups() {
				Skip("this release of external-snapshotter has no version v1 of group snapshots")
			}
			p, blocks := e.open(ctx, plugin, page), pages[page]
			if e.order == nil {
				for i := range blocks {
					e.order = append(e.order, i)
				}
			}
			for _, i := range e.order {
				p.run(ctx, e, blocks[i])
			}
		}, NodeTimeout(3*time.Minute))
	}

	It("knows of each page what it needs", func() {
		for page := range environments {
			Expect(pages).To(HaveKey(page), "it has no commands")
		}
	})
})

// open makes what a page expects to find.
func (e environment) open(ctx context.Context, plugin, page string) *typist {
	GinkgoHelper()
	r := newReader(ctx, plugin)
	p := &typist{reader: r, text: string(suite.Must(os.ReadFile(filepath.Join(root, page))))}
	claims := len(strings.Fields(e.claims))
	p.claim = strings.Fields(e.claims)[claims-1]
	if e.workload {
		labels := map[string]string{"app": "db"}
		volume := corev1.Volume{Name: "data"}
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: p.claim}
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "db"}, Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: appsv1.ParallelPodManagement,
			Template: podTemplate(labels, volume),
		}}
		if e.labels != nil {
			set.Spec.Template = podTemplate(labels, corev1.Volume{})
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*builders.Claim("", "data", e.labels)}
			e.claims = ""
		}
		create(ctx, set)
	}
	for name := range strings.FieldsSeq(e.claims) {
		create(ctx, builders.Claim(r.namespace, name, e.labels))
	}
	for _, name := range e.schedules {
		create(ctx, builders.Schedule(r.namespace, name, hourly))
	}
	class := "class-of-" + r.namespace
	for _, name := range []string{class, class + "-2"} {
		create(ctx, &snapshotv1.VolumeSnapshotClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Driver: name + ".example.com", DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
		})
	}
	p.names = append([]string{}, e.names...)
	p.names = append(p.names, "CLASS", class, "ROOT", suite.Must(filepath.Abs(root)))
	if e.group {
		create(ctx, &groupv1.VolumeGroupSnapshotClass{
			ObjectMeta: metav1.ObjectMeta{Name: class}, Driver: class + ".example.com", DeletionPolicy: "Delete",
		})
	}
	if e.fleet {
		DeferCleanup(func() { kubectl("delete", "csnapsched", "gold", "--ignore-not-found") })
	}
	if p.gold = e.fleet && !strings.Contains(p.text, "kubectl apply -f gold.yaml"); p.gold {
		p.types(ctx, "kubectl apply -f "+suite.Must(filepath.Abs(root))+"/hack/demo/fleet.yaml\nkubectl label namespace "+r.namespace+" backup=gold")
		p.types(ctx, "kubectl wait csnapsched gold --for=condition=Ready --timeout=60s")
	}
	if e.apply && !strings.Contains(p.text, "kubectl apply -f") {
		p.write("applied", manifest.FindStringSubmatch(p.text)[1])
		p.types(ctx, "kubectl apply -f applied.yaml")
	}
	if e.guarded {
		liftGuardrails(ctx)
	}
	if e.cleanup != "" {
		DeferCleanup(func(ctx context.Context) { p.types(ctx, p.here(ctx, e.cleanup)) })
	}
	if n := len(e.schedules); n > 0 {
		if p.gold {
			n++
		}
		eventuallySnapshots(ctx, r.namespace, n*claims)
		nextSecond(ctx)
	}
	p.at = time.Now().UTC().Format(time.RFC3339)
	return p
}

// typist is a reader of one page.
type typist struct {
	*reader
	text, at, volume, content string
	names                     []string
	// gold is set if there is the ClusterSnapshotSchedule before the page is read.
	gold bool
}

func (p *typist) write(name, text string) {
	GinkgoHelper()
	Expect(os.WriteFile(filepath.Join(p.folder, name+".yaml"), []byte(text), 0o600)).To(Succeed())
}

// run types a block of a page, with what exists here in the place of what the page names.
func (p *typist) run(ctx context.Context, e environment, commands string) {
	GinkgoHelper()
	if e.workload {
		p.volume = cmp.Or(p.types(ctx, "kubectl get pvc "+p.claim+" --ignore-not-found -o jsonpath='{.spec.volumeName}'"), p.volume)
	}
	for containing, first := range e.before {
		if strings.Contains(commands, containing) {
			p.types(ctx, p.here(ctx, first))
		}
	}
	for _, m := range files.FindAllStringSubmatch(commands, -1) {
		if _, err := os.Stat(filepath.Join(p.folder, m[1]+".yaml")); err == nil || strings.Contains(commands, "> "+m[1]+".yaml") {
			continue
		}
		p.file(ctx, m[1])
	}
	p.types(ctx, p.here(ctx, commands))
}

// file writes the manifest of a name that the page shows, or else the schedule of that name.
func (p *typist) file(ctx context.Context, name string) {
	GinkgoHelper()
	all := manifest.FindAllStringSubmatch(p.text, -1)
	for _, m := range all {
		if strings.Contains(m[1], "\n  name: "+name+"\n") || name == "schedule" {
			p.write(name, m[1])
			return
		}
	}
	switch name {
	case "gold":
		p.write(name, string(suite.Must(os.ReadFile(filepath.Join(root, "hack/demo/fleet.yaml")))))
	default:
		p.types(ctx, fmt.Sprintf("kubectl get snapsched %s -o yaml > %s.yaml", name, name))
	}
}

func (p *typist) here(ctx context.Context, commands string) string {
	GinkgoHelper()
	for i := 0; i < len(p.names); i += 2 {
		commands = inWords(p.names[i]).ReplaceAllLiteralString(commands, p.names[i+1])
	}
	if p.content == "" && strings.Contains(commands, " CONTENT") {
		p.content = *cluster.Snapshots(ctx, p.namespace)[0].Status.BoundVolumeSnapshotContentName
	}
	commands = strings.ReplaceAll(commands, " CONTENT", " "+p.content)
	snapshot := "SNAPSHOT"
	if groups := groupNames(ctx, p); len(groups) > 0 {
		snapshot = groups[0]
	}
	commands = anySnapshot.ReplaceAllLiteralString(commands, snapshot)
	commands = anyVolume.ReplaceAllLiteralString(commands, p.volume)
	commands = anyTime.ReplaceAllString(commands, p.at)
	commands = shop.ReplaceAllString(commands, p.namespace+"$1")
	commands = regexp.MustCompile(`\bNAMESPACE\b`).ReplaceAllString(commands, p.namespace)
	commands = regexp.MustCompile(`\bSCHEDULE\b`).ReplaceAllString(commands, "nightly")
	commands = regexp.MustCompile(`([ =])PVC\b`).ReplaceAllString(commands, "${1}"+p.claim)
	commands = asks.ReplaceAllStringFunc(commands, func(line string) string {
		if m := asks.FindStringSubmatch(line); !strings.Contains(line, "--dry-run") {
			return m[1] + " --yes"
		}
		return line
	})
	return finds.ReplaceAllString(commands, "$1 || [ $$? -eq 1 ]")
}

// inWords matches a text where it is no part of a longer word.
func inWords(text string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(text)
	if regexp.MustCompile(`^\w+$`).MatchString(text) {
		pattern = `\b` + pattern + `\b`
	}
	return regexp.MustCompile(pattern)
}

// groupNames are the group snapshots of a page about groups.
func groupNames(ctx context.Context, p *typist) (all []string) {
	if strings.Contains(p.text, "restore shop-db-") {
		for _, g := range groupSnapshots(ctx, p.namespace) {
			all = append(all, g.Name)
		}
		slices.Reverse(all)
	}
	return all
}
