// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drivers is what is known of CSI drivers: how many snapshots they take, and how fast. Each fact names its source.
package drivers

import (
	"strings"
	"time"
)

// Driver is what is known of one CSI driver. Zero values are not known, or have no limit.
type Driver struct {
	// Name is the driver's, as in a VolumeSnapshotClass. Storage is the product's.
	Name, Storage string
	// PerVolume is how many snapshots of a volume exist at most.
	PerVolume int
	// Pending is how many snapshots of a volume may be in progress at once.
	Pending int
	// Spacing is the shortest time between two snapshots of a volume.
	Spacing time.Duration
	// NoSnapshots is set for a driver that takes none.
	NoSnapshots bool
	Source      string
}

// All are the drivers of which anything is known, by storage.
var All = []Driver{
	{
		Name: "ebs.csi.aws.com", Storage: "Amazon EBS", Pending: 5, Spacing: 15 * time.Second,
		Source: "Quotas for Amazon EBS (one for sc1 and st1)",
	},
	{Name: "disk.csi.azure.com", Storage: "Azure Disk", PerVolume: 500, Source: "Azure: restrictions of incremental snapshots"},
	{Name: "rbd.csi.ceph.com", Storage: "Ceph RBD", PerVolume: 450, Source: "ceph-csi: --maxsnapshotsonimage"},
	{Name: "cephfs.csi.ceph.com", Storage: "CephFS", PerVolume: 100, Source: "Ceph: mds_max_snaps_per_dir"},
	{Name: "dobs.csi.digitalocean.com", Storage: "DigitalOcean", Spacing: 10 * time.Minute, Source: "velero-io/velero#6164"},
	{
		Name: "pd.csi.storage.gke.io", Storage: "Google Persistent Disk", Spacing: 10 * time.Minute,
		Source: "Compute Engine: About disk snapshots",
	},
	{Name: "csi.hetzner.cloud", Storage: "Hetzner", NoSnapshots: true, Source: "hetznercloud/csi-driver: controller.go"},
	{Name: "linodebs.csi.linode.com", Storage: "Linode", NoSnapshots: true, Source: "linode-blockstorage-csi-driver: errors.go"},
	{Name: "driver.longhorn.io", Storage: "Longhorn", PerVolume: 250, Source: "Longhorn: snapshot-max-count"},
	{Name: "pxd.portworx.com", Storage: "Portworx", PerVolume: 64, Source: "Portworx Enterprise 3.1: Creating Snapshots"},
	{Name: "smb.csi.k8s.io", Storage: "SMB", NoSnapshots: true, Source: "kubernetes-csi/csi-driver-smb: CreateSnapshot"},
	{
		Name: "csi.vsphere.vmware.com", Storage: "vSphere", PerVolume: 3,
		Source: "vsphere-csi-driver: global-max-snapshots-per-block-volume",
	},
}

// Find returns what is known of a driver. Rook puts its namespace before the names of Ceph's.
func Find(name string) (Driver, bool) {
	for _, d := range All {
		if d.Name == name || strings.HasSuffix(name, "."+d.Name) {
			d.Name = name
			return d, true
		}
	}
	return Driver{}, false
}
