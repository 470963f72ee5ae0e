import { tryKubectl } from "../../control-plane/shared-control-plane.ts";
import { type Fields, type Kind, manifest } from "./manifest.ts";

/** A manifest with a name of its own. */
export interface Named {
  readonly kind: Kind;
  readonly name: string;
  readonly fields: Fields;
}

/** What kubectl says of one object among many. */
function about(name: string, output: string): string {
  const said = output.split(/\n(?=Error|The |\w+\.compute-operator\.dev)/);
  return said.filter((text) => new RegExp(`["/]${name}["\\s]`).test(text)).join("\n");
}

/**
 * Applies many manifests with one kubectl and resolves with what became of each: `done` is what it says of the objects
 * that were taken, `refused` what of the others; "" where it says nothing of that name.
 */
export async function applyAll(namespace: string, objects: readonly Named[], ...flags: string[]) {
  const documents = objects.map(({ kind, name, fields }) => JSON.stringify(manifest(kind, fields, name)));
  const { stdout, stderr } = await tryKubectl(["apply", "-n", namespace, "-f", "-", ...flags], {
    input: documents.join("\n---\n"),
  });
  return {
    done: (name: string) => about(name, stdout),
    refused: (name: string) => about(name, stderr),
  };
}

export type Answer = Awaited<ReturnType<typeof applyAll>>;
