FROM golang:1.26 AS builder
ARG TARGETOS
ARG TARGETARCH

WORKDIR /workspace
# Download the modules in their own layer, which changes of the source do not invalidate.
COPY go.mod go.mod
COPY go.sum go.sum
RUN go mod download

# .dockerignore excludes what the build does not need.
COPY . .
# An empty TARGETARCH means the architecture of the build machine.
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} go build -trimpath -o manager ./cmd

# distroless: https://github.com/GoogleContainerTools/distroless
FROM gcr.io/distroless/static:nonroot
WORKDIR /
COPY --from=builder /workspace/manager .
USER 65532:65532

ENTRYPOINT ["/manager"]
