import { createPrivateKey, X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";

it("makes a certificate for its names by an authority, which alone may sign", () => {
  const authority = newAuthority();
  const { certificate, key } = certificateFor(["localhost", "*.db.test", "127.0.0.1"], authority);
  const [root, leaf] = [new X509Certificate(authority.certificate), new X509Certificate(certificate)];
  expect([root.ca, leaf.ca]).toEqual([true, false]);
  expect([leaf.checkIssued(root), leaf.verify(root.publicKey), root.verify(root.publicKey)]).toEqual([
    true,
    true,
    true,
  ]);
  expect(leaf.subjectAltName).toBe("DNS:localhost, DNS:*.db.test, IP Address:127.0.0.1");
  expect([leaf.checkHost("ep-a.db.test"), leaf.checkHost("db.test")]).toEqual(["*.db.test", undefined]);
  expect([root.subject, leaf.issuer]).toEqual([
    expect.stringMatching(/^CN=compute-operator [0-9a-f]{12}$/),
    root.subject,
  ]);
  expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(leaf.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(newAuthority().certificate).not.toBe(authority.certificate);
});

it("certificates hold whatever the clock of the machine said as they were made, and for ever", () => {
  const authority = newAuthority();
  for (const { certificate } of [authority, certificateFor(["localhost"], authority)]) {
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    expect([validFromDate, validToDate].map((date) => date.getUTCFullYear())).toEqual([2000, 9999]);
  }
});

it("makes certificates that can be read, however long they are", () => {
  const authority = newAuthority();
  for (let length = 1; length <= 63; length += 1) {
    const { certificate } = certificateFor(["a".repeat(length)], authority);
    expect(new X509Certificate(certificate).subjectAltName).toBe(`DNS:${"a".repeat(length)}`);
  }
});

it("a certificate says what its key is for, and software that does not understand that has to refuse it", () => {
  const authority = newAuthority();
  const leaf = certificateFor(["localhost"], authority);
  const [root, own] = [authority, leaf].map(({ certificate }) => new X509Certificate(certificate).raw.toString("hex"));
  // The name of the extension, that it is critical, and its value.
  expect(root).toContain("0603551d130101ff040530030101ff");
  expect(root).toContain("0603551d0f0101ff040403020106");
  expect(own).toContain("0603551d130101ff04023000");
  expect(own).toContain("0603551d0f0101ff040403020780");
  // The authority's key has the same number in both, by which a client finds it.
  const [, key] = /0603551d0e04160414([0-9a-f]{40})/.exec(root ?? "") ?? [];
  expect(own).toContain(`0603551d23041830168014${key}`);
});

it("each certificate has a number of sixteen bytes that is positive", () => {
  const authority = newAuthority();
  const numbers = Array.from({ length: 12 }, () => certificateFor(["localhost"], authority)).map(
    ({ certificate }) => new X509Certificate(certificate).serialNumber,
  );
  for (const number of numbers) expect(number).toMatch(/^[4-7][0-9A-F]{31}$/);
  expect(new Set(numbers).size).toBe(12);
});

it("a name may have any length, also where a length takes another byte", () => {
  const authority = newAuthority();
  const lengths = [118, 234].flatMap((from) => Array.from({ length: 24 }, (_, index) => from + index));
  for (const length of lengths) {
    const { certificate } = certificateFor(["a".repeat(length)], authority);
    expect(new X509Certificate(certificate).subjectAltName).toBe(`DNS:${"a".repeat(length)}`);
  }
});
