import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { pages } from "./commands.ts";

/**
 * The names below `compute-operator.dev/` in a text: annotations, labels, finalizers, types and the version. What
 * follows a resource, as in `compute.compute-operator.dev/shop`, is an object's name.
 */
function namesIn(text: string): string[] {
  const names = text.matchAll(/(?:\$\{GROUP\}|(?<![\w.-])(?:access\.)?compute-operator\.dev)\/([a-zA-Z][\w-]*)/g);
  return [...names].map(([, name = ""]) => name.replace(/-$/, ""));
}

const known = new Set(
  [...globSync("src/**/*.ts"), ...globSync("{crds,deploy}/**/*.yaml")].flatMap((file) =>
    namesIn(readFileSync(file, "utf8")),
  ),
);

it("knows the names that the program and the manifests have", () => {
  expect([...known]).toEqual(
    expect.arrayContaining(["paused", "confirmLoss", "restartedAt", "endpoint-id", "v1alpha1"]),
  );
  expect(namesIn("computepool.compute-operator.dev/readers compute-operator.dev/paused-")).toEqual(["paused"]);
});

it.each(pages)("%s names no annotation, label, finalizer or type that there is not", (page) => {
  expect(namesIn(readFileSync(page, "utf8")).filter((name) => !known.has(name))).toEqual([]);
});
