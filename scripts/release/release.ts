import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type BaseImage, baseImagesOf, pinned, resolved } from "./base-images.ts";
import { makeBill } from "./bill.ts";
import { makeChart } from "./chart.ts";
import { readSums, sha256Of, sumsFile, writeSums } from "./checksums.ts";
import { type Commit, checkedOut } from "./commit.ts";
import { type Built, makeImage } from "./image.ts";
import { makeKrewManifest } from "./krew.ts";
import type { Making, ReleaseOptions } from "./making.ts";
import { makeManifests } from "./manifests.ts";
import { makePackage } from "./npm-package.ts";
import type { Run } from "./programs.ts";
import { makeProvenance, provenanceFile } from "./provenance.ts";

/** What was made. */
export interface Release {
  readonly version: string;
  readonly commit: Commit;
  /** SHA-256 by file. */
  readonly sums: ReadonlyMap<string, string>;
  readonly image: Built;
  readonly baseImages: readonly BaseImage[];
}

/** Makes every part of a release, from the current directory. Throws with what to do where it cannot be made. */
export async function makeRelease(options: ReleaseOptions, run: Run): Promise<Release> {
  const { output } = options;
  const commit = await checkedOut(run);
  if (commit.changed.length > 0 && !options.uncommitted) {
    const [first, ...more] = commit.changed;
    const others = more.length === 0 ? "" : ` and ${more.length} more`;
    throw new Error(
      `${first}${others} differ from commit ${commit.id.slice(0, 12)}: nobody could make this release again. Commit them, or say --uncommitted to try it.`,
    );
  }
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync("package.json", "utf8")));
  const making: Making = { ...options, version, commit, staging: join(output, ".staging") };
  mkdirSync(output, { recursive: true });
  clear(output);

  const bundle = join(output, ".bundle");
  const ofImage = join(output, ".bundle-of-image");
  for (const args of [[bundle], ["--without-service", ofImage]]) {
    execFileSync(process.execPath, ["scripts/bundle.ts", ...args], { stdio: ["ignore", "ignore", "inherit"] });
  }
  const dockerfile = withoutService(readFileSync("Dockerfile", "utf8"));
  const baseImages = options.baseImages ?? (await resolved(baseImagesOf(dockerfile), run));

  const manifests = await makeManifests(making, run);
  const charts = await makeChart(making, run);
  const packed = makePackage(making, bundle);
  const krew = makeKrewManifest(making, { name: packed, sha256: sha256Of(join(output, packed)) });
  const bill = makeBill(making, ofImage, baseImages);
  for (const directory of [bundle, ofImage]) rmSync(directory, { recursive: true });
  const image = await makeImage(making, pinned(dockerfile, baseImages), run);
  const names = [manifests, ...charts, packed, krew, bill, ...("file" in image ? [image.file] : [])];
  makeProvenance(making, names, baseImages);
  const sums = writeSums(output, [...names, provenanceFile]);
  return { version, commit, sums, image, baseImages };
}

/** The Dockerfile up to its last stage, without those of the target `service`. */
export function withoutService(dockerfile: string): string {
  return dockerfile.replace(/^# The target `service`.*(?=^# Neither shell)/ms, "");
}

/** Removes an earlier release, so that none of its files passes for one of this. */
function clear(output: string): void {
  try {
    for (const name of readSums(output).keys()) rmSync(join(output, name), { force: true });
  } catch {
    // There is no earlier release.
  }
  rmSync(join(output, sumsFile), { force: true });
}
