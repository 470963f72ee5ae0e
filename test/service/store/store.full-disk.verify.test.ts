import { execFileSync } from "node:child_process";
import { statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../../src/service/store/database.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { asRoot } from "../postgres/rig.ts";

/** Only root can give a store a disk of its own to fill. */
describe("a disk with little room", () => {
  const directory = temporaryDirectory("store");
  const disk = directory.path;
  const file = join(disk, "service.sqlite");
  const canMount = asRoot.length > 0;
  beforeAll(() => {
    if (canMount) execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", disk]);
  });
  afterAll(() => {
    if (canMount) execFileSync("umount", ["-l", disk]);
    directory.remove();
  });

  it("keeps what it has for changes: a store takes none of it for later, nor leaves what it had begun to take", () => {
    if (!canMount) return;
    const before = new Database(file);
    before.run("VACUUM");
    before.run("CREATE TABLE room AS SELECT zeroblob(100000) AS bytes");
    before.close();
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, "filler"), Buffer.alloc(bavail * bsize - 6 * 1024 ** 2));
    const db = new Database(file);
    db.transaction(() => db.run("CREATE TABLE grown (bytes)"));
    for (let n = 0; n < 1000; n += 1) db.transaction(() => db.run("INSERT INTO grown VALUES (zeroblob(1000))"));
    expect(db.one("SELECT count(*) AS n FROM grown")).toEqual({ n: 1000 });
    expect(db.one("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'room'")).toEqual({ n: 0 });
    db.close();
  });
});
