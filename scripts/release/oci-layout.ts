import { createHash } from "node:crypto";
import type { Content } from "./archive.ts";

/** A piece of an OCI artifact. */
export interface Blob {
  readonly type: string;
  readonly content: Buffer;
}

const digestOf = (content: Buffer) => createHash("sha256").update(content).digest("hex");

export function descriptorOf({ type, content }: Blob) {
  return { mediaType: type, digest: `sha256:${digestOf(content)}`, size: content.length };
}

/** An OCI image layout that holds one manifest under a tag: what `oras`, `skopeo` and `crane` push to a registry. */
export function layoutOf(manifest: { readonly mediaType: string }, tag: string, blobs: readonly Blob[]): Content {
  const top: Blob = { type: manifest.mediaType, content: Buffer.from(JSON.stringify(manifest)) };
  const named = { ...descriptorOf(top), annotations: { "org.opencontainers.image.ref.name": tag } };
  const index = { schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [named] };
  const entries = [top, ...blobs].map(({ content }) => [`blobs/sha256/${digestOf(content)}`, { content }] as const);
  const files = new Map<string, { content: string | Uint8Array }>(entries);
  files.set("oci-layout", { content: JSON.stringify({ imageLayoutVersion: "1.0.0" }) });
  files.set("index.json", { content: JSON.stringify(index) });
  return { files };
}
