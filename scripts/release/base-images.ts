import { createHash } from "node:crypto";
import type { Run } from "./programs.ts";

/** An image that the Dockerfile begins a stage with. */
export interface BaseImage {
  /** As the Dockerfile names it, for example `node:24.21.0-bookworm-slim`. */
  readonly name: string;
  /** Its digest, for example `sha256:…`; `undefined` where no program could ask its registry. */
  readonly digest: string | undefined;
}

/** Programs that ask a registry for a digest, in the order in which they are tried. */
const askers: ReadonlyArray<
  readonly [program: string, args: (name: string) => string[], read: (said: string) => string]
> = [
  ["crane", (name) => ["digest", name], (said) => said.trim()],
  ["skopeo", (name) => ["inspect", "--raw", `docker://${name}`], (said) => `sha256:${sha256(said)}`],
  [
    "docker",
    (name) => ["buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", name],
    (said) => said.trim(),
  ],
];

/** The images that the stages from the first to the last need, each once; a stage of the Dockerfile itself is none. */
export function baseImagesOf(dockerfile: string): string[] {
  const stages = [...dockerfile.matchAll(/^FROM (?:--\S+ )?(\S+)(?: AS (\S+))?$/gm)];
  const own = new Set(stages.map(([, , stage]) => stage));
  return [...new Set(stages.map(([, image = ""]) => image))].filter((image) => !own.has(image));
}

/** Asks for the digest of each image. */
export async function resolved(names: readonly string[], run: Run): Promise<BaseImage[]> {
  const images: BaseImage[] = [];
  for (const name of names) images.push({ name, digest: await digestOf(name, run) });
  return images;
}

/** The Dockerfile with each resolved image by its digest. */
export function pinned(dockerfile: string, images: readonly BaseImage[]): string {
  const digests = new Map(images.map(({ name, digest }) => [name, digest]));
  return dockerfile.replaceAll(/^(FROM (?:--\S+ )?)(\S+)/gm, (line, from: string, name: string) => {
    const digest = digests.get(name);
    return digest === undefined ? line : `${from}${name}@${digest}`;
  });
}

async function digestOf(name: string, run: Run): Promise<string | undefined> {
  for (const [program, args, read] of askers) {
    const ended = await run(program, args(name));
    if (ended?.status !== 0) continue;
    const digest = read(ended.stdout);
    if (/^sha256:[0-9a-f]{64}$/.test(digest)) return digest;
  }
  return undefined;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
