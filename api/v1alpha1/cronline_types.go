// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// CronLine is a cron expression of five fields (minute, hour, day of month, month, day of
// week), or one of @hourly, @daily, @weekly, @monthly and @yearly. The rules check each field
// separately and accept whatever CronJob's parser accepts, including empty list items and
// *-5, which means *. Only the controller can detect an expression that never fires.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule=`!self.contains('TZ=')`,message="must not contain TZ= or CRON_TZ=: set spec.timeZone instead, such as Europe/Oslo"
// +kubebuilder:validation:XValidation:rule=`self.contains('TZ=') || self in ['@hourly', '@daily', '@weekly', '@monthly', '@yearly'] || self.matches(r'^\s*[^@\s]\S*(\s+\S+){4}\s*$')`,message=`must be a cron expression of five fields, such as "30 2 * * *", or one of @hourly @daily @weekly @monthly @yearly; for an interval, set snapshotInterval: 6h instead`
// +kubebuilder:validation:XValidation:rule=`self.contains('TZ=') || !self.matches(r'^\s*[^@\s]\S*(\s+\S+){4}\s*$') || self.matches(r'^\s*((([*?](-[^\s,/]*)?|\+?0*[1-5]?[0-9](-\+?0*[1-5]?[0-9])?)(/\+?0*[1-9][0-9]*)?)?,)*([*?](-[^\s,/]*)?|\+?0*[1-5]?[0-9](-\+?0*[1-5]?[0-9])?)(/\+?0*[1-9][0-9]*)?,*(\s+\S+){4}\s*$')`,message="the minute (first field) must be 0-59, such as 30, 0,30 or */15"
// +kubebuilder:validation:XValidation:rule=`self.contains('TZ=') || !self.matches(r'^\s*[^@\s]\S*(\s+\S+){4}\s*$') || self.matches(r'^\s*\S+\s+((([*?](-[^\s,/]*)?|\+?0*(1?[0-9]|2[0-3])(-\+?0*(1?[0-9]|2[0-3]))?)(/\+?0*[1-9][0-9]*)?)?,)*([*?](-[^\s,/]*)?|\+?0*(1?[0-9]|2[0-3])(-\+?0*(1?[0-9]|2[0-3]))?)(/\+?0*[1-9][0-9]*)?,*(\s+\S+){3}\s*$')`,message="the hour (second field) must be 0-23, such as 2, 8-18 or */6"
// +kubebuilder:validation:XValidation:rule=`self.contains('TZ=') || !self.matches(r'^\s*[^@\s]\S*(\s+\S+){4}\s*$') || self.matches(r'^\s*(\S+\s+){2}((([*?](-[^\s,/]*)?|\+?0*([1-9]|[12][0-9]|3[01])(-\+?0*([1-9]|[12][0-9]|3[01]))?)(/\+?0*[1-9][0-9]*)?)?,)*(([*?](-[^\s,/]*)?|\+?0*([1-9]|[12][0-9]|3[01])(-\+?0*([1-9]|[12][0-9]|3[01]))?)(/\+?0*[1-9][0-9]*)?)?(\s+\S+){2}\s*$')`,message="the day of month (third field) must be 1-31 or *, such as 1 or 1,15"
// +kubebuilder:validation:XValidation:rule=`self.contains('TZ=') || !self.matches(r'^\s*[^@\s]\S*(\s+\S+){4}\s*$') || self.matches(r'^\s*(\S+\s+){3}((([*?](-[^\s,/]*)?|(\+?0*([1-9]|1[0-2])|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))(-(\+?0*([1-9]|1[0-2])|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))?)(/\+?0*[1-9][0-9]*)?)?,)*([*?](-[^\s,/]*)?|(\+?0*([1-9]|1[0-2])|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))(-(\+?0*([1-9]|1[0-2])|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))?)(/\+?0*[1-9][0-9]*)?,*\s+\S+\s*$')`,message="the month (fourth field) must be 1-12, JAN-DEC or *, such as 1 or JAN,JUL"
// +kubebuilder:validation:XValidation:rule=`self.contains('TZ=') || !self.matches(r'^\s*[^@\s]\S*(\s+\S+){4}\s*$') || self.matches(r'^\s*(\S+\s+){4}((([*?](-[^\s,/]*)?|(\+?0*[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat))(-(\+?0*[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat)))?)(/\+?0*[1-9][0-9]*)?)?,)*(([*?](-[^\s,/]*)?|(\+?0*[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat))(-(\+?0*[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat)))?)(/\+?0*[1-9][0-9]*)?)?\s*$')`,message="the day of week (fifth field) must be 0-6 (0 is Sunday), SUN-SAT or *, such as 0 or MON-FRI"
type CronLine string
