# syntax=docker/dockerfile:1
# The image holds one static program and an empty folder for its data.

# The compiler runs on the machine's own system and builds for that of the image.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# .git is copied: the go command records the revision in the program. VERSION and
# REVISION serve contexts without it.
COPY . .
ARG TARGETOS TARGETARCH VERSION REVISION
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -pgo cmd/hub/release.pgo \
      -ldflags "-s -w $(scripts/ldflags.sh)" -o /out/hub ./cmd/hub \
 && mkdir -p /out/data/files

FROM scratch
# Certificates for rediss:// and, later, for AI backends.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/hub /hub
# A number, because there is no passwd file and Kubernetes can verify that a number is not root.
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
ENV HUB_ADDR=0.0.0.0:8080 \
    HUB_STORE=file:/data/store \
    HUB_FILES_DIR=/data/files
VOLUME /data
# The hub, and beside it the origin of apps and html windows.
EXPOSE 8080 8081
# The check runs the hub's own binary, which reads the same settings and so knows the port.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --start-interval=1s \
  CMD ["/hub", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/hub"]
CMD ["serve"]
