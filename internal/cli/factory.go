// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
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

	client client.WithWatch
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

// Client returns the client for the cluster that the flags and the kubeconfig name.
func (f *Factory) Client() (client.WithWatch, error) {
	if f.client != nil {
		return f.client, nil
	}
	config, err := f.Config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // the API server's own fairness knows better
	config.WarningHandler = rest.NewWarningWriter(f.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	f.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return f.client, err
}

// Namespace returns the namespace of the flag -n, or of the kubeconfig's context.
func (f *Factory) Namespace() (string, error) {
	namespace, _, err := f.Config.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}

// Connect returns the client, and the namespace of a command that reads only one.
func (f *Factory) Connect() (client.WithWatch, string, error) {
	c, err := f.Client()
	if err != nil {
		return nil, "", err
	}
	namespace, err := f.Namespace()
	return c, namespace, err
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
func (s *Scope) Namespace(f *Factory) (string, error) {
	if s.AllNamespaces {
		return "", nil
	}
	return f.Namespace()
}

// sayNothingFound says that there is nothing to show, as kubectl does.
func (s *Scope) sayNothingFound(f *Factory) error {
	namespace, err := s.Namespace(f)
	where := ""
	if namespace != "" {
		where = fmt.Sprintf(" in %s namespace.", namespace)
	}
	fmt.Fprintln(f.ErrOut, "No resources found"+where)
	return err
}
