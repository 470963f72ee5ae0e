import { existsSync, globSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");

/** Folders of tests about several rooms at once: here the vendor's own clients call the whole service. */
const aboutSeveralRooms = ["test/service/vendor"];

const files = globSync("test/{api,cli,operator,service}/**/*.test.ts", { cwd: root }).map((file) =>
  file.replaceAll("\\", "/"),
);

/** True if the mirrored folder of `src` has a source or a room with the first part of the file's name. */
function namesItsSource(file: string): boolean {
  const [name = ""] = basename(file).split(".");
  const beside = join(root, dirname(file).replace(/^test/, "src"), name);
  return existsSync(beside) || existsSync(`${beside}.ts`);
}

it("a test file begins with the name of the source or room of src that it tests", () => {
  expect(files.length).toBeGreaterThan(300);
  const nameless = files.filter((file) => !namesItsSource(file));
  expect(nameless.filter((file) => !aboutSeveralRooms.includes(dirname(file)))).toEqual([]);
});

it.each([
  ["test/operator/kube/lease.test.ts", true],
  ["test/operator/kube/lease.end.test.ts", true],
  ["test/cli/plan.fleet.test.ts", true],
  ["test/operator/kube/lease-end.test.ts", false],
  ["test/operator/kube/reconciler.test.ts", false],
])("the source of %s is found: %s", (file, found) => {
  expect(namesItsSource(file)).toBe(found);
});
