import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { writePrivate } from "../../../src/service/postgres/private-file.ts";
import { temporaryDirectory } from "../../support/guardian.ts";

it("a private file is its owner's alone, also where a file was there that others could read", async () => {
  const { path: home, remove } = temporaryDirectory("private-file");
  onTestFinished(remove);
  const [fresh, loose] = [join(home, "fresh"), join(home, "loose")];
  writeFileSync(loose, "a longer text of before");
  chmodSync(loose, 0o644);
  for (const file of [fresh, loose]) {
    await writePrivate(file, "secret", undefined);
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["secret", 0o600]);
  }
});
