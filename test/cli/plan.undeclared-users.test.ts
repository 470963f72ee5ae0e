import { expect, test } from "vitest";
import type { OurKind } from "../../src/cli/manifests/kinds.ts";
import { prunedObjects } from "../../src/cli/plan/undeclared.ts";
import { API_VERSION } from "../../src/operator/resources/names.ts";
import { type ComputeFields, compute, uidOf } from "../support/builders.ts";

/** What becomes of an object that nothing declares, while a Compute of namespace `shop` stays. */
function fate(kind: OurKind, of: { namespace?: string; name: string }, staying: ComputeFields): string {
  const metadata = { ...of, uid: uidOf("b"), resourceVersion: "1" };
  const object = { apiVersion: API_VERSION, kind, metadata, spec: { projectID: "p", expiry: { never: true } } };
  const computes = [compute({ name: "api", namespace: "shop", ...staying })];
  const [pruned] = prunedObjects([{ kind, object }], { computes }, []);
  return `${pruned?.step}: ${pruned?.message}`;
}

const waits = (verb: string) =>
  expect.stringContaining(`refuse: its deletion waits while Computes ${verb} it: shop/api.`);
const deleted = expect.stringMatching(/^delete: /);
const naming = { spec: { branchID: undefined, branchRef: { name: "pr-1" } } };
const using = (name: string, kind = "ServiceConnection") => ({ spec: { connectionRef: { kind, name } } });

test.each<[string, OurKind, { namespace?: string; name: string }, ComputeFields, unknown]>([
  ["the branch that it names", "Branch", { namespace: "shop", name: "pr-1" }, naming, waits("name")],
  ["a branch of another name", "Branch", { namespace: "shop", name: "pr-2" }, naming, deleted],
  ["a branch of that name elsewhere", "Branch", { namespace: "other", name: "pr-1" }, naming, deleted],
  ["its connection", "ServiceConnection", { namespace: "shop", name: "eu" }, using("eu"), waits("use")],
  ["a connection of another name", "ServiceConnection", { namespace: "shop", name: "us" }, using("eu"), deleted],
  [
    "a connection of that name elsewhere",
    "ServiceConnection",
    { namespace: "other", name: "eu" },
    using("eu"),
    deleted,
  ],
  ["a cluster's connection of that name", "ClusterServiceConnection", { name: "eu" }, using("eu"), deleted],
  [
    "its cluster's connection",
    "ClusterServiceConnection",
    { name: "eu" },
    using("eu", "ClusterServiceConnection"),
    waits("use"),
  ],
  [
    "a connection of the name of its cluster's",
    "ServiceConnection",
    { namespace: "shop", name: "eu" },
    using("eu", "ClusterServiceConnection"),
    deleted,
  ],
])("a Compute that stays keeps what it uses of its namespace: %s", (_, kind, of, staying, expected) => {
  expect(fate(kind, of, staying)).toEqual(expected);
});
