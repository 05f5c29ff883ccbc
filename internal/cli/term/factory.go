// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"fmt"
	"net/http"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Factory is what every command needs.
type Factory struct {
	genericiooptions.IOStreams
	Config *genericclioptions.ConfigFlags
	Clock  clock.PassiveClock

	// Client and namespace are set by Connect.
	Client client.WithWatch
	// Namespace is that of a command that reads only one.
	Namespace string
	// ClassesDenied is set once the user was told that VolumeSnapshotClasses may not be
	// read, or by a command that says of each PVC what is unknown without them.
	ClassesDenied bool
	// GroupsDenied is why VolumeGroupSnapshots may not be listed, until the user was told.
	GroupsDenied error
	// GroupClassesDenied is the same of VolumeGroupSnapshotClasses.
	GroupClassesDenied error
	// DryRun is that of the command that runs, and needed are its permissions.
	DryRun DryRun
	needed func() []authorizationv1.ResourceAttributes
}

// Scheme has the kinds that the commands read.
var Scheme = NewScheme()

// NewScheme returns a scheme with the kinds that the commands read.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(groupv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(metav1.AddMetaToScheme(scheme))
	return scheme
}

// Connect finds the cluster and the namespace that the flags and the kubeconfig name. Its requests end with the context.
func (f *Factory) Connect(ctx context.Context) (err error) {
	if f.Client == nil {
		config, err := f.Config.ToRESTConfig()
		if err != nil {
			return err
		}
		config.QPS = -1 // the API server's own fairness knows better
		config.Wrap(func(send http.RoundTripper) http.RoundTripper { return bounded{ctx, send} })
		config.WarningHandler = rest.NewWarningWriter(f.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
		if f.Client, err = client.NewWithWatch(config, client.Options{Scheme: Scheme}); err != nil {
			return err
		}
	}
	f.Namespace, _, err = f.Config.ToRawKubeConfigLoader().Namespace()
	return err
}

// bounded ends requests that have no context with that of the command: client libraries discover kinds without one.
type bounded struct {
	ctx  context.Context
	send http.RoundTripper
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Done() == nil {
		r = r.WithContext(b.ctx)
	}
	return b.send.RoundTrip(r)
}

// Connected is the RunE of a command that needs the cluster.
func (f *Factory) Connected(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f.Connect(cmd.Context()); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// Get reads an object of the namespace.
func (f *Factory) Get(ctx context.Context, name string, o client.Object) error {
	return f.Client.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: name}, o)
}

// pageSize is how many objects are read at once.
const pageSize = 1000

// List reads a list page by page. The result has all items.
func (f *Factory) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var all []runtime.Object
	for token := ""; ; {
		page := list.DeepCopyObject().(client.ObjectList)
		if err := f.Client.List(ctx, page, append(opts, client.Limit(pageSize), client.Continue(token))...); err != nil {
			return err
		}
		items, err := meta.ExtractList(page)
		if err != nil {
			return err
		}
		all = append(all, items...)
		if token = page.GetContinue(); token == "" {
			return meta.SetList(list, all)
		}
	}
}

// ServerTime reads the API server's clock, in whole seconds. The times of the cluster's objects are by that clock, so a command
// decides and prints by it, and writes it for the operator. By a machine whose clock is behind, the newest snapshots would not exist
// yet, and an existing one could cover what is requested.
func (f *Factory) ServerTime(ctx context.Context) (time.Time, error) {
	config, err := f.Config.ToRESTConfig()
	if err != nil {
		return time.Time{}, err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return time.Time{}, err
	}
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return time.Time{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), http.NoBody)
	if err != nil {
		return time.Time{}, err
	}
	answer, err := connection.Do(request)
	if err != nil {
		return time.Time{}, err
	}
	defer answer.Body.Close()
	at, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("the answer of the API server says no time: %w", err)
	}
	return at.UTC(), nil
}

// Scope are the flags of a command that reads more than one object.
type Scope struct {
	AllNamespaces bool
	// Selector is the label selector of the flag -l.
	Selector string
}

// AddFlags adds -A, and -l for the labels of what selects names.
func (s *Scope) AddFlags(cmd *cobra.Command, selects string) {
	cmd.Flags().BoolVarP(&s.AllNamespaces, "all-namespaces", "A", false, "Show all namespaces.")
	cmd.Flags().StringVarP(&s.Selector, "selector", "l", "", fmt.Sprintf("Label selector for %s, such as app=db.", selects))
}

// Namespace returns the namespace to read; empty for all namespaces.
func (s *Scope) Namespace(f *Factory) string {
	if s.AllNamespaces {
		return ""
	}
	return f.Namespace
}

// SayNothingFound says that there is nothing to show, as kubectl does.
func (s *Scope) SayNothingFound(f *Factory) {
	where := ""
	if namespace := s.Namespace(f); namespace != "" {
		where = fmt.Sprintf(" in %s namespace.", namespace)
	}
	fmt.Fprintln(f.ErrOut, "No resources found"+where)
}

// NothingFound says so, or returns an error if the namespace does not exist: one that was mistyped has nothing either.
func (s *Scope) NothingFound(ctx context.Context, f *Factory) error {
	if namespace := s.Namespace(f); namespace != "" {
		if err := f.Missing(ctx, namespace); err != nil {
			return err
		}
	}
	s.SayNothingFound(f)
	return nil
}

// Missing returns an error if a namespace does not exist. Its users may not be allowed to read it, which says nothing.
func (f *Factory) Missing(ctx context.Context, namespace string) error {
	if err := f.Client.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{}); apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// Given counts the values that are not empty.
func Given(values ...string) (n int) {
	for _, value := range values {
		if value != "" {
			n++
		}
	}
	return n
}
