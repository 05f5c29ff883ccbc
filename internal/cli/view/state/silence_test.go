// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// writtenAt says that an object was written at a time.
func writtenAt(o client.Object, at time.Time) {
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Time: ptr.To(metav1.NewTime(at))}})
}

// testLease is a lease that an operator renewed at a time.
func testLease(holder string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "backup"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(renewed)),
	}}
}

// lifeCase is a slot of 06:00, or a request of 03:00:01, that is late for so long.
type lifeCase struct {
	late      time.Duration
	requested bool
	change    func(s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, v *snapshotv1.VolumeSnapshot)
	lease     *coordinationv1.Lease
	// ahead is by how much the clock of the user is ahead of the API server's.
	ahead time.Duration
	want  time.Duration
}

func (c *lifeCase) silent() time.Duration {
	now := clitest.Start.Add(6*time.Hour + c.late)
	s, claim := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), clitest.Claim("data", nil)
	s.CreationTimestamp, claim.CreationTimestamp = metav1.NewTime(clitest.Start), metav1.NewTime(clitest.Start)
	s.Status.ObservedGeneration = s.Generation
	if c.requested {
		now = clitest.Start.Add(3*time.Hour + time.Second + c.late)
		s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: clitest.Start.Add(3*time.Hour + time.Second).Format(time.RFC3339)}
	}
	v := clitest.Snapshot(s, claim, clitest.Start)
	if c.change != nil {
		c.change(s, claim, v)
	}
	inv := &view.Inventory{Classes: clitest.AnyClass, Claims: map[string][]client.Object{"shop": {claim}},
		Snapshots: map[string][]client.Object{"shop": {v}}}
	return silenceOf(StatusOf(s, inv, now.Add(c.ahead)).unanswered, c.lease, now)
}

// Contract: STAT-20.
func TestStatusShowsAnOperatorThatTakesNothing(t *testing.T) {
	type (
		schedule = *v1alpha1.SnapshotSchedule
		pvc      = *corev1.PersistentVolumeClaim
		taken    = *snapshotv1.VolumeSnapshot
	)
	problem := func(reason string) func(schedule, pvc, taken) {
		return func(s schedule, _ pvc, _ taken) {
			s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "data", Reason: reason}}
		}
	}
	waits := func(s schedule, _ pvc, _ taken) {
		s.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Message: "1 PersistentVolumeClaim, 1 waiting (driver csi.example.com)"}}
	}
	slot, request := clitest.Start.Add(6*time.Hour), clitest.Start.Add(3*time.Hour+time.Second)
	for name, test := range map[string]lifeCase{
		"a slot of a moment ago":               {late: time.Minute},
		"a slot of more than a minute":         {late: 65 * time.Second, want: 65 * time.Second},
		"for several slots":                    {late: 20 * time.Hour, want: 2 * time.Hour},
		"a request of a moment ago":            {late: 15 * time.Second, requested: true},
		"a request of more than 15 s":          {late: 16 * time.Second, requested: true, want: 16 * time.Second},
		"a request that waits":                 {late: time.Minute, requested: true, change: waits},
		"the operator says that it waits":      {late: 65 * time.Second, change: waits},
		"the operator says that it is refused": {late: 65 * time.Second, change: problem(v1alpha1.ReasonCreateFailed)},
		"the operator may have seen no class":  {late: 65 * time.Second, change: problem(v1alpha1.ReasonNoDefaultSnapshotClass)},
		"its problem is about deletes":         {late: 65 * time.Second, change: problem(v1alpha1.ReasonDeleteFailed), want: 65 * time.Second},
		"its problem is over":                  {late: 65 * time.Second, change: problem(v1alpha1.ReasonClaimLost), want: 65 * time.Second},
		"it has more problems than it lists": {late: 65 * time.Second, change: func(s schedule, _ pvc, _ taken) {
			s.Status.MoreProblems = 1
		}},
		"a snapshot is in the way": {late: 65 * time.Second, change: func(_ schedule, _ pvc, v taken) {
			v.Status = nil
		}},
		"a snapshot was in the way until now": {late: 65 * time.Second, change: func(_ schedule, _ pvc, v taken) {
			writtenAt(v, slot.Add(50*time.Second))
		}},
		"a PVC that is bound since a moment": {late: time.Hour, change: func(_ schedule, claim pvc, _ taken) {
			writtenAt(claim, slot.Add(time.Hour-time.Second))
		}},
		"a spec that was edited a moment ago, or a status": {late: time.Hour, change: func(s schedule, _ pvc, _ taken) {
			writtenAt(s, slot.Add(time.Hour-time.Second))
		}},
		"a clock that is ahead":                         {late: 10 * time.Second, ahead: time.Hour},
		"a clock that is behind":                        {late: 2 * time.Minute, ahead: -time.Minute, want: 2 * time.Minute},
		"a lease that is renewed":                       {late: 65 * time.Second, lease: testLease("pod", slot.Add(64*time.Second))},
		"a lease of a moment ago, by a clock far ahead": {late: 65 * time.Second, lease: testLease("pod", slot.Add(time.Hour))},
		"a lease that is not renewed":                   {late: 65 * time.Second, lease: testLease("pod", slot.Add(-time.Second)), want: 66 * time.Second},
		"a lease that nobody holds":                     {late: 65 * time.Second, lease: testLease("", slot.Add(60*time.Second)), want: 5 * time.Second},
		"a lease that is not renewed, nothing is late":  {late: 10 * time.Second, lease: testLease("pod", clitest.Start)},
		"a lease that is not renewed, whatever the status said": {
			late: 65 * time.Second, lease: testLease("pod", slot.Add(-time.Second)), change: waits, want: 66 * time.Second,
		},
		"a request, and a lease that is renewed": {late: time.Hour, requested: true, lease: testLease("pod", request.Add(time.Hour))},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.silent(); got != test.want {
				t.Errorf("silent for %s, want %s", got, test.want)
			}
		})
	}
}

// The clock of the operator may be wrong, as that of the user may be: the API server knows when it wrote the lease.
func TestLeaseIsRenewedWhenTheAPIServerWroteIt(t *testing.T) {
	lease := testLease("pod", clitest.Start.Add(-time.Hour))
	writtenAt(lease, clitest.Start)
	test := lifeCase{late: 65 * time.Second, lease: lease}
	writtenAt(lease, clitest.Start.Add(6*time.Hour+64*time.Second))
	if got := test.silent(); got != 0 {
		t.Errorf("silent for %s, and the lease was renewed a second ago", got)
	}
}

// operatorBinding gives an account of a namespace the ClusterRole of an operator.
func operatorBinding(namespace, role string) client.Object {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"app.kubernetes.io/name": "snapshotschedule"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "snapshotschedule-controller-manager"}},
	}
}

// operatorDeployment is that of an operator in a namespace, with some arguments.
func operatorDeployment(namespace string, args ...string) client.Object {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "controller-manager", Labels: map[string]string{"app.kubernetes.io/name": snapshots.Name},
	}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "proxy", Args: []string{"--leader-elect"}}, {Name: "manager", Args: args}}
	return d
}

// Contract: STAT-20.
func TestOnlyTheLeaseOfTheOperatorDecides(t *testing.T) {
	now := clitest.Start.Add(24 * time.Hour)
	in := func(namespace string, renewed time.Time) client.Object {
		lease := testLease("pod", renewed)
		lease.Namespace, lease.Name = namespace, snapshots.LeaseName
		return lease
	}
	dead, tenants := in("snapshotschedule-system", clitest.Start), in("bob", now)
	for name, test := range map[string]struct {
		objects   []client.Object
		namespace string // of the lease that decides
		lives     bool
	}{
		"the operator's":                {objects: []client.Object{dead}, namespace: "snapshotschedule-system"},
		"a tenant's beside it":          {objects: []client.Object{dead, tenants}, namespace: "snapshotschedule-system"},
		"a tenant's alone":              {objects: []client.Object{tenants}},
		"a tenant's, who reads metrics": {objects: []client.Object{tenants, operatorBinding("bob", "snapshotschedule-metrics-reader")}},
		"of an operator in another namespace": {
			objects:   []client.Object{tenants, in("backup", clitest.Start), operatorBinding("backup", "backup-manager-role")},
			namespace: "backup",
		},
		"of an operator in another namespace, and a tenant's where the documentation puts it": {
			objects:   []client.Object{in("snapshotschedule-system", now), in("backup", clitest.Start), operatorBinding("backup", "backup-manager-role")},
			namespace: "backup",
		},
		"of an operator that elects no leader": {
			objects: []client.Object{dead, operatorDeployment("snapshotschedule-system")},
		},
		"of one that elects a leader": {
			objects:   []client.Object{dead, operatorDeployment("snapshotschedule-system", "--leader-elect", "--x=y")},
			namespace: "snapshotschedule-system",
		},
		"of one that elects no leader, and another one": {
			objects: []client.Object{
				in("blue", now), operatorBinding("blue", "blue-manager-role"), operatorDeployment("blue", "--leader-elect=false"),
				in("green", clitest.Start), operatorBinding("green", "green-manager-role"),
			},
			namespace: "green",
		},
		"of two operators, one of which lives": {
			objects: []client.Object{
				in("blue", clitest.Start), operatorBinding("blue", "blue-manager-role"), in("green", now), operatorBinding("green", "green-manager-role"),
			},
			namespace: "green", lives: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &term.Factory{Client: fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(test.objects...).Build()}
			lease := ReadLease(context.Background(), f, view.OperatorNamespaces(context.Background(), f))
			if test.namespace == "" {
				if lease != nil {
					t.Errorf("the lease of namespace %s decides", lease.Namespace)
				}
				return
			}
			if lease == nil || lease.Namespace != test.namespace {
				t.Fatalf("%v decides, want the lease of namespace %s", lease, test.namespace)
			}
			late := []unanswered{{since: clitest.Start, patience: slotPatience, explained: true}}
			if silent := silenceOf(late, lease, now); (silent == 0) != test.lives {
				t.Errorf("no sign of life for %s", silent)
			}
		})
	}
}

func TestStatusNamesWhereTheOperatorIs(t *testing.T) {
	s := ScheduleStatus{now: clitest.Start, Silent: 65 * time.Second}
	for namespace, want := range map[string]string{"": "snapshotschedule-system", "backup": "backup"} {
		s.operatorNamespace = namespace
		got := strings.Join(s.ConditionWords(term.Style{}), "\n")
		if !strings.Contains(got, "Operator: no sign of life since 65s: kubectl -n "+want+" get pods,lease") {
			t.Errorf("got %q", got)
		}
	}
}
