import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Content, Entry } from "./archive.ts";

/** A piece of an OCI artifact. */
export interface Blob {
  readonly type: string;
  readonly content: Buffer;
}

type Manifest = Readonly<Record<string, unknown>> & { readonly mediaType: string };

const digestOf = (content: Buffer) => createHash("sha256").update(content).digest("hex");

export function descriptorOf({ type, content }: Blob) {
  return { mediaType: type, digest: `sha256:${digestOf(content)}`, size: content.length };
}

const descriptor = z.looseObject({
  mediaType: z.string(),
  digest: z.string(),
  platform: z.looseObject({ os: z.string(), architecture: z.string() }).optional(),
});
const index = z.looseObject({ manifests: z.array(descriptor) });
const indexType = "application/vnd.oci.image.index.v1+json";

/**
 * The layout of an image that a builder wrote, under a tag. Builders list the platforms in any order, and add when and
 * how they built: the order is by platform here, and nothing is added.
 */
export function builtLayout(directory: string, tag: string): Content {
  const blobs = join(directory, "blobs", "sha256");
  const { manifests } = index.parse(JSON.parse(readFileSync(join(directory, "index.json"), "utf8")));
  const [top, ...others] = manifests;
  if (top === undefined || others.length > 0) throw new Error(`the builder wrote ${manifests.length} images, not one`);
  if (top.mediaType !== indexType) throw new Error(`the builder wrote ${top.mediaType}, and not one for all platforms`);
  const name = top.digest.replace("sha256:", "");
  const { manifests: images, ...about } = index.parse(JSON.parse(readFileSync(join(blobs, name), "utf8")));
  const platformOf = ({ platform }: z.output<typeof descriptor>) => `${platform?.os}/${platform?.architecture}`;
  const sorted = images.toSorted((a, b) => (platformOf(a) < platformOf(b) ? -1 : 1));
  const { files } = layoutOf({ ...about, mediaType: indexType, manifests: sorted }, tag, []);
  const parts = readdirSync(blobs).filter((blob) => blob !== name);
  const kept = parts.map((blob): [string, Entry] => [`blobs/sha256/${blob}`, { file: join(blobs, blob) }]);
  return { files: new Map([...kept, ...files]) };
}

/** An OCI image layout that holds one manifest under a tag: what `oras`, `skopeo` and `crane` push to a registry. */
export function layoutOf(manifest: Manifest, tag: string, blobs: readonly Blob[]): Content {
  const top: Blob = { type: manifest.mediaType, content: Buffer.from(JSON.stringify(manifest)) };
  const named = { ...descriptorOf(top), annotations: { "org.opencontainers.image.ref.name": tag } };
  const list = { schemaVersion: 2, mediaType: indexType, manifests: [named] };
  const entries = [top, ...blobs].map(({ content }) => [`blobs/sha256/${digestOf(content)}`, { content }] as const);
  const files = new Map<string, Entry>(entries);
  files.set("oci-layout", { content: JSON.stringify({ imageLayoutVersion: "1.0.0" }) });
  files.set("index.json", { content: JSON.stringify(list) });
  return { files };
}
