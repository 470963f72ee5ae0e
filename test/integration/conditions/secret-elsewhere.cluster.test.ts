import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubectl } from "../../control-plane/kubectl.ts";
import { eventually } from "../../support/eventually.ts";
import { fleet, fleetCompute, TenantStage } from "../support/tenant-stage.ts";

// Connection Secrets in another namespace, under the rights and policies as they are shipped, which want a cluster-wide
// operator.

const details = { name: "shop-db", database: "neondb", role: "neondb_owner" };
let stage: TenantStage;

beforeAll(async () => {
  stage = await TenantStage.start(["access-labels"]);
  await stage.apply(fleet({}), namespace("shop"), namespace("apps"));
});

afterAll(() => stage?.stop());

function namespace(name: string) {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

const admin = (...args: string[]) => kubectl(args, stage.admin);
const agree = (where: string, from: string) =>
  admin("label", "namespace", where, `secrets-from.compute-operator.dev/${from}=yes`);

/** The data of a Secret, decoded; `undefined` where there is none. */
async function read(where: string, name = "shop-db"): Promise<Record<string, string> | undefined> {
  const found = await admin("get", "secret", name, "-n", where, "--ignore-not-found", "-o", "json");
  if (found === "") return undefined;
  const { data }: { data: Record<string, string> } = JSON.parse(found);
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString()]));
}

async function refusal(where: string, name: string, reason: string): Promise<string> {
  return eventually(`${reason} of ${where}/${name}`, async () => {
    const path = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}';
    const shown = await admin("get", "compute", name, "-n", where, "-o", path);
    return shown === reason ? stage.said(where, name) : undefined;
  });
}

describe("a connection Secret in another namespace", () => {
  it("SecretNotAllowed, until the namespace bears the label that the message names", async () => {
    await stage.apply(fleetCompute("db", "shop", { connectionSecret: { ...details, namespace: "apps" } }));
    const message = await refusal("shop", "db", "SecretNotAllowed");
    expect(message).toContain("kubectl label namespace apps secrets-from.compute-operator.dev/shop=yes");
    const stalled = 'jsonpath={.status.conditions[?(@.type=="Stalled")].status} {.status.endpointID}';
    expect(await admin("get", "compute", "db", "-n", "shop", "-o", stalled)).toMatch(/^True ep-/);
    expect(await read("apps")).toBeUndefined();
    await agree("apps", "shop");
    await stage.ready("shop", "db");
    expect((await read("apps"))?.["uri"]).toContain("postgresql://neondb_owner");
    const named = "jsonpath={.status.connectionSecret.namespace}/{.status.connectionSecret.name} {.status.binding}";
    expect(await admin("get", "compute", "db", "-n", "shop", "-o", named)).toBe("apps/shop-db ");
    expect(stage.log.filter((line) => /forbidden|cannot list/i.test(line))).toEqual([]);
  });
});
