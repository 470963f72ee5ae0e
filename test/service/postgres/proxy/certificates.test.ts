import { X509Certificate } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { authorityPath, certificateBy, servedNames } from "../../../../src/service/postgres/proxy/certificates.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";

let directory: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  directory = temporaryDirectory("certificates");
});
afterEach(() => directory.remove());

it("the authority lies beside the store, or with all else of a service that keeps nothing", () => {
  expect(authorityPath("shop.sqlite", "/root")).toBe(resolve("shop.sqlite.authority"));
  expect(authorityPath(":memory:", "/root")).toBe(join("/root", "authority"));
});

it("the certificates of each run are of one authority, whose key the service alone reads", async () => {
  const path = join(directory.path, "authority");
  const first = await certificateBy(path, ["one.example.com"]);
  expect(first.authorityFile).toBe(`${path}.crt`);
  const authority = readFileSync(first.authorityFile, "utf8");
  const second = await certificateBy(path, ["two.example.com"]);
  expect([second.authorityFile, readFileSync(second.authorityFile, "utf8")]).toEqual([`${path}.crt`, authority]);
  const { publicKey } = new X509Certificate(authority);
  const served = [first, second].map(({ certificate }) => new X509Certificate(certificate.certificate));
  expect(served.map((one) => one.verify(publicKey))).toEqual([true, true]);
  expect(served.map((one) => one.subjectAltName)).toEqual(["DNS:one.example.com", "DNS:two.example.com"]);
  expect(["key", "crt"].map((name) => statSync(`${path}.${name}`).mode & 0o777)).toEqual([0o600, 0o644]);
});

it.each([
  ["lost", (file: string) => rmSync(file)],
  ["empty, as after a loss of power,", (file: string) => truncateSync(file)],
])("an authority of which a part is %s is made again as a whole", async (_, lose) => {
  const path = join(directory.path, "authority");
  for (const lost of ["crt", "key"]) {
    await certificateBy(path, ["localhost"]);
    lose(`${path}.${lost}`);
    const { certificate, authorityFile } = await certificateBy(path, ["localhost"]);
    const { publicKey } = new X509Certificate(readFileSync(authorityFile));
    expect(new X509Certificate(certificate.certificate).verify(publicKey)).toBe(true);
  }
});

it("an authority that is there and cannot be read keeps its key: another one would end what clients trust", async () => {
  const path = join(directory.path, "authority");
  await certificateBy(path, ["localhost"]);
  const key = readFileSync(`${path}.key`, "utf8");
  rmSync(`${path}.crt`);
  mkdirSync(`${path}.crt`);
  await expect(certificateBy(path, ["localhost"])).rejects.toThrow(/EISDIR/);
  expect(readFileSync(`${path}.key`, "utf8")).toBe(key);
});

it("clients reach the proxy by its names and its address, which no certificate holds where it is of IPv6", () => {
  const own = ["localhost", "*.localhost", "127.0.0.1"];
  expect(servedNames(undefined, "127.0.0.1")).toEqual(own);
  expect(servedNames(undefined, "10.0.0.7")).toEqual([...own, "10.0.0.7"]);
  expect(servedNames(undefined, "::1")).toEqual(own);
  expect(servedNames("db.example.com", "10.0.0.7")).toEqual([...own, "10.0.0.7", "db.example.com", "*.db.example.com"]);
});
