import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { writePrivate } from "../../../src/service/postgres/private-file.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "compute-operator-private-file-"));
});
afterEach(() => rmSync(home, { recursive: true }));

it("a private file is its owner's alone, also where a file was there that others could read", async () => {
  const [fresh, loose] = [join(home, "fresh"), join(home, "loose")];
  writeFileSync(loose, "a longer text of before");
  chmodSync(loose, 0o644);
  for (const file of [fresh, loose]) {
    await writePrivate(file, "secret", undefined);
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["secret", 0o600]);
  }
});
