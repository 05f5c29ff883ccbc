// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func TestMain(m *testing.M) { clitest.Main(m) }

const nightly = `
apiVersion: snapshots.mapcontroller.dev/v1alpha1
kind: SnapshotSchedule
metadata: {name: nightly, namespace: shop}
spec:
  selector: {matchLabels: {app: db}}
  snapshotInterval: 6h
  snapshotTTL: 3d
  retention: {keep: {daily: 7}}
`

// run runs the command on a file, where no cluster is.
func run(t *testing.T, file string, args ...string) (string, error) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	streams, in, out, _ := genericiooptions.NewTestIOStreams()
	in.WriteString(file)
	clock := clocktesting.NewFakePassiveClock(clitest.Start)
	cmd := New(&term.Factory{IOStreams: streams, Config: genericclioptions.NewConfigFlags(true), Clock: clock})
	cmd.SetArgs(append([]string{"-f", "-"}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// Contract: CLI-45.
func TestSimulate(t *testing.T) {
	out, err := run(t, nightly, "--for", "30d", "--pvcs", "2", "--gone", "1@20d", "--fail", "1d@10d")
	if err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, func(b *bytes.Buffer) error { _, err := b.WriteString(out); return err }, `
shop/nightly: every 6h, PVCs with app=db, TTL 3d, daily: 7

PVC           16d     2w                           1w           4d      2d  1d now        NEXT COUNT
pvc-1         ·············································d···d····d·●●d●●●d●●●dd     6h, 12h    15
pvc-2 (gone)  d···d···d···d···d····d···d··········································           -     7

● kept  d daily

As of 2026-01-31T00:00:00Z, after 30d.

PVC     AT MOST   AT THE END   TAKEN   OLDEST   RECOVERY POINT AT WORST
pvc-1   17        15           118     5d6h     30h old, after 11d
pvc-2   17        7            77      16d      30h old, after 11d

AFTER   SNAPSHOTS   OLDEST   RECOVERY POINT
2h      2           120m     120m
6h      4           6h       0s
12h     6           12h      0s
1d      10          24h      0s
2d      18          2d       0s
4d      26          3d6h     0s
1w      30          5d6h     0s
2w      30          6d6h     0s
end     22          16d      0s

Kept at the end by rule: KeptDaily 14, WithinTTL 8.
Limit of vSphere (csi.vsphere.vmware.com): 3 snapshots of a volume, broken after 18h.
Problem after 10d: pvc-1: SnapshotFailed: VolumeSnapshot pvc-1-20260111000000-ibvrox6ivy is not ready 1h0m0s after it was created, and no error is reported; the logs of the snapshot controller and of the driver's csi-snapshotter may say why
Problem after 10d: pvc-1: DeletionStuck: VolumeSnapshot pvc-1-20260108000000-qt3ekjtzmp has been terminating for more than 1h0m0s: the storage does not finish the deletion
`)
}

func TestSimulateReadsItsFlags(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no PVC":                {[]string{"--pvcs", "0"}, "--pvcs 0: write a number from 1 to 1000"},
		"more gone than are":    {[]string{"--pvcs", "2", "--gone", "3@1d"}, "--gone deletes more than the 2 PVCs: raise --pvcs"},
		"gone without a time":   {[]string{"--gone", "3"}, `invalid --gone "3": write how many PVCs are deleted, and after which time, such as 1@60d`},
		"an outage in words":    {[]string{"--fail", "a day@1w"}, `invalid --fail "a day@1w": write for how long the storage fails, and after which time, such as 3d@30d`},
		"a number":              {[]string{"--for", "30"}, `"--for" flag: duration "30"`},
		"an unknown driver":     {[]string{"--driver", "x.example.com"}, "nothing is known of driver x.example.com: omit --driver, or use one of ebs.csi.aws.com, "},
		"one without snapshots": {[]string{"--driver", "csi.hetzner.cloud"}, "Hetzner (csi.hetzner.cloud) takes no snapshots: "},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := run(t, nightly, test.args...); err == nil || !strings.Contains(err.Error(), test.want) || out != "" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for name, test := range map[string]struct{ file, want string }{
		"an invalid spec":  {strings.Replace(nightly, "6h", "6h\n  schedule: 0 1 * * *", 1), "SnapshotSchedule nightly: the spec is invalid: "},
		"an unknown field": {nightly + "  retain: 3\n", `unknown field "spec.retain"`},
		"no schedule":      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "no SnapshotSchedule and no ClusterSnapshotSchedule in"},
		"an unknown field of a template": {
			"apiVersion: snapshots.mapcontroller.dev/v1alpha1\nkind: ClusterSnapshotSchedule\nmetadata: {name: gold}\nspec: {template: {spec: {snapshotInterval: 6h, retain: 3}}}\n",
			`ClusterSnapshotSchedule gold: strict decoding error: unknown field "spec.template.spec.retain"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := run(t, test.file); err == nil || !strings.Contains(err.Error(), test.want) || out != "" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// The operator keeps to the limit of the driver, as if its class was annotated, and says what it lacks.
//
// Contract: CLI-45.
func TestSimulateKeepsToTheLimitsOfADriver(t *testing.T) {
	out, err := run(t, nightly, "--driver", "csi.vsphere.vmware.com", "--for", "30d", "-o", "json")
	var got struct{ Items []result }
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || len(got.Items) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	r := got.Items[0]
	if r.Claims[0].AtMost != 3 || len(r.Limits) != 0 || len(r.Problems) != 1 || r.Problems[0].Reason != v1alpha1.ReasonVolumeLimit {
		t.Errorf("%+v", r)
	}
}

// A pipeline that bounds the recovery point must fail for a schedule that takes nothing.
func TestSimulateOfNothingIsNotGood(t *testing.T) {
	in := input{from: clitest.Start, length: 30 * term.Day, claims: 1}
	s := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "3d", Suspend: true})
	if r, err := in.run(t.Context(), s, work); err != nil || r.Claims[0].Behind != int64(30*term.Day/time.Second) || r.Incomplete {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAPVCWithoutARecoveryPointIsBehindSinceItsStart(t *testing.T) {
	p := pvc{from: clitest.Start}
	p.behind(clitest.Start.Add(term.Day), &snapshots.Judgment{Series: retention.Series{Claim: retention.Selected}})
	if p.Behind != int64(term.Day/time.Second) {
		t.Errorf("it is %d s behind", p.Behind)
	}
}

// What would take too long ends earlier, for all PVCs at the same time.
func TestSimulateOfTooMuchEndsEarlier(t *testing.T) {
	in := input{from: clitest.Start, length: 30 * term.Day, claims: 20}
	r, err := in.run(t.Context(), clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1m", SnapshotTTL: "1h"}), 100_000)
	if err != nil || !r.Incomplete || len(r.Claims) != 20 || r.Until.Sub(r.From.Time) >= 30*term.Day {
		t.Fatalf("%+v, %v", r, err)
	}
	if last := r.Samples[len(r.Samples)-1]; last.Snapshots != 20*r.Claims[0].AtEnd || r.Claims[0].AtEnd < 60 {
		t.Errorf("%+v", r)
	}
}

// A driver whose limit no class states breaks, at the time of the first snapshot too many.
func TestSimulateNamesTheLimitsThatBreak(t *testing.T) {
	out, err := run(t, strings.Replace(nightly, "6h", "5m", 1), "--for", "2d", "-o", "json")
	var got struct{ Items []result }
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || len(got.Items) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	limits := map[string]time.Duration{}
	for _, l := range got.Items[0].Limits {
		limits[l.Storage] = -1
		if l.Time != nil {
			limits[l.Storage] = l.Time.Sub(clitest.Start)
		}
	}
	for storage, want := range map[string]time.Duration{
		"vSphere": 15 * time.Minute, "Google Persistent Disk": -1, "DigitalOcean": -1, "CephFS": 100 * 5 * time.Minute,
	} {
		if limits[storage] != want {
			t.Errorf("%s breaks at %v, want %v", storage, limits[storage], want)
		}
	}
	if _, found := limits["Amazon EBS"]; found {
		t.Error("15 s lie between two snapshots of Amazon EBS")
	}
}

func TestSimulateAClusterSnapshotScheduleAndGroups(t *testing.T) {
	out, err := run(t, `
apiVersion: snapshots.mapcontroller.dev/v1alpha1
kind: ClusterSnapshotSchedule
metadata: {name: gold}
spec:
  namespaceSelector: {}
  template:
    spec:
      selector: {matchLabels: {app: db}}
      group: {byLabel: app.kubernetes.io/instance}
      snapshotInterval: 1d
      snapshotTTL: 5d
`, "--for", "30d", "--pvcs", "3", "--gone", "1@10d", "--fail", "2d@15d", "-o", "json")
	var got struct{ Items []result }
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || len(got.Items) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	r := got.Items[0]
	if len(r.Claims) != 1 || r.Schedule != "gold" || r.Claims[0].Taken < 25 || r.Claims[0].AtEnd < 5 || r.Claims[0].Behind != int64(3*term.Day/time.Second) {
		t.Errorf("%+v", r)
	}
}

// What a simulation says adds up.
func TestSimulationsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := input{from: clitest.Start, length: 10 * term.Day, claims: rapid.IntRange(1, 3).Draw(t, "claims")}
		for range rapid.IntRange(0, in.claims).Draw(t, "gone") {
			in.gone = append(in.gone, time.Duration(rapid.IntRange(1, 12*24).Draw(t, "after"))*time.Hour)
		}
		for range rapid.IntRange(0, 2).Draw(t, "outages") {
			from := time.Duration(rapid.IntRange(1, 9*24).Draw(t, "from")) * time.Hour
			in.outages = append(in.outages, outage{from, from + time.Duration(rapid.IntRange(1, 72).Draw(t, "hours"))*time.Hour})
		}
		if d := rapid.SampledFrom(append([]drivers.Driver{{}}, drivers.All...)).Draw(t, "driver"); !d.NoSnapshots && d.Name != "" {
			in.driver = &d
		}
		r, err := in.run(context.Background(), clitest.Schedule("nightly", clitest.DrawSpec(t)), work)
		if err != nil {
			t.Fatal(err)
		}
		atEnd, kept := 0, 0
		for _, c := range r.Claims {
			if atEnd += c.AtEnd; c.AtEnd > c.AtMost || c.Taken-c.Deleted > c.AtEnd || len(c.reached) != c.AtMost {
				t.Errorf("%+v", c)
			}
		}
		for _, n := range r.Kept {
			kept += n
		}
		if last := r.Samples[len(r.Samples)-1]; !r.Incomplete && (kept != atEnd || last.Snapshots < atEnd || len(r.Claims) != in.claims) {
			t.Errorf("%d at the end, %d by rule, %d in the last sample of %d PVCs", atEnd, kept, last.Snapshots, len(r.Claims))
		}
	})
}

// A year of 6h with three PVCs takes a second at most.
func BenchmarkSimulate(b *testing.B) {
	s := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: "6h", SnapshotTTL: "10d", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Daily: 7, Weekly: 4, Monthly: 12}},
	})
	for b.Loop() {
		in := input{from: clitest.Start, length: 365 * term.Day, claims: 3, gone: []time.Duration{60 * term.Day}}
		if _, err := in.run(b.Context(), s, work); err != nil {
			b.Fatal(err)
		}
	}
}

// The example in the help is one that works.
func TestTheSampleCanBeSimulated(t *testing.T) {
	sample, err := os.ReadFile("../../../config/samples/snapshots_v1alpha1_snapshotschedule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, string(sample)); err != nil || !strings.Contains(out, "Kept at the end by rule: ") {
		t.Errorf("%v: %s", err, out)
	}
}
