module mapcontroller.dev/snapshotschedule/hack/tools/govulncheck

go 1.26.0

tool golang.org/x/vuln/cmd/govulncheck

// The version that v1.9.0 asks for can't be had from every module proxy.
replace golang.org/x/telemetry => golang.org/x/telemetry v0.0.0-20261009151841-97e8ea77aa2a

require (
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/telemetry v0.0.0-20261010193011-f71dc92da45e // indirect
	golang.org/x/tools v0.52.0 // indirect
	golang.org/x/vuln v1.9.0 // indirect
)
