import { chmodSync, existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { writePrivate } from "../../../../src/service/postgres/host/private-file.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { atEach } from "../at-each.ts";

it("a private file is its owner's alone, also where a file was there that others could read", async () => {
  const { path: home, remove } = temporaryDirectory("private-file");
  onTestFinished(remove);
  const [fresh, loose] = [join(home, "fresh"), join(home, "loose")];
  writeFileSync(loose, "a longer text of before");
  chmodSync(loose, 0o644);
  const modes = await atEach("writeFile", ({ mode }) => mode & 0o777);
  for (const file of [fresh, loose]) {
    await writePrivate(file, "secret", undefined);
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["secret", 0o600]);
  }
  expect(modes).toEqual([0o600, 0o600]);
  const descriptors = existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd") : [];
  const opened = descriptors.filter((fd) => {
    const path = join("/proc/self/fd", fd);
    return existsSync(path) && readlinkSync(path).startsWith(home);
  });
  expect(opened).toEqual([]);
});

it("a private file is its owner's, where that is another user than the service's", async () => {
  const { path: home, remove } = temporaryDirectory("private-file");
  onTestFinished(remove);
  const [me, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  // Only root gives files to another user.
  const owner = me === 0 ? { uid: 65_534, gid: 65_533 } : { uid: me, gid: group };
  const owners = await atEach("writeFile", ({ uid, gid }) => [uid, gid]);
  await writePrivate(join(home, "given"), "secret", owner);
  expect(owners).toEqual([[owner.uid, owner.gid]]);
  const { uid, gid, mode } = statSync(join(home, "given"));
  expect([uid, gid, mode & 0o777]).toEqual([owner.uid, owner.gid, 0o600]);
});
