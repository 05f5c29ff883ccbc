// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net/http"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
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

	// client and namespace are set by Connect.
	client client.WithWatch
	// namespace is that of a command that reads only one.
	namespace string
	// classesDenied is set once the user was told that VolumeSnapshotClasses may not be
	// read.
	classesDenied bool
}

// scheme has the kinds that the commands read.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(metav1.AddMetaToScheme(scheme))
	return scheme
}

// Connect finds the cluster and the namespace that the flags and the kubeconfig name.
func (f *Factory) Connect() (err error) {
	if f.client == nil {
		config, err := f.Config.ToRESTConfig()
		if err != nil {
			return err
		}
		config.QPS = -1 // the API server's own fairness knows better
		config.WarningHandler = rest.NewWarningWriter(f.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
		if f.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
			return err
		}
	}
	f.namespace, _, err = f.Config.ToRawKubeConfigLoader().Namespace()
	return err
}

// connected is the RunE of a command that needs the cluster.
func (f *Factory) connected(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f.Connect(); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// get reads an object of the namespace.
func (f *Factory) get(ctx context.Context, name string, o client.Object) error {
	return f.client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, o)
}

// pageSize is how many objects are read at once.
const pageSize = 1000

// list reads a list page by page. The result has all items.
func (f *Factory) list(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var all []runtime.Object
	for token := ""; ; {
		page := list.DeepCopyObject().(client.ObjectList)
		if err := f.client.List(ctx, page, append(opts, client.Limit(pageSize), client.Continue(token))...); err != nil {
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

// serverTime returns the API server's time in whole seconds. A time that is
// written for the operator must not come from a user's machine: if its clock is
// behind, an existing snapshot could cover the time.
func (f *Factory) serverTime(ctx context.Context) (time.Time, error) {
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
	return at.UTC(), err
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

// namespace returns the namespace to read; empty for all namespaces.
func (s *Scope) namespace(f *Factory) string {
	if s.AllNamespaces {
		return ""
	}
	return f.namespace
}

// sayNothingFound says that there is nothing to show, as kubectl does.
func (s *Scope) sayNothingFound(f *Factory) {
	where := ""
	if namespace := s.namespace(f); namespace != "" {
		where = fmt.Sprintf(" in %s namespace.", namespace)
	}
	fmt.Fprintln(f.ErrOut, "No resources found"+where)
}

// given counts the values that are not empty.
func given(values ...string) (n int) {
	for _, value := range values {
		if value != "" {
			n++
		}
	}
	return n
}
