// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// known are the words by which kubectl finds the kinds of others, in clusters with storage: plurals, singulars, short
// names and categories. kubectl expands a category before it looks up a resource of the same name.
var known = map[string]string{
	"Kubernetes": "all api-extensions pods po persistentvolumes pv persistentvolumeclaims pvc storageclasses sc volumeattachments " +
		"volumeattributesclasses vac csidrivers csinodes csistoragecapacities jobs cronjobs cj namespaces ns",
	"external-snapshotter": "volumesnapshots volumesnapshot vs volumesnapshotcontents vsc vscs volumesnapshotclasses vsclass vsclasses " +
		"volumegroupsnapshots volumegroupsnapshot vgs volumegroupsnapshotcontents vgsc vgscs volumegroupsnapshotclasses vgsclass vgsclasses",
	"Longhorn": "longhorn snapshots snapshot lhsnap backups lhb backupvolumes lhbv backuptargets lhbt backingimages lhbi volumes volume lhv " +
		"engines lhe replicas lhr nodes lhn settings lhs recurringjobs lhrj sharemanagers lhsm orphans lho systembackups lhsb " +
		"systemrestores lhsr supportbundles lhbundle volumeattachments lhva instancemanagers lhim engineimages lhei",
	"KubeStash": "kubestash stash appscode snapshots snapshot repositories repository backupstorages retentionpolicies " +
		"backupconfigurations backupsessions restoresessions backupblueprints backupbatches",
	"Velero": "backups backup restores restore schedules schedule backupstoragelocations bsl volumesnapshotlocations vsl " +
		"backuprepositories podvolumebackups podvolumerestores datauploads datadownloads deletebackuprequests downloadrequests " +
		"serverstatusrequests ssr",
	"K8up":    "snapshots snapshot schedules schedule backups restores archives checks prunes prebackuppods podconfigs",
	"VolSync": "replicationsources replicationsource replicationdestinations replicationdestination",
	"Trident": "trident trident-internal trident-external tridentbackends tbe tridentbackendconfigs tbc tridentvolumes tvol tridentsnapshots " +
		"tss tridentsnapshotinfos tsi tridentstorageclasses tsc tridentmirrorrelationships tmr tridentvolumepublications tvp",
	"Rook": "rook cephclusters ceph cephblockpools cephbp cephfilesystems cephfs cephobjectstores cephos cephrbdmirrors cephrbdm " +
		"cephfilesystemsubvolumegroups cephfssvg cephclients cephcl",
	"Stork":         "volumesnapshotschedules volumesnapshotschedule schedulepolicies schedulepolicy groupvolumesnapshots applicationbackups",
	"KubeVirt":      "kubevirt virtualmachinesnapshots vmsnapshot vmsnapshots virtualmachinerestores vmrestore vmrestores datavolumes dv dvs",
	"CloudNativePG": "postgresql backups scheduledbackups clusters poolers",
	"snapscheduler": "snapshotschedules snapshotschedule",
}

// shared are the words that are ours and theirs, as docs/choosing.md says. kubectl wants the group behind them, as in
// snapshotschedules.snapshots.mapcontroller.dev, where both are installed.
var shared = map[string][]string{"snapscheduler": {"snapshotschedules", "snapshotschedule"}}

func TestNoNameOfOursIsThatOfAnotherKind(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(crdsDir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		names := crd.Spec.Names
		ours := slices.Concat([]string{names.Plural, names.Singular}, names.ShortNames, names.Categories)
		for project, theirs := range known {
			for _, name := range ours {
				if slices.Contains(strings.Fields(theirs), name) && !slices.Contains(shared[project], name) {
					t.Errorf("%s is found as %q, and so is a kind or category of %s", names.Kind, name, project)
				}
			}
		}
	}
}
