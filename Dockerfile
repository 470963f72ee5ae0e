# syntax=docker/dockerfile:1

# The same Node as in package.json: a test compares the two.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY scripts/ scripts/
RUN node scripts/setup.mjs
COPY src/ src/
RUN node scripts/bundle.ts

# Neither shell nor package manager: the C library, certificates, one binary and one script.
FROM gcr.io/distroless/cc-debian12:nonroot
LABEL org.opencontainers.image.title="compute-operator" \
      org.opencontainers.image.description="Keeps the computes of a Postgres-hosting service as declared in Compute manifests." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /src/dist/ /app/
COPY LICENSE /app/LICENSE
# Measured in docs/proof/bench.md: young generations of 4 MB, an old one that grows by half at most before it is
# collected, one malloc arena, and free memory given back: also what V8 needs only to compile, in blocks of 32 kB.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=65536 MALLOC_MMAP_THRESHOLD_=32768
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=4", "--heap-growing-percent=50", "--disallow-code-generation-from-strings", "/app/compute-operator.js"]
CMD ["run"]
