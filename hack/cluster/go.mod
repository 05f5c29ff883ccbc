// A module of its own, so that cobra and the terminal libraries stay out of the product's go.mod.
// Kubernetes itself is not a dependency: the program generates build modules that require it.
module mapcontroller.dev/snapshotschedule/hack/cluster

go 1.26.0

require (
	github.com/spf13/cobra v1.10.2
	golang.org/x/mod v0.28.0
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
)
