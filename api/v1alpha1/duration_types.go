// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Duration is a length of time in Prometheus' syntax: whole numbers with the units y, w, d,
// h, m and s, largest unit first, such as "90s", "6h", "10d", "1w", "1y" or "1d12h". 1d is
// 24h, 1w is 7d, 1y is 365d. The minimum is 1s, the maximum 100y.
//
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule=`self != "" && self.matches(r'^([0-9]{1,10}y)?([0-9]{1,10}w)?([0-9]{1,10}d)?([0-9]{1,10}h)?([0-9]{1,10}m)?([0-9]{1,10}s)?$')`,message="must be a duration such as 90s, 6h, 10d or 1d12h: whole numbers with the units y w d h m s, largest first"
// +kubebuilder:validation:XValidation:rule=`!self.matches(r'^(0+[ywdhms])+$')`,message="must be at least 1s, such as 6h"
// +kubebuilder:validation:XValidation:rule=`!self.matches(r'^([0-9]{1,10}y)?([0-9]{1,10}w)?([0-9]{1,10}d)?([0-9]{1,10}h)?([0-9]{1,10}m)?([0-9]{1,10}s)?$') || int('0' + self.find(r'[0-9]+y').replace('y', "")) * 31536000 + int('0' + self.find(r'[0-9]+w').replace('w', "")) * 604800 + int('0' + self.find(r'[0-9]+d').replace('d', "")) * 86400 + int('0' + self.find(r'[0-9]+h').replace('h', "")) * 3600 + int('0' + self.find(r'[0-9]+m').replace('m', "")) * 60 + int('0' + self.find(r'[0-9]+s').replace('s', "")) <= 3153600000`,message="must be at most 100y, such as 10d"
type Duration string
