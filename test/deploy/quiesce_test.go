// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// database is a server, and the CronJob of config/samples/quiesce for it.
type database struct {
	sample string
	// image is that of the CronJob.
	image string
	// mark is the annotation that the CronJob sets.
	mark string
	port int32
	// server starts the server on /data, and makes its files where there are none.
	server string
	// prepare makes the user of the sample and a table with 10000 rows, insert adds one, and count counts them.
	prepare, insert, count string
}

const databasePassword = "of-the-snapshot-user"

var postgresql = database{
	sample: "postgresql", image: "example.com/postgresql-client-with-plugin:18", mark: "example.com/checkpoint", port: 5432,
	server: `set -e
d=/data/pg
if [ ! -e $d ]; then
  mkdir -m 700 $d
  initdb -D $d --username=postgres --auth-local=trust --auth-host=scram-sha-256
  echo "host all all all scram-sha-256" >> $d/pg_hba.conf
fi
chmod 700 $d # fsGroup has given it to the group, too
exec postgres -D $d -c listen_addresses=* -c unix_socket_directories=/tmp`,
	prepare: `psql --host=/tmp --username=postgres --set=ON_ERROR_STOP=1 --command="CREATE ROLE snapshot LOGIN PASSWORD '` + databasePassword + `'" \
  --command="GRANT pg_checkpoint TO snapshot" --command="CREATE TABLE t AS SELECT generate_series(1, 10000) AS n"`,
	insert: `psql --host=/tmp --username=postgres --command="INSERT INTO t VALUES (0)"`,
	count:  `psql --host=/tmp --username=postgres --tuples-only --no-align --command="SELECT count(*) FROM t"`,
}

var mariadb = database{
	sample: "mysql", image: "example.com/mysql-client-with-plugin:8.4", mark: "example.com/quiesced", port: 3306,
	server: `set -e
d=/data/my
if [ ! -e $d ]; then
  mariadb-install-db --no-defaults --datadir=$d --auth-root-authentication-method=normal --skip-test-db --force
fi
exec mariadbd --no-defaults --datadir=$d --bind-address=0.0.0.0 --socket=/tmp/socket --pid-file=/tmp/pid`,
	prepare: `mariadb --no-defaults --socket=/tmp/socket --user=root --execute="CREATE DATABASE d; CREATE TABLE d.t (n INT) ENGINE=MyISAM;
USE d; INSERT INTO t SELECT seq FROM seq_1_to_10000; CREATE USER snapshot@'%' IDENTIFIED BY '` + databasePassword + `'; GRANT RELOAD ON *.* TO snapshot@'%'"`,
	insert: `mariadb --no-defaults --socket=/tmp/socket --user=root --execute="INSERT INTO d.t VALUES (0)"`,
	count:  `mariadb --no-defaults --socket=/tmp/socket --user=root --skip-column-names --execute="SELECT count(*) FROM d.t"`,
}

// start starts the server on a PVC, in a pod of the PVC's name.
func (d database) start(ctx context.Context, namespace, claim string) {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: claim, Labels: map[string]string{"server": claim}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000), FSGroup: ptr.To[int64](2000)},
			Containers: []corev1.Container{{
				Name: "server", Image: databaseImage, Command: []string{"bash", "-c", d.server}, SecurityContext: restricted(),
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "tmp", MountPath: "/tmp"}},
			}},
			Volumes: []corev1.Volume{
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}},
			},
		},
	}
	Expect(cluster.Client.Create(ctx, pod)).To(Succeed())
	kubectl(ctx, "-n", namespace, "wait", "--for=condition=Ready", "--timeout=1m", "pod/"+claim)
}

// exec runs a script in a server's pod.
func (d database) exec(ctx context.Context, namespace, claim, script string) string {
	GinkgoHelper()
	return strings.TrimSpace(kubectl(ctx, "-n", namespace, "exec", claim, "--", "bash", "-c", script))
}

var _ = Describe("quiesced snapshots of a real database", Ordered, func() {
	var plugin string
	BeforeAll(func(ctx context.Context) {
		plugin = filepath.Join(GinkgoT().TempDir(), "kubectl-snapsched")
		run(ctx, nil, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-tags=grpcnotrace", "-o", plugin, "./cmd/kubectl-snapsched")
		loadDatabaseImage(ctx, plugin)
	}, NodeTimeout(10*time.Minute))

	DescribeTable("are taken by the sample CronJob, and start with all rows", func(ctx context.Context, d database) {
		s := newSite(ctx, "quiesced-"+d.sample)
		jobs := opsNamespace(ctx, s.namespace)
		Expect(cluster.Client.Create(ctx, builders.Claim(s.namespace, "db", map[string]string{"app": "db"}))).To(Succeed())
		d.start(ctx, s.namespace, "db")
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "db"}, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"server": "db"},
			Ports:    []corev1.ServicePort{{Port: d.port, TargetPort: intstr.FromInt32(d.port)}},
		}}
		Expect(cluster.Client.Create(ctx, service)).To(Succeed())
		Eventually(func() string { return tryExec(ctx, s.namespace, "db", d.prepare) }).WithContext(ctx).Should(BeEmpty())
		Expect(d.exec(ctx, s.namespace, "db", d.count)).To(Equal("10000"))

		By("adapting the sample as its comments say; the local cluster has no DNS")
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: jobs, Name: s.namespace + "-db"}, StringData: map[string]string{"password": databasePassword},
		}
		Expect(cluster.Client.Create(ctx, secret)).To(Succeed())
		manifests := adaptedSample(ctx, "quiesce", s.namespace, d.image, databaseImage, "--host=db.my-app", "--host="+service.Spec.ClusterIP)
		run(ctx, manifests, "kubectl", "apply", "-f", "-")
		kubectl(ctx, "-n", jobs, "create", "job", "--from=cronjob/quiesce-"+s.namespace+"-"+d.sample, "now")
		DeferCleanup(func(ctx context.Context) { GinkgoWriter.Println(kubectl(ctx, "-n", jobs, "logs", "job/now")) })
		kubectl(ctx, "-n", jobs, "wait", "--for=condition=Complete", "--timeout=1m", "job/now")
		s.eventuallyReady(ctx, 1)
		Expect(s.snapshots(ctx)).To(HaveExactElements(HaveField("Annotations", HaveKeyWithValue(d.mark, "yes"))))

		By("going on, and restoring")
		d.exec(ctx, s.namespace, "db", d.insert)
		Expect(d.exec(ctx, s.namespace, "db", d.count)).To(Equal("10001"), "the lock is released")
		code, output := s.snapsched(ctx, "restore", "--pvc", "db", "--to", "restored", "--wait")
		Expect(code).To(BeZero(), output)
		d.start(ctx, s.namespace, "restored")
		Eventually(func() string { return tryExec(ctx, s.namespace, "restored", d.count+" > /tmp/count") }).WithContext(ctx).Should(BeEmpty())
		Expect(d.exec(ctx, s.namespace, "restored", "cat /tmp/count")).To(Equal("10000"))
	},
		Entry("PostgreSQL", postgresql, NodeTimeout(5*time.Minute)),
		Entry("MariaDB", mariadb, NodeTimeout(5*time.Minute)),
	)
})
