import { createPrivateKey, X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";

it("makes a certificate for its names by an authority, which alone may sign", () => {
  const now = Date.UTC(2026, 0, 1);
  const authority = newAuthority(now);
  const { certificate, key } = certificateFor(["localhost", "*.db.test", "127.0.0.1"], authority, now);
  const [root, leaf] = [new X509Certificate(authority.certificate), new X509Certificate(certificate)];
  expect([root.ca, leaf.ca]).toEqual([true, false]);
  expect([leaf.checkIssued(root), leaf.verify(root.publicKey), root.verify(root.publicKey)]).toEqual([
    true,
    true,
    true,
  ]);
  expect(leaf.subjectAltName).toBe("DNS:localhost, DNS:*.db.test, IP Address:127.0.0.1");
  expect([leaf.checkHost("ep-a.db.test"), leaf.checkHost("db.test")]).toEqual(["*.db.test", undefined]);
  expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(leaf.validToDate.getUTCFullYear()).toBe(2035);
  expect(leaf.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(newAuthority(now).certificate).not.toBe(authority.certificate);
});

it("a certificate holds for a client whose clock is some hours behind", () => {
  const now = Date.UTC(2026, 0, 1);
  const authority = newAuthority(now);
  for (const { certificate } of [authority, certificateFor(["localhost"], authority, now)])
    expect(new X509Certificate(certificate).validFromDate.getTime()).toBeLessThan(now - 12 * 3_600_000);
});

it("makes certificates that can be read, however long they are", () => {
  const authority = newAuthority(0);
  for (let length = 1; length <= 63; length += 1) {
    const { certificate } = certificateFor(["a".repeat(length)], authority, 0);
    expect(new X509Certificate(certificate).subjectAltName).toBe(`DNS:${"a".repeat(length)}`);
  }
});

it("a certificate says what its key is for, and software that does not understand that has to refuse it", () => {
  const authority = newAuthority(0);
  const leaf = certificateFor(["localhost"], authority, 0);
  const [root, own] = [authority, leaf].map(({ certificate }) => new X509Certificate(certificate).raw.toString("hex"));
  // The name of the extension, that it is critical, and its value.
  expect(root).toContain("0603551d130101ff040530030101ff");
  expect(root).toContain("0603551d0f0101ff040403020106");
  expect(own).toContain("0603551d130101ff04023000");
  expect(own).toContain("0603551d0f0101ff040403020780");
});

it("each certificate has a number of sixteen bytes that is positive", () => {
  const authority = newAuthority(0);
  const numbers = Array.from({ length: 12 }, () => certificateFor(["localhost"], authority, 0)).map(
    ({ certificate }) => new X509Certificate(certificate).serialNumber,
  );
  for (const number of numbers) expect(number).toMatch(/^[4-7][0-9A-F]{31}$/);
  expect(new Set(numbers).size).toBe(12);
});

it("a name may have any length, also where a length takes another byte", () => {
  const authority = newAuthority(0);
  const lengths = [118, 234].flatMap((from) => Array.from({ length: 24 }, (_, index) => from + index));
  for (const length of lengths) {
    const { certificate } = certificateFor(["a".repeat(length)], authority, 0);
    expect(new X509Certificate(certificate).subjectAltName).toBe(`DNS:${"a".repeat(length)}`);
  }
});
