// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"maps"
	"slices"
	"strings"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Series are the snapshots of one map key under one schedule.
type Series struct {
	MapKey string
	// Claim is nil if the PVC is gone, and for a group.
	Claim *corev1.PersistentVolumeClaim
	// claims are those PVCs of a group that exist.
	claims    []*corev1.PersistentVolumeClaim
	Snapshots []client.Object
	Members   []client.Object
	// elsewhere are the group snapshots of other groups that hold PVCs of a group.
	elsewhere []client.Object
	Restores  []client.Object
}

// Judged returns a series as a Judge takes it.
func (s *Series) Judged() snapshots.Series {
	claims := s.claims
	if s.Claim != nil {
		claims = []*corev1.PersistentVolumeClaim{s.Claim}
	}
	return snapshots.Series{
		MapKey: s.MapKey, Claims: claims, Snapshots: s.Snapshots, Elsewhere: s.elsewhere, Members: s.Members, Restores: s.Restores,
	}
}

// IsGroup returns whether it is of a group of PVCs.
func (s *Series) IsGroup() bool { of := s.Judged(); return of.IsGroup() }

// addClaim adds a PVC that exists; nil is none.
func (s *Series) addClaim(claim *corev1.PersistentVolumeClaim) {
	switch {
	case claim == nil:
	case !s.IsGroup():
		s.Claim = claim
	case !slices.Contains(s.claims, claim):
		s.claims = append(s.claims, claim)
	}
}

// Lose removes a PVC: it is deleted.
func (s *Series) Lose(name string) {
	if s.Claim != nil && s.Claim.Name == name {
		s.Claim = nil
	}
	s.claims = slices.DeleteFunc(slices.Clone(s.claims), func(c *corev1.PersistentVolumeClaim) bool { return c.Name == name })
}

// The relations of a PVC to a schedule.
const (
	StateSelected = "Selected"
	StateGone     = "Gone"
	stateDetached = "Detached" // it exists, and is not selected
)

// State returns the relation of a series to a schedule under some judges.
func (s *Series) State(judges ...*snapshots.Judge) string {
	of := s.Judged()
	for _, claim := range of.Claims {
		if slices.ContainsFunc(judges, func(j *snapshots.Judge) bool { return j != nil && j.SelectsAs(s.MapKey, claim) }) {
			return StateSelected
		}
	}
	if len(of.Claims) > 0 {
		return stateDetached
	}
	return StateGone
}

// Name returns the name of the PVC, also of one that is gone, or of the PVCs of a group.
func (s *Series) Name() string {
	if s.Claim != nil {
		return s.Claim.Name
	}
	if s.IsGroup() {
		return s.groupName()
	}
	for _, v := range s.Snapshots {
		if name := backup.ClaimName(v); name != "" {
			return name
		}
	}
	return s.MapKey
}

// groupName returns the names of the PVCs of a group: those that exist, or of its newest snapshot.
func (s *Series) groupName() string {
	var names []string
	for _, claim := range s.claims {
		names = append(names, claim.Name)
	}
	if n := len(s.Snapshots); len(names) == 0 && n > 0 {
		names = slices.Collect(maps.Keys(backup.ClaimsOf(s.Snapshots[n-1].(*groupv1.VolumeGroupSnapshot))))
	}
	if len(names) == 0 {
		return s.MapKey
	}
	slices.Sort(names)
	return strings.Join(names, "+")
}

// ClaimNamed returns a PVC of a group that exists; nil if it is of none.
func (s *Series) ClaimNamed(name string) *corev1.PersistentVolumeClaim {
	if i := slices.IndexFunc(s.claims, func(c *corev1.PersistentVolumeClaim) bool { return c.Name == name }); i >= 0 {
		return s.claims[i]
	}
	return nil
}
