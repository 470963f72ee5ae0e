import { describe, expect, test } from "vitest";
import type { RememberedWrite } from "../../../../src/operator/compute/memory.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { signatureOf } from "../../../../src/operator/resources/signature.ts";
import {
  compute,
  endpoint,
  type InputFields,
  input,
  madeBy,
  now,
  openSince,
  uidOf,
} from "../../../support/builders.ts";

const fleet = "3f2a91bc";

describe("a Compute that is deleted before a list has shown our signature", () => {
  const takeover = { operation: "takeover", endpointID: "ep-one" };
  const self = compute({ deleting: true, spec: { adopt: { former: true } }, status: { observedThrough: undefined } });
  const planned = (write: RememberedWrite, fields: InputFields = {}) =>
    plan(...input({ fleet, compute: self, ...fields, state: { write } }));
  const former = endpoint({ name: signatureOf(compute({ uid: uidOf("f") }), fleet) });
  const waits = (text: string) => ({ kind: "wait", reason: "CreateUnknown", message: expect.stringContaining(text) });

  test("waits until the signature can arrive no more, and leaves the endpoint then", () => {
    expect(planned(openSince(now - 5000, takeover), { endpoints: [former] })).toMatchObject(waits("--create-settle"));
    const closed = { ...openSince(0, takeover), phase: "closed" } as const;
    expect(planned(closed, { endpoints: [former] })).toMatchObject({ kind: "release" });
  });

  test("waits also where the PATCH was answered: only a list proves that nobody has signed the endpoint since", () => {
    expect(planned(openSince(now - 5000, takeover, "ep-one"), { endpoints: [former] })).toMatchObject(waits(""));
  });

  test("a deleted Compute has the endpoint deleted once a list shows our signature", () => {
    const endpoints = [madeBy(self)];
    expect(planned(openSince(now - 5000, takeover), { endpoints })).toMatchObject({
      kind: "delete",
      endpointID: "ep-one",
    });
  });

  test("waits while only another base URL can be asked", () => {
    const list = { baseURL: "https://other/api/v2", fingerprint: "other" };
    expect(planned(openSince(0, takeover), { list })).toMatchObject(waits("sent to https://service/api/v2"));
  });

  test("waits where that shows no project either", () => {
    const gone = { kind: "unavailable", reason: "ProjectNotFound", message: "", projectGone: true } as const;
    const at = (baseURL: string, fingerprint: string) => ({ observation: { ...gone, baseURL, fingerprint } });
    const write = openSince(now - 5000, takeover);
    expect(planned(write, at("https://other/api/v2", "other"))).toMatchObject({ kind: "wait", reason: "MassLoss" });
    expect(planned(write, at("https://service/api/v2", "here"))).toMatchObject({ kind: "release" });
  });
});
