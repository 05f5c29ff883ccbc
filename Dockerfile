# The tag names Go's version exactly, because the same version and the same source give the same binary.
# BuildKit and buildah set BUILDPLATFORM: Go cross-compiles on the build machine.
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS builder
ARG TARGETOS
ARG TARGETARCH

WORKDIR /workspace
# Download the modules in their own layer, which changes of the source do not invalidate.
COPY go.mod go.mod
COPY go.sum go.sum
RUN go mod download

# .dockerignore excludes what the build does not need.
COPY . .
# The version that the program reports: VERSION and REVISION of the Makefile.
ARG VERSION
ARG REVISION
# An empty TARGETARCH means the architecture of the build machine.
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} go build -trimpath -tags grpcnotrace -ldflags "-s -w -X mapcontroller.dev/snapshotschedule/internal/version.version=${VERSION} -X mapcontroller.dev/snapshotschedule/internal/version.revision=${REVISION}" -o manager ./cmd
# The kubectl plugin, for hooks that take a snapshot before an upgrade: config/samples/hook.
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} go build -trimpath -tags grpcnotrace -ldflags "-s -w -X mapcontroller.dev/snapshotschedule/internal/version.version=${VERSION} -X mapcontroller.dev/snapshotschedule/internal/version.revision=${REVISION}" -o kubectl-snapsched ./cmd/kubectl-snapsched

# No base image: the programs are static binaries, have the time zones in them and need no other file, so
# there is nothing to patch. 'make image' builds the same image, and the deployment tests run it.
FROM scratch
ARG VERSION
ARG REVISION
ARG REPOSITORY
LABEL org.opencontainers.image.title="SnapshotSchedule" \
      org.opencontainers.image.description="Takes CSI VolumeSnapshots of PersistentVolumeClaims on a schedule and deletes them by retention policy." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="${REPOSITORY}" \
      org.opencontainers.image.documentation="${REPOSITORY}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
WORKDIR /
COPY --from=builder /workspace/manager /workspace/kubectl-snapsched ./
USER 65532:65532

ENTRYPOINT ["/manager"]
