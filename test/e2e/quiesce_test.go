// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/recording"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// The CronJobs of config/samples/quiesce run the plugin at a moment of the database's choosing. test/deploy runs them as pods, with real
// clients and servers. Here their scripts run with the real plugin and drivers in many states, and with clients that have no database: a
// command of the client's side is run where the real one would, on a line without a delimiter; the rest is written to a log.
const fakeClient = `#!/bin/bash
case "$*" in *--command=*) exit 0 ;; esac
while IFS= read -r line; do
  case "$line" in
    *";"*) echo "$line" >> "$LOG" ;;
    "system "*)
      bash -c "${line#system }"
      if [ -n "$LOSES_SESSION" ]; then exit 1; fi ;;
    *) echo "$line" >> "$LOG" ;;
  esac
done
`

var _ = Describe("a quiesced snapshot", Ordered, func() {
	var plugin string
	BeforeAll(func(ctx context.Context) {
		plugin = buildPlugin(ctx)
		cluster.Start(ctx)
	}, NodeTimeout(3*time.Minute))

	const timeout = 5 * time.Second // until then, the request is written and the snapshots are taken
	suspended := v1alpha1.SnapshotScheduleSpec{Suspend: true, SnapshotInterval: "1h"}
	slow := local.Behavior{Delay: "1s"}
	never := local.Behavior{Refusals: []local.Refusal{{Call: "CreateSnapshot", Code: "UNAVAILABLE", Message: "try again"}}}
	uploads := local.Behavior{Upload: "1h"}

	// run runs the script of a sample in a namespace, and returns its exit code and what the session has run. The lock is held for 30 s at
	// most, or for a time that is given.
	run := func(ctx context.Context, sample, namespace, atMost string, env ...string) (code int, session string) {
		GinkgoHelper()
		text, err := os.ReadFile(filepath.Join(root, "config", "samples", "quiesce", sample+".yaml"))
		Expect(err).NotTo(HaveOccurred())
		job := &batchv1.CronJob{}
		Expect(yaml.Unmarshal(text, job)).To(Succeed())
		dir := GinkgoT().TempDir()
		script := strings.NewReplacer("snapshot db --namespace=my-app ", "snapshot nightly --namespace="+namespace+" ",
			"--timeout=30s", "--timeout="+atMost, "/tmp/", dir+"/").
			Replace(job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args[0])
		for name, program := range map[string]string{
			"mysql": fakeClient, "psql": fakeClient, "kubectl-snapsched": "#!/bin/bash\nexec " + plugin + ` "$@"` + "\n",
		} {
			Expect(os.WriteFile(filepath.Join(dir, name), []byte(program), 0o755)).To(Succeed())
		}
		cmd := exec.CommandContext(ctx, "bash", "-c", script)
		cmd.Env = append(os.Environ(), append(env, "PATH="+dir+":"+os.Getenv("PATH"), "LOG="+dir+"/log")...)
		output, err := cmd.CombinedOutput()
		GinkgoWriter.Printf("%s: %v\n%s", sample, err, output)
		ran, err := os.ReadFile(dir + "/log")
		Expect(err).To(Or(BeNil(), MatchError(os.ErrNotExist)))
		return cmd.ProcessState.ExitCode(), string(ran)
	}
	marked := HaveField("Annotations", Or(HaveKeyWithValue("example.com/quiesced", "yes"), HaveKeyWithValue("example.com/checkpoint", "yes")))

	DescribeTable("is marked if it was cut in time, while the session held the lock",
		func(ctx context.Context, sample, last string, b local.Behavior, code int) {
			namespace := cluster.Namespace(ctx, "quiesce")
			cluster.BoundClaims(ctx, namespace, 2)
			cluster.Schedule(ctx, namespace, suspended)
			cluster.Behave(namespace, b)
			atMost := "30s"
			if code != 0 {
				atMost = timeout.String()
			}
			got, session := run(ctx, sample, namespace, atMost)
			Expect(got).To(Equal(code))
			Expect(strings.TrimSpace(session)).To(HaveSuffix(last), "the lock ends with the session")
			all := cluster.Snapshots(ctx, namespace)
			Expect(all).To(HaveLen(2))
			if code == 0 {
				Expect(all).To(HaveEach(And(marked, HaveField("Status.CreationTime", Not(BeNil())))))
			} else {
				Expect(all).To(HaveEach(Not(marked)))
			}
		},
		Entry("MySQL, a driver that is slow to cut", "mysql", "UNLOCK TABLES;", slow, 0, NodeTimeout(time.Minute)),
		Entry("MySQL, a driver that never cuts", "mysql", "UNLOCK TABLES;", never, 3, NodeTimeout(time.Minute)),
		Entry("MySQL, a driver that uploads for an hour", "mysql", "UNLOCK TABLES;", uploads, 0, NodeTimeout(time.Minute)),
		Entry("PostgreSQL, a driver that is slow to cut", "postgresql", "", slow, 0, NodeTimeout(time.Minute)),
		Entry("PostgreSQL, a driver that never cuts", "postgresql", "", never, 3, NodeTimeout(time.Minute)),
	)

	It("is reported as failed if the session ended before the cut", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "quiesce-lost")
		cluster.BoundClaims(ctx, namespace, 1)
		cluster.Schedule(ctx, namespace, suspended)
		code, session := run(ctx, "mysql", namespace, "30s", "LOSES_SESSION=1")
		Expect(code).To(Equal(1))
		Expect(session).NotTo(ContainSubstring("UNLOCK"))
	}, NodeTimeout(time.Minute))

	It("is waited for as the page shows", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "quiesce-shown")
		cluster.BoundClaims(ctx, namespace, 1)
		cluster.Schedule(ctx, namespace, suspended)
		cluster.Behave(namespace, uploads)
		const args = "snapshot nightly --wait=cut --timeout=30s --mark=example.com/quiesced=yes"
		output := suite.Must(exec.CommandContext(ctx, plugin, append(strings.Fields(args), "-n", namespace)...).Output())
		seen := &recording.Recording{}
		seen.Call(namespace, "shop")
		seen.Ran("kubectl snapsched "+args, string(output))
		Expect(seen.Check("tasks/databases.md", "quiesce")).To(Succeed())
	}, NodeTimeout(time.Minute))

	It("ends within a second after its timeout, and says what may still be cut", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "quiesce-late")
		cluster.BoundClaims(ctx, namespace, 1)
		cluster.Schedule(ctx, namespace, suspended)
		cluster.Behave(namespace, never)
		var requested time.Time // after the time has begun
		kubeconfig := afterWrite(func(_, _, _ string) bool { requested = time.Now(); return true })
		args := strings.Fields("snapshot nightly --wait=cut --timeout=" + timeout.String())
		cmd := exec.CommandContext(ctx, plugin, append(args, "-n", namespace, "--kubeconfig", kubeconfig)...)
		output, err := cmd.CombinedOutput()
		Expect(time.Since(requested)).To(BeNumerically("<", timeout+time.Second))
		Expect(cmd.ProcessState.ExitCode()).To(Equal(3), "%v: %s", err, output)
		Expect(string(output)).To(ContainSubstring("may still be cut, at a time that nobody waits for: " + cluster.Snapshots(ctx, namespace)[0].Name))
	}, NodeTimeout(time.Minute))
})
