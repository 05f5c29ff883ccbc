// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager runs the SnapshotSchedule controller. This package holds its flags and wiring only.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	// Time zone data, because the container image has none.
	_ "time/tzdata"

	// Import all Kubernetes client auth plugins (e.g. Azure, GCP, OIDC, etc.)
	// to ensure that exec-entrypoint and run can make use of them.
	_ "k8s.io/client-go/plugin/pkg/client/auth"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/clusterschedules"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
	"mapcontroller.dev/snapshotschedule/internal/version"
	// +kubebuilder:scaffold:imports
)

var (
	scheme   = runtime.NewScheme()
	setupLog = ctrl.Log.WithName("setup")
)

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(groupv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	// +kubebuilder:scaffold:scheme
}

type flags struct {
	metricsAddr, metricsCertPath, metricsCertName, metricsCertKey string
	probeAddr, leaseNamespace                                     string
	namespaces                                                    []string
	leaderElect, secureMetrics, enableHTTP2, version              bool
	workers, maxInFlight                                          int
	deletesPerSecond                                              float64
	statusInterval, maxClockSkew                                  time.Duration
}

// parseFlags adds the flags to a set, which handles wrong arguments, and parses the arguments.
func parseFlags(set *flag.FlagSet, args []string) flags {
	var f flags
	set.StringVar(&f.metricsAddr, "metrics-bind-address", "0", "The address the metrics endpoint binds to. "+
		"Use :8443 for HTTPS or :8080 for HTTP, or leave as 0 to disable the metrics service.")
	set.StringVar(&f.probeAddr, "health-probe-bind-address", ":8081", "The address the probe endpoint binds to.")
	set.BoolVar(&f.leaderElect, "leader-elect", false, "Enable leader election for controller manager. "+
		"Enabling this will ensure there is only one active controller manager.")
	set.StringVar(&f.leaseNamespace, "leader-election-namespace", "",
		"The namespace of the leader election lease. Defaults to the pod's namespace.")
	set.Func("watch-namespaces", "Comma-separated `namespaces` to watch; Roles in these namespaces are then sufficient. "+
		"ClusterSnapshotSchedules are ignored then. Defaults to all namespaces.", func(list string) (err error) {
		f.namespaces, err = parseNamespaces(list)
		return err
	})
	set.BoolVar(&f.secureMetrics, "metrics-secure", true,
		"If set, the metrics endpoint is served securely via HTTPS. Use --metrics-secure=false to use HTTP instead.")
	set.StringVar(&f.metricsCertPath, "metrics-cert-path", "", "The directory that contains the metrics server certificate.")
	set.StringVar(&f.metricsCertName, "metrics-cert-name", "tls.crt", "The name of the metrics server certificate file.")
	set.StringVar(&f.metricsCertKey, "metrics-cert-key", "tls.key", "The name of the metrics server key file.")
	set.BoolVar(&f.enableHTTP2, "enable-http2", false, "If set, HTTP/2 will be enabled for the metrics server.")
	set.IntVar(&f.workers, "max-concurrent-reconciles", 64,
		"Maximum number of PVCs reconciled concurrently; at most half of them in one namespace.")
	set.DurationVar(&f.statusInterval, "status-interval", 5*time.Second,
		"Minimum time between two status updates of one SnapshotSchedule.")
	set.Float64Var(&f.deletesPerSecond, "max-deletes-per-second", 50,
		"Maximum number of expired snapshots deleted per second, because bursts make some storage backends leak. 0 means no limit.")
	set.IntVar(&f.maxInFlight, "max-in-flight-per-driver", 100,
		"Maximum number of snapshots of one storage driver that are created and not yet cut, so that none of them misses its readyDeadline "+
			"while it waits. The others wait. 0 means no limit.")
	set.DurationVar(&f.maxClockSkew, "max-clock-skew", snapshots.DefaultMaxClockSkew,
		"Maximum difference between this clock and the API server's. While it is larger, no snapshot is deleted.")
	set.BoolVar(&f.version, "version", false, "Print the version and exit.")
	opts := zap.Options{}
	opts.BindFlags(set)
	_ = set.Parse(args)
	ctrl.SetLogger(newLogger(os.Stderr, zap.UseFlagOptions(&opts)))
	return f
}

// validate returns an error that names the flags whose values make no sense.
func (f flags) validate() error {
	var errs []error
	check := func(valid bool, wrong string) {
		if !valid {
			errs = append(errs, errors.New(wrong))
		}
	}
	check(f.workers > 0, "--max-concurrent-reconciles must be greater than 0")
	check(f.statusInterval > 0, "--status-interval must be greater than 0")
	check(f.maxClockSkew > 0, "--max-clock-skew must be greater than 0")
	check(f.deletesPerSecond >= 0, "--max-deletes-per-second must not be negative; 0 means no limit")
	check(f.maxInFlight >= 0, "--max-in-flight-per-driver must not be negative; 0 means no limit")
	return errors.Join(errs...)
}

func main() {
	f := parseFlags(flag.CommandLine, os.Args[1:])
	if f.version {
		fmt.Println("snapshotschedule", version.Get())
		return
	}
	if err := run(f); err != nil {
		setupLog.Error(err, "Manager exited")
		os.Exit(1)
	}
}

func run(f flags) error {
	running := version.Get()
	setupLog.Info("Starting SnapshotSchedule", "version", running.Version, "revision", running.Revision,
		"goVersion", running.GoVersion, "platform", running.Platform)
	if err := errors.Join(f.validate(), setMemoryLimit(os.Getenv)); err != nil {
		return err
	}
	keepHeadroom()
	realClock := clock.RealClock{}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("load the kubeconfig: %w", err)
	}
	snapshots.Configure(config, realClock)
	stores := snapshots.NewStores()
	cacheOptions := snapshots.CacheOptions(stores, f.namespaces...)
	clusterschedules.AddToCache(&cacheOptions)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cacheOptions,
		MapperProvider:          snapshots.RESTMapper,
		NewClient:               snapshots.NewClient,
		Metrics:                 metricsOptions(f),
		HealthProbeBindAddress:  f.probeAddr,
		LeaderElection:          f.leaderElect,
		LeaderElectionID:        snapshots.LeaseName,
		LeaderElectionNamespace: f.leaseNamespace,
		// Safe because the process exits as soon as the manager stops.
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("create the manager: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	options := snapshots.Options{
		Workers:          f.workers,
		StatusInterval:   f.statusInterval,
		DeletesPerSecond: f.deletesPerSecond,
		MaxClockSkew:     f.maxClockSkew,
		Namespaces:       f.namespaces,
		Clock:            realClock,
		Stores:           stores,
	}
	unwritten := &snapshots.Unwritten{}
	ofSchedules, ofClusterSchedules := metrics.New(), clusterschedules.NewMetrics()
	ctrlmetrics.Registry.MustRegister(ofSchedules, ofClusterSchedules)
	if err := snapshots.SetupWithManager(ctx, mgr, options, f.maxInFlight, unwritten, ofSchedules); err != nil {
		return fmt.Errorf("set up the SnapshotSchedule controller: %w", err)
	}
	if len(f.namespaces) == 0 { // otherwise Roles in these namespaces are all that there is
		err := clusterschedules.SetupWithManager(mgr, options, snapshots.Validate, &snapshots.Ownership, unwritten, ofClusterSchedules)
		if err != nil {
			return fmt.Errorf("set up the ClusterSnapshotSchedule controller: %w", err)
		}
	}
	// +kubebuilder:scaffold:builder

	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return fmt.Errorf("set up the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("readyz", cachesSynced(mgr.GetCache())); err != nil {
		return fmt.Errorf("set up the readiness check: %w", err)
	}
	return mgr.Start(ctx)
}

// cachesSynced returns a readiness check that fails until every cache has synced, so
// that a rollout stops. A cache cannot sync if, for example, a watched namespace does
// not exist or RBAC forbids a list.
func cachesSynced(c cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second/2)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("caches have not synced; the log names what cannot be listed")
		}
		return nil
	}
}

// parseNamespaces parses a comma-separated list of namespaces. An empty list is an
// error: it usually comes from an unset variable and must not mean all namespaces.
func parseNamespaces(list string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if wrong := validation.IsDNS1123Label(name); wrong != nil {
			return nil, fmt.Errorf("invalid namespace %q: %s", name, strings.Join(wrong, "; "))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func metricsOptions(f flags) metricsserver.Options {
	o := metricsserver.Options{BindAddress: f.metricsAddr, SecureServing: f.secureMetrics}
	if !f.enableHTTP2 {
		// HTTP/2 is disabled because of the Stream Cancellation and Rapid Reset CVEs:
		// https://github.com/advisories/GHSA-qppj-fm5r-hxr3
		// https://github.com/advisories/GHSA-4374-p667-p6c8
		o.TLSOpts = append(o.TLSOpts, func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
	}
	if f.secureMetrics {
		// The RBAC rules that this needs are in config/rbac/metrics_auth_role.yaml.
		o.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	if f.metricsCertPath != "" {
		setupLog.Info("Serving metrics with the given certificate",
			"certificate", filepath.Join(f.metricsCertPath, f.metricsCertName))
		o.CertDir, o.CertName, o.KeyName = f.metricsCertPath, f.metricsCertName, f.metricsCertKey
	}
	return o
}
