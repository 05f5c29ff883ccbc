// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drivers is what is known of CSI drivers: how many snapshots they take, and how fast. Each fact names its source.
package drivers

import (
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Driver is what is known of one CSI driver. Zero values are not known, or have no limit.
type Driver struct {
	// Name is the driver's, as in a VolumeSnapshotClass. Storage is the product's.
	Name, Storage string
	// PerVolume is how many snapshots of a volume exist at most.
	PerVolume int
	// Spacing is the shortest time between two snapshots of a volume.
	Spacing time.Duration
	// Annotate are the annotations that its classes should have, as its page in docs/storage says: they leave room for what others take.
	Annotate map[string]string
	// NoSnapshots is set for a driver that takes none.
	NoSnapshots bool
	// Page is that of docs/storage with its class, if that needs parameters which nobody can guess.
	Page   string
	Source string
}

const (
	perVolume = v1alpha1.AnnotationMaxPerVolume
	pending   = v1alpha1.AnnotationMaxPending
	inFlight  = v1alpha1.AnnotationMaxInFlight
	spacing   = v1alpha1.AnnotationMinSpacing
)

// All are the drivers of which anything is known, by storage.
var All = []Driver{
	{
		Name: "ebs.csi.aws.com", Storage: "Amazon EBS", Spacing: 15 * time.Second,
		Annotate: map[string]string{pending: "50", spacing: "15s"}, Source: "Quotas for Amazon EBS",
	},
	{
		Name: "disk.csi.azure.com", Storage: "Azure Disk", PerVolume: 500,
		Annotate: map[string]string{perVolume: "450", pending: "40", spacing: "1m"}, Source: "Azure: restrictions of incremental snapshots",
	},
	{
		Name: "rbd.csi.ceph.com", Storage: "Ceph RBD", PerVolume: 450,
		Annotate: map[string]string{perVolume: "200"}, Source: "ceph-csi: --minsnapshotsonimage, --maxsnapshotsonimage", Page: "ceph",
	},
	{
		Name: "cephfs.csi.ceph.com", Storage: "CephFS", PerVolume: 100,
		Annotate: map[string]string{perVolume: "90"}, Source: "Ceph: mds_max_snaps_per_dir", Page: "ceph",
	},
	{
		Name: "dobs.csi.digitalocean.com", Storage: "DigitalOcean", Spacing: 10 * time.Minute,
		Annotate: map[string]string{spacing: "10m"}, Source: "velero-io/velero#6164",
	},
	{
		Name: "pd.csi.storage.gke.io", Storage: "Google Persistent Disk", Spacing: 10 * time.Minute,
		Annotate: map[string]string{spacing: "10m"}, Source: "Compute Engine: About disk snapshots",
	},
	{Name: "csi.hetzner.cloud", Storage: "Hetzner", NoSnapshots: true, Source: "hetznercloud/csi-driver: controller.go"},
	{Name: "linodebs.csi.linode.com", Storage: "Linode", NoSnapshots: true, Source: "linode-blockstorage-csi-driver: errors.go"},
	{
		Name: "driver.longhorn.io", Storage: "Longhorn", PerVolume: 250,
		Annotate: map[string]string{perVolume: "90"}, Source: "Longhorn: snapshot-max-count, TooManySnapshots", Page: "longhorn",
	},
	{
		Name: "csi.trident.netapp.io", Storage: "NetApp Trident",
		Annotate: map[string]string{perVolume: "900"}, Source: "ONTAP: maximum number of snapshots",
	},
	{
		Name: "nfs.csi.k8s.io", Storage: "NFS",
		Annotate: map[string]string{inFlight: "2", perVolume: "3"}, Source: "csi-driver-nfs: each snapshot is a whole archive",
	},
	{
		Name: "pxd.portworx.com", Storage: "Portworx", PerVolume: 64,
		Annotate: map[string]string{perVolume: "60"}, Source: "Portworx Enterprise 3.1: Creating Snapshots",
	},
	{Name: "smb.csi.k8s.io", Storage: "SMB", NoSnapshots: true, Source: "kubernetes-csi/csi-driver-smb: CreateSnapshot"},
	{
		Name: "csi.vsphere.vmware.com", Storage: "vSphere", PerVolume: 3,
		Annotate: map[string]string{perVolume: "3"}, Source: "vsphere-csi-driver: global-max-snapshots-per-block-volume",
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
