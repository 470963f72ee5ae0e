import { expect, test } from "vitest";
import {
  digest,
  fleetOf,
  keyOf,
  signatureIn,
  signatureOf,
  signatureOfUID,
  uidInSignature,
} from "../../../src/operator/resources/signature.ts";

const uid = "0f6c1d1e-8d5b-4c57-9a3e-000000000009";
const bare = uid.replaceAll("-", "");
const compute = { metadata: { name: "a", namespace: "shop", uid, resourceVersion: "1" } };

// The names of what operators have made: another digest, and none of it is recognised.
test("fleet and key of a name stay what they are from version to version", () => {
  expect(fleetOf("prod")).toBe("6754af96");
  expect(keyOf(compute)).toBe("8585119be227f63a");
  expect(keyOf({ metadata: { ...compute.metadata, namespace: "a", name: "shop" } })).toBe("fa400b7a40712fcd");
  expect(digest("a", 4)).toBe("ca97");
});

test("a signature holds the uid, and in a fleet also fleet and key", () => {
  expect(signatureOf(compute, undefined)).toBe(`k8s-${uid}`);
  expect(signatureOfUID(uid)).toBe(`k8s-${uid}`);
  expect(signatureOf(compute, "0123abcd")).toBe(`k8s-0123abcd-${keyOf(compute)}-${bare}`);
});

test.each<[string, string | undefined, object | undefined]>([
  ["of a Compute", `k8s-${uid}`, { uid }],
  [
    "of a Compute of a fleet",
    `k8s-0123abcd-0123456789abcdef-${bare}`,
    { fleet: "0123abcd", key: "0123456789abcdef", uid },
  ],
  ["that is none", "reports", undefined],
  ["that is not there", undefined, undefined],
  ["that only begins like one", "k8s-reports", undefined],
  ["that only ends like one", `my-k8s-${uid}`, undefined],
  ["with more behind it", `k8s-${uid} `, undefined],
  [
    "of a fleet that is too long",
    `k8s-0123abcde-0123456789abcdef-${bare}`,
    { uid: `0123abcde-0123456789abcdef-${bare}` },
  ],
])("a name %s is read as it was written", (_, name, signature) => {
  expect(signatureIn(name)).toEqual(signature);
  expect(uidInSignature(name)).toBe(signature === undefined ? undefined : Reflect.get(signature, "uid"));
});
