import { describe, expect, test } from "vitest";
import { reasonOf } from "../../../src/operator/service-client/transport.ts";

function errorOf(message: string, more: { name?: string; code?: unknown } = {}): Error {
  return Object.assign(new Error(message), more);
}

describe("the reason for a missing answer is stated in a few words:", () => {
  test.each([
    ["something that is no error", "no answer"],
    [errorOf("The operation was aborted due to timeout", { name: "TimeoutError", code: 23 }), "no answer in time"],
    [errorOf("This operation was aborted", { name: "AbortError", code: 20 }), "aborted"],
    [errorOf("Proxy response (407) !== 200 when HTTP Tunneling"), "the proxy answered HTTP 407"],
    [errorOf("connect ECONNREFUSED 127.0.0.1:1", { code: "ECONNREFUSED" }), "connect ECONNREFUSED 127.0.0.1:1"],
    [errorOf("other side closed", { code: "UND_ERR_SOCKET" }), "UND_ERR_SOCKET: other side closed"],
    [errorOf("with a number for a code", { code: 7 }), "with a number for a code"],
    [errorOf("without a code"), "without a code"],
    [Object.assign(new AggregateError([], "all failed"), { code: "ETIMEDOUT" }), "ETIMEDOUT"],
    [new AggregateError([], "all failed"), "cannot connect"],
  ])("%s", (error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });
});

describe("a certificate that no trusted authority has signed is reported with what to do:", () => {
  test.each([
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "CERT_SIGNATURE_FAILURE",
  ])("%s", (code) => {
    const error = errorOf("unable to verify", { code });
    expect(reasonOf(error)).toBe(
      `${code}: the service's certificate is signed by an authority that is not trusted: put that authority's certificate into spec.caBundle of the ServiceConnection`,
    );
    expect(reasonOf(error, "PEM")).toBe(
      `${code}: the service's certificate is signed by another authority than spec.caBundle of the ServiceConnection holds`,
    );
  });

  test("an expired certificate is not reported so: another authority would not mend it", () => {
    expect(reasonOf(errorOf("certificate has expired", { code: "CERT_HAS_EXPIRED" }))).toBe(
      "CERT_HAS_EXPIRED: certificate has expired",
    );
  });
});
