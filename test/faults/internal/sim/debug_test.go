package sim

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func desc(o client.Object) string {
	switch o := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		st := "nil"
		if o.Status != nil {
			st = fmt.Sprintf("ready=%v cut=%v err=%v", o.Status.ReadyToUse != nil && *o.Status.ReadyToUse, o.Status.CreationTime, o.Status.Error != nil)
		}
		own := ""
		for _, r := range o.OwnerReferences {
			own += r.Name + "/" + string(r.UID)[:6]
		}
		return fmt.Sprintf("rv=%s del=%v own=%s labels=%v ann=%v %s created=%v", o.ResourceVersion, o.DeletionTimestamp != nil, own, o.Labels, o.Annotations, st, o.CreationTimestamp.UTC().Format("01-02T15:04:05"))
	case *corev1.PersistentVolumeClaim:
		return fmt.Sprintf("claim rv=%s del=%v %s %v", o.ResourceVersion, o.DeletionTimestamp != nil, o.Status.Phase, o.Labels)
	case *v1alpha1.SnapshotSchedule:
		return fmt.Sprintf("rv=%s gen=%d del=%v spec=%+v STATUS %+v", o.ResourceVersion, o.Generation, o.DeletionTimestamp != nil, o.Spec, o.Status)
	}
	return "nil"
}

func TestDebug(t *testing.T) {
	if os.Getenv("SEED") == "" {
		t.Skip()
	}
	seed, _ := strconv.Atoi(os.Getenv("SEED"))
	grep := os.Getenv("GREP")
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	to, _ := strconv.Atoi(os.Getenv("TO"))
	r := Run(uint64(seed))
	for _, v := range r.Violations {
		t.Logf("  %s %v %s (change %d, request %d)", v.Oracle, v.At.Sub(began), v.Message, v.Change, v.Request)
	}
	for _, win := range r.History.Windows {
		t.Logf("window %v", win)
	}
	lastn, _ := strconv.Atoi(os.Getenv("LASTN"))
	atEnd := began.Add((Days + calmDays) * 24 * 3600e9)
	for i, c := range r.History.Changes {
		if d := atEnd.Sub(c.At); lastn > 0 && d > -time.Duration(lastn)*time.Minute && d < time.Duration(lastn)*time.Minute {
			o := c.After
			if o == nil {
				o = c.Before
			}
			t.Logf("END change %d %v req=%d %s %s", i, c.At.Format("01-02T15:04:05.000"), c.Request, o.GetName(), desc(c.After))
		}
		o := c.After
		if o == nil {
			o = c.Before
		}
		if (grep != "" && strings.Contains(o.GetName(), grep)) || (i >= from && i < to) {
			a := "GONE"
			if c.After != nil {
				a = desc(c.After)
			}
			t.Logf("change %d %v req=%d %s %s", i, c.At.Format("01-02T15:04:05.000"), c.Request, o.GetName(), a)
			if c.Request >= 0 {
				q := r.History.Requests[c.Request]
				t.Logf("      by process %d %s %s clock %v", q.Process, q.Verb, q.Name, q.Clock.Format("01-02T15:04:05.000"))
			}
		}
	}
	rf, _ := strconv.Atoi(os.Getenv("RFROM"))
	rt, _ := strconv.Atoi(os.Getenv("RTO"))
	for i := rf; i < rt; i++ {
		q := r.History.Requests[i]
		t.Logf("request %d p%d %v %s %s %s reached=%v code=%d seen=%d clock=%v date=%v", i, q.Process, q.At.Format("01-02T15:04:05.000"), q.Verb, q.Resource, q.Name, q.Reached, q.Code, q.Seen, q.Clock.Format("15:04:05"), q.Date.Format("15:04:05"))
	}
}

func TestStatusStorm(t *testing.T) {
	if os.Getenv("SEED") == "" {
		t.Skip()
	}
	seed, _ := strconv.Atoi(os.Getenv("SEED"))
	r := Run(uint64(seed))
	perDay := map[string]int{}
	for _, q := range r.History.Requests {
		if q.Verb == "patch" && q.Resource == "snapshotschedules/status" {
			perDay[fmt.Sprintf("%s p%d", q.At.Format("01-02"), q.Process)]++
		}
	}
	n := 0
	for k, v := range perDay {
		if v > 300 {
			t.Logf("%s: %d", k, v)
			if n < 3 {
				for i, q := range r.History.Requests {
					if fmt.Sprintf("%s p%d", q.At.Format("01-02"), q.Process) == k && n < 12 && i > 0 {
						n++
						t.Logf("%v %s %s %s %s", q.At, q.Verb, q.Resource, q.Name, q.Body)
					}
				}
			}
		}
	}
}

func TestHunt(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("HUNT"))
	for seed := range uint64(n) {
		found := 0
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Logf("CAUGHT seed %d: panic %v", seed, r)
					found++
				}
			}()
			r := Run(seed)
			for _, v := range r.Violations {
				if found == 0 {
					t.Logf("CAUGHT seed %d: %s %v %s", seed, v.Oracle, v.At.Sub(began), v.Message)
				}
				found++
			}
		}()
		if found > 0 {
			return
		}
	}
	t.Logf("MISSED in %d seeds", n)
}

func TestBase(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("BASE"))
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	for seed := uint64(from); seed < uint64(from+n); seed++ {
		r := Run(seed)
		kinds := map[string]int{}
		for _, v := range r.Open {
			for _, o := range open {
				if strings.Contains(v.Message, o.text) {
					kinds[o.text]++
				}
			}
		}
		fmt.Printf("BASE seed %d: %d changes, %d requests, %d snapshots; open %v\n", seed, len(r.History.Changes), len(r.History.Requests), r.Snapshots, kinds)
		for _, v := range r.Violations {
			fmt.Printf("VIOLATION seed %d: %s %s\n", seed, v.Oracle, v.Message)
		}
	}
}
