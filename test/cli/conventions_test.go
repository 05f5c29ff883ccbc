// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli"
)

// arguments says what the arguments of each command are.
var arguments = map[string]string{
	"status": "schedule", "list": "schedule", "timeline": "schedule", "preview": "schedule", "snapshot": "schedule", "confirm": "schedule",
	"suspend": "schedule", "resume": "schedule",
	"why": "snapshot", "restore": "snapshot", "verify": "snapshot", "hold": "snapshot", "unhold": "snapshot", "release": "snapshot",
	"rollback": "workload", "coverage": "", "doctor": "", "report": "", "simulate": "", "migrate": "tool",
}

// eachCommand calls a function with a new command of each name.
func eachCommand(do func(cmd *cobra.Command)) {
	GinkgoHelper()
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}
	found := 0
	for _, cmd := range cli.NewCommand(streams, clock.RealClock{}).Commands() {
		if !cmd.Hidden && cmd.GroupID != "" {
			found++
			Expect(arguments).To(HaveKey(cmd.Name()))
			do(cmd)
		}
	}
	Expect(found).To(Equal(len(arguments)))
}

// acts returns whether a command changes something.
func acts(cmd *cobra.Command) bool { return cmd.GroupID == "act" }

var _ = Describe("conventions", func() {
	// Contract: CLI-53.
	It("names what a command is about in one way", func() {
		eachCommand(func(cmd *cobra.Command) {
			name, flags := cmd.Name(), cmd.LocalNonPersistentFlags()
			takes := slices.Contains([]string{"restore", "verify", "hold", "unhold"}, name)
			Expect(flags.Lookup("schedule") != nil).To(Equal(takes), name+" --schedule")
			Expect(strings.Contains(cmd.Use, "NAME")).To(Equal(arguments[name] == "schedule" || takes), cmd.Use)
			Expect(strings.Contains(cmd.Use, "SNAPSHOT")).To(Equal(arguments[name] == "snapshot" || name == "rollback"), cmd.Use)
			flags.VisitAll(func(flag *pflag.Flag) {
				Expect(flag.Name).NotTo(BeElementOf("cluster", "user", "context", "at", "name", "all-clusters", "apply"), name)
				short := map[string]string{"A": "all-namespaces", "l": "selector"}
				if long := short[flag.Shorthand]; long != "" {
					Expect(flag.Name).To(Equal(long), name)
				}
				Expect(slices.Contains([]string{"all-namespaces", "selector"}, flag.Name) && short[flag.Shorthand] == "").To(BeFalse(), name)
			})
		})
	})

	// Contract: CLI-52.
	It("reads and prints durations in one grammar", func() {
		eachCommand(func(cmd *cobra.Command) {
			cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
				what := cmd.Name() + " --" + flag.Name
				of := slices.Contains([]string{"timeout", "drill-timeout", "within", "for"}, flag.Name)
				if !of {
					Expect(flag.Value.Type()).NotTo(Equal("duration"), what)
					return
				}
				Expect(flag.Value.Type()).To(Equal("duration"), what)
				Expect(flag.Value.Set("36h")).To(Succeed(), what)
				Expect(flag.Value.String()).To(Equal("1d12h"), what)
				for _, text := range []string{"5", "1.5h", "50ms", "-1h"} {
					Expect(flag.Value.Set(text)).To(MatchError(ContainSubstring("write for example 90s, 6h, 10d or 1d12h")), what)
				}
				if flag.Name == "timeout" {
					Expect(flag.Value.Set("0")).To(Succeed(), what)
				} else {
					Expect(flag.Value.Set("0")).NotTo(Succeed(), what)
				}
			})
		})
	})

	// Contract: CLI-51.
	It("can try out everything that changes something", func() {
		several := []string{"verify", "rollback", "migrate"}
		eachCommand(func(cmd *cobra.Command) {
			flag := cmd.LocalNonPersistentFlags().Lookup("dry-run")
			Expect(flag != nil).To(Equal(acts(cmd)), cmd.Name())
			if flag == nil {
				return
			}
			Expect(flag.NoOptDefVal).To(Equal("client"), cmd.Name())
			Expect(flag.DefValue).To(Equal("none"), cmd.Name())
			Expect(flag.Value.Set("true")).To(MatchError("use one of none, client, server"), cmd.Name())
			Expect(flag.Value.Set("client")).To(Succeed(), cmd.Name())
			Expect(flag.Value.Set("server") == nil).NotTo(Equal(slices.Contains(several, cmd.Name())), cmd.Name())
		})
	})

	// Contract: CLI-54.
	It("lists the exit codes in each help", func() {
		eachCommand(func(cmd *cobra.Command) {
			help := strings.Join(strings.Fields(cmd.Long), " ")
			Expect(help).To(MatchRegexp(`Exit codes: 0 done; (1 .*; )?2 an error, or wrong usage; (3 .*; )?130 interrupted\.`), cmd.Name())
			found := slices.Contains([]string{"coverage", "doctor", "preview", "report", "snapshot", "verify"}, cmd.Name())
			Expect(strings.Contains(help, "0 done; 1 ")).To(Equal(found), cmd.Name())
			late := cmd.LocalNonPersistentFlags().Lookup("timeout") != nil || cmd.Name() == "verify"
			Expect(strings.Contains(help, "wrong usage; 3 ")).To(Equal(late), cmd.Name())
		})
	})

	// Contract: CLI-56.
	It("has the same formats in all commands, and a help of 80 columns", func() {
		none := []string{"rollback", "migrate"} // which print a plan, or a script
		eachCommand(func(cmd *cobra.Command) {
			flag := cmd.LocalNonPersistentFlags().Lookup("output")
			Expect(flag != nil).NotTo(Equal(slices.Contains(none, cmd.Name())), cmd.Name())
			if flag != nil {
				Expect(flag.Shorthand).To(Equal("o"))
				Expect(flag.Usage).To(And(ContainSubstring("json"), ContainSubstring("jsonpath=…, custom-columns=…, go-template=…")), cmd.Name())
			}
			asks := slices.Contains([]string{"rollback", "migrate", "doctor"}, cmd.Name())
			Expect(cmd.LocalNonPersistentFlags().Lookup("yes") != nil).To(Equal(asks), cmd.Name())

			var out bytes.Buffer
			streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out}
			GinkgoT().Setenv("COLUMNS", "80")
			Expect(cli.Run(ctx, []string{cmd.Name(), "--help"}, streams, clock.RealClock{})).To(BeZero())
			for line := range strings.Lines(out.String()) {
				Expect(len([]rune(strings.TrimSuffix(line, "\n")))).To(BeNumerically("<=", 80), line)
			}
		})
	})

	Context("with one schedule", Ordered, ContinueOnFailure, func() {
		var (
			env   *environment
			name  string // of the newest snapshot
			start = ago(2 * time.Hour)
		)
		BeforeAll(func() {
			env = newEnvironment()
			s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "3d"})
			all := env.createSnapshots(s, env.createClaim("data"), time.Hour, 30)
			name = all[0].Name
			class := &storagev1.StorageClass{Provisioner: env.namespace + ".csi"}
			class.Name = env.namespace
			Expect(api.Create(ctx, class)).To(Succeed())
			DeferCleanup(func() { Expect(api.Delete(ctx, class)).To(Succeed()) })
			for _, v := range all {
				createContent(v, class.Provisioner)
				put(time.Time{}, v)
			}
		})

		// Contract: CLI-53.
		It("takes TYPE/NAME and the form of -o name wherever a name is", func() {
			const group = ".snapshots.mapcontroller.dev/"
			for _, prefix := range []string{"", "snapsched/", "snapshotschedules/", "snapshotschedule" + group, "snapsched" + group} {
				for _, line := range [][]string{
					{"status"}, {"list"}, {"timeline"}, {"preview"}, {"snapshot", "--dry-run"}, {"confirm", "--dry-run"}, {"suspend", "--dry-run"},
					{"resume", "--dry-run"}, {"preview", "--delete"}, {"hold", "--dry-run", "--schedule"}, {"unhold", "--dry-run", "--schedule"},
					{"restore", "--dry-run", "--schedule"},
				} {
					env.succeeds(append(line, prefix+"nightly")...)
				}
			}
			const snapshots = "volumesnapshot.snapshot.storage.k8s.io/"
			for _, prefix := range []string{"", "vs/", "volumesnapshot/", snapshots} {
				for _, line := range [][]string{
					{"why"}, {"restore", "--dry-run"}, {"hold", "--dry-run"}, {"unhold", "--dry-run"}, {"release", "--dry-run=server"},
				} {
					env.succeeds(append(line, prefix+name)...)
				}
			}
			for _, line := range [][]string{
				{"snapshot", "--dry-run"}, {"restore", "--dry-run"}, {"hold", "--dry-run"}, {"unhold", "--dry-run"}, {"timeline"}, {"list"},
			} {
				env.succeeds(append(line, "--pvc", "pvc/data")...)
				env.succeeds(append(line, "--pvc=persistentvolumeclaim/data")...)
				Expect(env.fails(append(line, "--pvc", "pod/data")...)).To(ContainSubstring("pod/data is not a PersistentVolumeClaim: write data, or pvc/data"))
			}
			for _, command := range []string{"status", "list", "timeline", "preview", "snapshot", "confirm", "suspend", "resume"} {
				Expect(env.fails(command, "pod/nightly")).To(ContainSubstring("pod/nightly is not a SnapshotSchedule"))
			}
		})

		// Contract: CLI-53.
		It("takes the only schedule where nothing else changes", func() {
			Expect(env.succeeds("preview")).To(ContainSubstring(env.namespace + "/nightly as it is"))
			Expect(env.succeeds("snapshot", "--dry-run")).To(HaveSuffix("/nightly requested 1 snapshot (dry run)\n"))
			for _, command := range []string{"status", "list", "timeline"} {
				Expect(env.succeeds(command)).To(ContainSubstring("nightly"))
			}
			for _, command := range []string{"confirm", "suspend", "resume", "restore", "verify", "hold", "unhold", "release", "rollback"} {
				env.fails(command)
			}
			Expect(newEnvironment().fails("snapshot")).To(MatchRegexp("there is no SnapshotSchedule in namespace env-.*"))
			two := newEnvironment()
			for _, name := range []string{"a", "b"} {
				two.createSchedule(name, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
			}
			Expect(two.fails("preview")).To(ContainSubstring("specify the SnapshotSchedule: namespace " + two.namespace + " has a, b"))
		})

		// Contract: CLI-4.
		It("takes a point in time in all its forms, and none in the future", func() {
			day := start.Local()
			for _, line := range [][]string{
				{"restore", "--pvc", "data", "--dry-run"}, {"restore", "--schedule", "nightly", "--dry-run"}, {"list", "--pvc", "data"},
			} {
				for _, at := range []string{start.Format(time.RFC3339), "2h", "1h30m"} {
					env.succeeds(append(line, "--as-of", at)...)
				}
				local := env.run(append(line, "--as-of", start.Local().Format("2006-01-02 15:04"))...)
				Expect(local.code).To(BeZero(), local.errOut)
				Expect(local.errOut).To(ContainSubstring(start.Local().Format(" is 2006-01-02T15:04:00Z07:00 (MST)")))
				Expect(env.run(append(line, "--as-of", day.Format(time.DateOnly))...).errOut).To(ContainSubstring("T00:00:00"))
			}
			for _, line := range [][]string{
				{"restore", "--pvc", "data", "--dry-run"}, {"verify", "--pvc", "data", "--dry-run", "--image", "x", "--allow-retain"},
				{"rollback", "--pvc", "data", "--dry-run"}, {"list"},
			} {
				for _, at := range []string{"2099-01-01T00:00:00Z", "2099-01-01 11:00", "2099-01-01"} {
					Expect(env.fails(append(line, "--as-of", at)...)).To(ContainSubstring("is in the future"))
				}
				Expect(env.fails(append(line, "--as-of", "7")...)).To(ContainSubstring("invalid --as-of"))
			}
		})

		// Contract: CLI-52.
		It("ends the whole command at --timeout, its reads included", func() {
			other := newEnvironment()
			for _, path := range []string{"^/apis?(/[^/]+(/v[^/]+)?)?$", "/persistentvolumeclaims$"} { // what the program discovers, and reads
				hanging := regexp.MustCompile(path)
				hangs := env.as(startProxy(func(r *http.Request, send roundTripper) (*http.Response, error) {
					if r.Method == http.MethodGet && hanging.MatchString(r.URL.Path) {
						<-r.Context().Done()
					}
					return send(r)
				}))
				for _, line := range [][]string{
					{"snapshot", "--pvc", "data", "--wait"}, {"snapshot", "nightly", "--hold", "1d"}, {"snapshot", "nightly"}, {"restore", name},
					{"restore", name, "--wait"}, {"restore", "--pvc", "data", "--to-namespace", other.namespace},
				} {
					var r result
					Eventually(hangs.start(append(line, "--timeout", "1s")...)).WithTimeout(20*time.Second).Should(Receive(&r), "%q", line)
					Expect(r.code).To(Equal(3), r.errOut)
					Expect(r.errOut).To(ContainSubstring("timed out after 1s"))
				}
			}
		})

		// Contract: CLI-52.
		It("says of a write whose answer comes too late that it may have been carried out", func() {
			for _, tc := range []struct{ line, path, want string }{
				{"snapshot nightly --wait", "/snapshotschedules/nightly$", "SnapshotSchedule nightly may have been changed: the answer has not come\n" +
					"  If so, the snapshots are taken, but nobody waits for them, marks or holds them"},
				// Last: the PVC that it creates is never bound, of which a snapshot of the schedule would warn.
				{"restore " + name + " --storage-class " + env.namespace, "/persistentvolumeclaims$",
					"PersistentVolumeClaim " + name + " may have been created: the answer has not come"},
			} {
				slow := regexp.MustCompile(tc.path)
				hangs := env.as(startProxy(func(r *http.Request, send roundTripper) (*http.Response, error) {
					answer, err := send(r)
					if (r.Method == http.MethodPatch || r.Method == http.MethodPost) && slow.MatchString(r.URL.Path) {
						<-r.Context().Done()
					}
					return answer, err
				}))
				var r result
				// The reads before the write count, too, and a busy machine takes a second for them.
				Eventually(hangs.start(strings.Fields(tc.line+" --timeout 5s")...)).WithTimeout(20*time.Second).Should(Receive(&r), "%q", tc.line)
				Expect(r.code).To(Equal(3), r.errOut)
				Expect(r.errOut).To(And(HavePrefix("error: timed out after 5s: "), ContainSubstring(tc.want)))
			}
			Expect(env.fails("restore", name, "--storage-class", env.namespace)).To(ContainSubstring("already exists"))
			restored := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name}}
			alter(restored, `{"metadata":{"finalizers":null}}`)
			Expect(api.Delete(ctx, restored)).To(Succeed()) // the other specs look at all PVCs
		})

		// Contract: CLI-51.
		It("has the API server check one write, and no more", func() {
			other := env.succeeds("why", name, "-o", "jsonpath={.name}")
			Expect(other).To(Equal(name))
			for _, line := range [][]string{{"hold", "--all"}, {"unhold", "--pvc", "data"}, {"release", name, name}} {
				Expect(env.fails(append(line, "--dry-run=server")...)).To(ContainSubstring("the API server can check only one: use --dry-run=client"))
			}
			Expect(env.succeeds("hold", name, "--dry-run=server")).To(HaveSuffix(" held (server dry run)\n"))
			Expect(env.succeeds("hold", name, "--dry-run", "-o", "jsonpath={.metadata.annotations}")).To(ContainSubstring("hold"))
			Expect(env.succeeds("unhold", name)).To(HaveSuffix(" unchanged\n"), "nothing was written")
		})

		// Contract: CLI-56.
		It("prints by a template, and names namespace and schedule in each row", func() {
			Expect(env.succeeds("status", "-o", "custom-columns=NAME:.name,IN:.namespace", "--no-headers")).To(
				MatchRegexp(`^nightly +` + env.namespace + `\n$`))
			Expect(env.succeeds("coverage", "-o", "custom-columns=PVC:.name,WHY:.nothing")).To(MatchRegexp(`^PVC +WHY\ndata +<none>\n$`))
			Expect(env.succeeds("timeline", "-o", "go-template={{range .items}}{{.name}}{{end}}")).To(Equal("nightly"))
			Expect(env.succeeds("preview", "-o", "jsonpath={.items[0].name}")).To(Equal("nightly"))
			for _, format := range []string{"jsonpath", "go-template=", "custom-columns"} {
				Expect(env.fails("status", "-o", format)).To(ContainSubstring("needs a template"))
			}
			Expect(env.fails("status", "-o", "custom-columns=NAME")).To(ContainSubstring("is not a column such as NAME:.name"))
			row := env.namespace + ` +(nightly +data|data +Protected +nightly) `
			Expect(env.succeeds("status", "-A", "--no-headers")).To(MatchRegexp(row))
			Expect(env.succeeds("coverage", "-A", "--no-headers")).To(MatchRegexp(row))
		})
	})
})
