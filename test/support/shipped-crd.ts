import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** A CRD as it is shipped, by the name of its file. */
export function shippedCRD(name: string) {
  return parse(readFileSync(new URL(`../../crds/${name}.yaml`, import.meta.url), "utf8"));
}
