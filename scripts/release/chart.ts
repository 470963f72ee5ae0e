import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parse, parseDocument } from "yaml";
import { z } from "zod";
import { writeArchive } from "./archive.ts";
import { trackedFiles } from "./commit.ts";
import type { Making } from "./making.ts";
import { type Blob, descriptorOf, layoutOf } from "./oci-layout.ts";
import type { Run } from "./programs.ts";

const directory = "deploy/helm/compute-operator";
const metadata = z.looseObject({ name: z.string(), version: z.string(), description: z.string() });

/** Helm's media types. */
const configType = "application/vnd.cncf.helm.config.v1+json";
const contentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/** Packs the chart with the registry as its default: as an archive, and as the OCI artifact that `helm push` makes. */
export async function makeChart({ output, staging, commit, registry, version }: Making, run: Run): Promise<string[]> {
  const [archive, artifact] = [`compute-operator-chart-${version}.tgz`, `compute-operator-chart-${version}.oci.tar`];
  const { name, ...about } = metadata.parse(parse(readFileSync(join(directory, "Chart.yaml"), "utf8")));
  const tracked = await trackedFiles(run, directory);
  const files = new Map(
    tracked.map((file) => {
      const path = relative(directory, file);
      const entry = path === "values.yaml" ? { content: withRegistry(file, registry) } : { file };
      return [join(name, path), entry] as const;
    }),
  );
  const packed = join(output, archive);
  writeArchive({ files }, { staging, output: packed, time: commit.time, compressed: true });

  const config: Blob = { type: configType, content: Buffer.from(JSON.stringify({ name, ...about })) };
  const content: Blob = { type: contentType, content: readFileSync(packed) };
  const manifest = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: descriptorOf(config),
    layers: [descriptorOf(content)],
    annotations: {
      "org.opencontainers.image.title": name,
      "org.opencontainers.image.version": about.version,
      "org.opencontainers.image.description": about.description,
      "org.opencontainers.image.revision": commit.id,
    },
  };
  const layout = layoutOf(manifest, about.version, [config, content]);
  writeArchive(layout, { staging, output: join(output, artifact), time: commit.time, compressed: false });
  return [archive, artifact];
}

/** values.yaml with its comments, and the registry as its default. */
function withRegistry(file: string, registry: string): string {
  const values = parseDocument(readFileSync(file, "utf8"));
  values.setIn(["image", "registry"], registry);
  return values.toString({ lineWidth: 0 });
}
