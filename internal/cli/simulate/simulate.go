// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulate is the command simulate, which tries a schedule without a cluster.
//
//	simulate.go  the command
//	print.go     what it prints
//	run.go       the simulation of a schedule with some PVCs
package simulate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/manifests"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// maxClaims is how many PVCs are simulated at most.
const maxClaims = 1000

// options are the flags.
type options struct {
	files      resource.FilenameOptions
	claims     int
	length     time.Duration
	gone, fail []string
	driver     string
	output     term.Output
}

// New returns the command simulate.
func New(f *term.Factory) *cobra.Command {
	o := options{claims: 1}
	cmd := &cobra.Command{
		Use:     "simulate -f FILE",
		GroupID: term.GroupShow,
		Short:   "Try a schedule without a cluster: which snapshots there will be",
		Long: "Simulate new PVCs under the schedules of a file, with the operator's own decisions and without a cluster.\n" +
			"The output shows the snapshots at the end, how many there are at most, how far one can go back, what each rule\n" +
			"keeps, and which limits of known drivers are broken. Snapshots are ready at once, except while the storage\n" +
			"fails (--fail): then none is cut, and none is deleted. Of a ClusterSnapshotSchedule, the template is simulated.",
		Example: `  # A year of a schedule
  kubectl snapsched simulate -f nightly.yaml

  # Three PVCs, of which one is deleted after 60 days, and a driver that is down for three days
  kubectl snapsched simulate -f nightly.yaml --pvcs 3 --gone 1@60d --fail 3d@30d

  # Does it fit vSphere?
  kubectl snapsched simulate -f nightly.yaml --driver csi.vsphere.vmware.com`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := o.input()
			if err != nil {
				return err
			}
			documents, clusterSchedules, err := manifests.Read(cmd.Context(), f, &o.files)
			if err != nil {
				return err
			}
			var all []*v1alpha1.SnapshotSchedule
			for _, d := range documents {
				all = append(all, d.Schedule)
			}
			for _, c := range clusterSchedules {
				strict := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(c.Object, &v1alpha1.ClusterSnapshotSchedule{}, true)
				template, err := manifests.TemplateOf(c)
				err = errors.Join(strict, err)
				if err != nil {
					return fmt.Errorf("ClusterSnapshotSchedule %s: %w", c.GetName(), err)
				}
				template.Schedule.Name = c.GetName()
				all = append(all, template.Schedule)
			}
			in.from = f.Clock.Now().Truncate(time.Second)
			results := make([]*result, len(all))
			for i, s := range all {
				if results[i], err = in.run(cmd.Context(), s, work); err != nil {
					return fmt.Errorf("SnapshotSchedule %s: %w", s.Name, err)
				}
			}
			return printAll(f.Out, &o.output, results)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files.Filenames, "filename", "f", nil, "Files with schedules; - is standard input. Other objects are ignored.")
	flags.IntVar(&o.claims, "pvcs", o.claims, "Number of PVCs.")
	term.AddDuration(flags, &o.length, "for", 365*term.Day, false, "How much time passes, such as 30d or 1y.")
	flags.StringSliceVar(&o.gone, "gone", nil, "How many PVCs are deleted, and after which time, such as 1@60d.")
	flags.StringSliceVar(&o.fail, "fail", nil, "How long the storage fails, and after which time, such as 3d@30d.")
	flags.StringVar(&o.driver, "driver", "", "CSI driver. Its class has the annotations that its page recommends: max-per-volume "+
		"is obeyed, and broken limits of time are reported.")
	_ = cmd.MarkFlagRequired("filename")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("driver", cobra.FixedCompletions(driverNames(), cobra.ShellCompDirectiveNoFileComp))
	o.output.AddFlags(cmd, true, term.JSON, term.YAML)
	return cmd
}

// input reads the flags.
func (o *options) input() (in input, err error) {
	if o.claims < 1 || o.claims > maxClaims {
		return in, fmt.Errorf("--pvcs %d: write a number from 1 to %d", o.claims, maxClaims)
	}
	in.claims, in.length = o.claims, o.length
	left := o.claims
	for _, text := range o.gone {
		count, after, err := splitAt(text)
		n, invalid := strconv.Atoi(count)
		if err = errors.Join(err, invalid); err != nil || n < 1 {
			return in, fmt.Errorf("invalid --gone %q: write how many PVCs are deleted, and after which time, such as 1@60d", text)
		}
		if left -= n; left < 0 {
			return in, fmt.Errorf("--gone deletes more than the %s: raise --pvcs", term.Plural(o.claims, "PVC"))
		}
		for range n {
			in.gone = append(in.gone, after)
		}
	}
	for _, text := range o.fail {
		length, after, err := splitAt(text)
		d, invalid := schedule.ParseDuration(length)
		if err = errors.Join(err, invalid); err != nil {
			return in, fmt.Errorf("invalid --fail %q: write for how long the storage fails, and after which time, such as 3d@30d", text)
		}
		in.outages = append(in.outages, outage{after, after + d})
	}
	if o.driver != "" {
		known, found := drivers.Find(o.driver)
		if !found {
			return in, fmt.Errorf("nothing is known of driver %s: omit --driver, or use one of %s", o.driver, strings.Join(driverNames(), ", "))
		}
		if known.NoSnapshots {
			return in, fmt.Errorf("%s (%s) takes no snapshots: %s", known.Storage, known.Name, known.Source)
		}
		in.driver = &known
	}
	return in, nil
}

// splitAt splits a text such as 1@60d.
func splitAt(text string) (what string, after time.Duration, err error) {
	what, at, found := strings.Cut(text, "@")
	if !found {
		return "", 0, errors.New("no @")
	}
	after, err = schedule.ParseDuration(at)
	return what, after, err
}

func driverNames() (names []string) {
	for _, d := range drivers.All {
		names = append(names, d.Name)
	}
	return names
}
