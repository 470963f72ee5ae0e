import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { BaseImage } from "./base-images.ts";
import type { Making } from "./making.ts";

const billOfBundle = z.looseObject({ components: z.array(z.looseObject({})) });

/** Writes the bill of materials of the image: that of its bundles, with the images that it is based on. */
export function makeBill({ output, version }: Making, bundle: string, images: readonly BaseImage[]): string {
  const bill = billOfBundle.parse(JSON.parse(readFileSync(join(bundle, "sbom.cdx.json"), "utf8")));
  const { components, ...about } = bill;
  const based = images.map(({ name, digest }) => {
    const [repository = "", tag = ""] = name.split(":");
    const [short = ""] = repository.split("/").slice(-1);
    const purl = digest === undefined ? `pkg:docker/${repository}@${tag}` : `pkg:oci/${short}@${digest}?tag=${tag}`;
    return { type: "container", name: repository, version: digest ?? tag, purl, "bom-ref": purl };
  });
  const file = `compute-operator-${version}.sbom.cdx.json`;
  const text = JSON.stringify({ ...about, components: [...components, ...based] }, null, 2);
  writeFileSync(join(output, file), `${text}\n`);
  return file;
}
