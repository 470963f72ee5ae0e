# syntax=docker/dockerfile:1

# The same Node as in package.json: a test compares the two.
FROM node:24.21.0-bookworm-slim AS node

# The bundle is the same on every platform, so it is built on the builder's own: nothing of another is emulated for it.
FROM --platform=$BUILDPLATFORM node:24.21.0-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY scripts/ scripts/
RUN node scripts/setup.mjs
COPY src/ src/
RUN node scripts/bundle.ts --without-service

# The target `service`: the service with real Postgres behind its computes. Without a target, the operator is built.
FROM build AS build-service
RUN node scripts/bundle.ts

# pgvector is what clients may make of the extensions that the vendor offers beside those of Postgres itself: Debian's
# others need a superuser. Each version comes with the libraries that it is linked with.
FROM postgres:17-bookworm AS postgres17
RUN apt-get update && apt-get install --yes --no-install-recommends pgbouncer postgresql-17-pgvector
COPY scripts/postgres-root.sh /
RUN sh /postgres-root.sh /out /usr/lib/postgresql/17 /usr/share/postgresql/17 /usr/sbin/pgbouncer

FROM postgres:18-bookworm AS postgres18
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-18-pgvector
COPY scripts/postgres-root.sh /
RUN sh /postgres-root.sh /out /usr/lib/postgresql/18 /usr/share/postgresql/18

FROM node AS databases
WORKDIR /src
COPY --from=build /src/ ./
COPY --from=postgres17 /out/ /
COPY --from=postgres18 /out/ /
RUN useradd --uid 65532 --user-group --no-create-home nonroot
RUN node scripts/postgres-template.ts /usr/lib/postgresql/17/bin 65532
RUN node scripts/postgres-template.ts /usr/lib/postgresql/18/bin 65532
RUN mkdir /data && chown 65532:65532 /data

FROM gcr.io/distroless/cc-debian12:nonroot AS service
LABEL org.opencontainers.image.title="compute-operator service" \
      org.opencontainers.image.description="A Postgres-hosting service on one machine, with real Postgres behind its computes." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=postgres17 /out/ /
COPY --from=postgres18 /out/ /
COPY --from=databases /usr/lib/postgresql/ /usr/lib/postgresql/
COPY --from=databases --chown=65532:65532 /data/ /data/
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build-service /src/dist/ /app/
COPY LICENSE /app/LICENSE
ENV NODE_ENV=production PATH=/usr/local/bin:/usr/sbin:/usr/bin
USER 65532:65532
EXPOSE 8090 5432
VOLUME /data
ENTRYPOINT ["/usr/local/bin/node", "/app/compute-operator.js"]
CMD ["service", "--host=0.0.0.0", "--postgres", "--postgres-bin=/usr/lib/postgresql/*/bin", "--data=/data/state.db"]

# Neither shell nor package manager: the C library, certificates, one binary and one script.
FROM gcr.io/distroless/cc-debian12:nonroot
LABEL org.opencontainers.image.title="compute-operator" \
      org.opencontainers.image.description="Keeps the computes of a Postgres-hosting service as declared in Compute manifests." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build /src/dist/ /app/
COPY LICENSE /app/LICENSE
# Measured in docs/proof/bench.md: young generations of 4 MB, an old one that grows by half at most before it is
# collected, one malloc arena, and free memory given back: also what V8 needs only to compile, in blocks of 32 kB.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=65536 MALLOC_MMAP_THRESHOLD_=32768
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=4", "--heap-growing-percent=50", "--disallow-code-generation-from-strings", "/app/compute-operator.js"]
CMD ["run"]
