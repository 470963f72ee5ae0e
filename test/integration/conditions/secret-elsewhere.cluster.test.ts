import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubectl } from "../../control-plane/kubectl.ts";
import { eventually } from "../../support/eventually.ts";
import { preview, staging } from "../support/seeded-service.ts";
import { fleet, fleetCompute, inNamespace, TenantStage } from "../support/tenant-stage.ts";

// Connection Secrets in another namespace, under the rights and policies as they are shipped, which want a cluster-wide
// operator.

const details = { name: "shop-db", database: "neondb", role: "neondb_owner" };
let stage: TenantStage;

beforeAll(async () => {
  stage = await TenantStage.start(["access-labels", "annotations"]);
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

const group = "compute-operator.dev";
/** A Secret that looks like the one of a Compute in another namespace. */
function marked(name: string, of: string, uid: string) {
  const annotations = { [`${group}/secret-of`]: `${of}/${uid}` };
  const metadata = { name, labels: { [`${group}/compute`]: uid }, annotations };
  return { apiVersion: "v1", kind: "Secret", type: "servicebinding.io/postgresql", metadata, data: { own: "eA==" } };
}

const uidOf = (where: string, name: string) =>
  admin("get", "compute", name, "-n", where, "-o", "jsonpath={.metadata.uid}");
const released = (where: string, name: string) =>
  admin("get", "events", "-n", where, "-o", `jsonpath={.items[?(@.involvedObject.name=="${name}")].message}`);

describe("a tenant who may edit everything of ours in one namespace", () => {
  it("a tenant who names another's namespace writes nothing there, and learns not whether there is one", async () => {
    const into = (where: string) => ({ connectionSecret: { ...details, name: "mine", namespace: where } });
    const mine = fleetCompute("mine", "mallory", { ...into("shop"), branchID: preview });
    expect((await stage.tried(["apply", "-f", "-"], mine)).status).toBe(0);
    const message = await refusal("mallory", "mine", "SecretNotAllowed");
    expect(await read("shop", "mine")).toBeUndefined();
    await stage.tried([
      "patch",
      "compute",
      "mine",
      "-n",
      "mallory",
      "--type=merge",
      "-p",
      JSON.stringify({ spec: into("none-such") }),
    ]);
    await eventually("the same of a namespace that is not there", async () => {
      const said = await stage.said("mallory", "mine");
      return said === message.replaceAll("shop", "none-such").replaceAll("none-such-db", "shop-db") || undefined;
    });
  });

  it("a tenant with the right to change namespaces labels neither the own nor another's, and may take a label away", async () => {
    const rights = ["--verb=get,update,patch,create", "--resource=namespaces,namespaces/status,namespaces/finalize"];
    await admin("create", "clusterrole", "namespaces", ...rights);
    await admin("create", "clusterrolebinding", "namespaces", "--clusterrole=namespaces", "--user=mallory");
    const refused = /labels under secrets-from\.compute-operator\.dev\/ whose connection Secrets it takes/;
    const labels = { "secrets-from.compute-operator.dev/mallory": "yes" };
    await eventually("the policy to take effect", async () => {
      const args = ["label", "namespace", "shop", "secrets-from.compute-operator.dev/mallory=yes", "--dry-run=server"];
      return refused.test((await stage.tried(args)).stderr) || undefined;
    });
    for (const where of ["shop", "mallory"]) {
      for (const subresource of [[], ["--subresource=status"], ["--subresource=finalize"]]) {
        const patch = JSON.stringify({ metadata: { labels } });
        const { status, stderr } = await stage.tried([
          "patch",
          "namespace",
          where,
          ...subresource,
          "--type=merge",
          "-p",
          patch,
        ]);
        expect([status === 0, where, subresource, stderr]).toEqual([false, where, subresource, expect.any(String)]);
      }
    }
    const made = { ...namespace("mallory-2"), metadata: { name: "mallory-2", labels } };
    expect((await stage.tried(["create", "-f", "-"], made)).stderr).toMatch(refused);
    await agree("mallory", "nobody");
    expect(
      (await stage.tried(["label", "namespace", "mallory", "secrets-from.compute-operator.dev/nobody-"])).status,
    ).toBe(0);
    await admin("delete", "clusterrolebinding", "namespaces");
  });

  it("a tenant who owns a Secret of that name keeps it as it is, also when the Compute goes", async () => {
    await agree("mallory", "shop");
    const theirs = inNamespace({ ...marked("theirs", "shop/third", "none"), metadata: { name: "theirs" } }, "mallory");
    expect((await stage.tried(["create", "-f", "-"], theirs)).status).toBe(0);
    const connectionSecret = { ...details, name: "theirs", namespace: "mallory" };
    await stage.apply(fleetCompute("third", "shop", { connectionSecret, branchID: staging }));
    const message = await refusal("shop", "third", "Conflict");
    expect(message).toContain('Secret "mallory/theirs" exists and does not belong to this Compute');
    await admin("delete", "compute", "third", "-n", "shop", "--timeout=60s");
    await admin("label", "namespace", "mallory", "secrets-from.compute-operator.dev/shop-");
    expect(await read("mallory", "theirs")).toEqual({ own: "x" });
  });

  it("a tenant cannot type the annotation, change it, nor take it away; a tool that may write statuses restores it", async () => {
    const uid = await uidOf("shop", "db");
    const typed = inNamespace(marked("typed", "shop/db", uid), "mallory");
    expect((await stage.tried(["create", "-f", "-"], typed)).stderr).toContain("say whose connection Secret this is");
    const { [`${group}/compute`]: _, ...unlabelled } = typed.metadata.labels;
    const later = { ...typed, metadata: { ...typed.metadata, labels: unlabelled } };
    expect((await stage.tried(["create", "-f", "-"], later)).status).toBe(0);
    const label = ["label", "secret", "typed", "-n", "mallory", `${group}/compute=${uid}`];
    expect((await stage.tried(label)).stderr).toContain("say whose connection Secret this is");
    await admin(...label);
    for (const change of [`${group}/secret-of=mallory/mine/${uid}`, `${group}/secret-of-`]) {
      const { stderr } = await stage.tried(["annotate", "secret", "typed", "-n", "mallory", "--overwrite", change]);
      expect(stderr).toContain("say whose connection Secret this is");
    }
    expect((await stage.tried(["annotate", "secret", "typed", "-n", "mallory", "note=mine"])).status).toBe(0);
  });

  it("a Secret that bears all marks in a namespace that does not agree gets no password, and stays when the Compute goes", async () => {
    const uid = await uidOf("shop", "db");
    await stage.apply(namespace("outside"), inNamespace(marked("shop-db", "shop/db", uid), "outside"));
    await admin("annotate", "compute", "db", "-n", "shop", `${group}/reconcileRequestedAt=now`);
    await eventually("the request to be handled", async () => {
      const path = "jsonpath={.status.lastHandledReconcileAt}";
      return (await admin("get", "compute", "db", "-n", "shop", "-o", path)) === "now" || undefined;
    });
    expect(await read("outside")).toEqual({ own: "x" });
    expect((await read("apps"))?.["uri"]).toContain("postgresql://");
  });

  it("a label that is taken away in the middle leaves the Secret as it is, and the deletion goes on and says so", async () => {
    const before = await read("apps");
    await admin("label", "namespace", "apps", "secrets-from.compute-operator.dev/shop-");
    await refusal("shop", "db", "SecretNotAllowed");
    await admin("delete", "compute", "db", "-n", "shop", "--timeout=60s");
    expect(await read("apps")).toEqual(before);
    expect(await read("outside")).toEqual({ own: "x" });
    expect(await read("mallory", "typed")).toEqual({ own: "x" });
    await eventually(
      "the event",
      async () =>
        /Secret apps\/shop-db is kept: that namespace does not agree/.test(await released("shop", "db")) || undefined,
    );
  });
});

describe("a tenant in whose namespace a Secret of another's Compute lies", () => {
  const patched = (patch: object) =>
    stage.tried(["patch", "secret", "lent", "-n", "mallory", "--type=merge", "-p", JSON.stringify(patch)]);
  const uidNow = () =>
    admin("get", "secret", "lent", "-n", "mallory", "--ignore-not-found", "-o", "jsonpath={.metadata.uid}");

  it("a tenant may delete it, give it an owner that is not there, or make it immutable: it comes back as it was", async () => {
    await agree("mallory", "shop");
    const connectionSecret = { ...details, name: "lent", namespace: "mallory" };
    await stage.apply(fleetCompute("lender", "shop", { connectionSecret, branchID: staging }));
    await stage.ready("shop", "lender");
    const first = await read("mallory", "lent");
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "none", uid: "00000000-0000-0000-0000-000000000000" };
    const taken = [
      () => stage.tried(["delete", "secret", "lent", "-n", "mallory"]),
      () => patched({ metadata: { ownerReferences: [owner] } }),
    ];
    for (const take of taken) {
      const before = await uidNow();
      expect((await take()).status).toBe(0);
      await eventually("another Secret", async () => ![before, ""].includes(await uidNow()) || undefined);
      expect(await read("mallory", "lent")).toEqual(first);
    }
    expect((await patched({ immutable: true })).status).toBe(0);
    await stage.apply(
      fleetCompute("lender", "shop", { connectionSecret: { ...details, name: "lent" }, branchID: staging }),
    );
    await eventually("the end of the one there", async () => (await uidNow()) === "" || undefined);
    await stage.apply(fleetCompute("lender", "shop", { connectionSecret, branchID: staging }));
    await eventually("the next one there", async () => (await uidNow()) !== "" || undefined);
    expect(await read("mallory", "lent")).toEqual(first);
  });

  it("a tenant's finalizer keeps the Secret, and neither the Compute nor the Compute's next Secret", async () => {
    expect((await patched({ metadata: { finalizers: ["example.com/held"] } })).status).toBe(0);
    const next = { ...details, name: "lent-next", namespace: "mallory" };
    await stage.apply(fleetCompute("lender", "shop", { connectionSecret: next, branchID: staging }));
    await eventually("the next Secret", async () => (await read("mallory", "lent-next")) ?? undefined);
    await admin("delete", "compute", "lender", "-n", "shop", "--timeout=60s");
    expect(await read("mallory", "lent-next")).toBeUndefined();
    const deleted = ["get", "secret", "lent", "-n", "mallory", "-o", "jsonpath={.metadata.deletionTimestamp}"];
    expect(await admin(...deleted)).not.toBe("");
    expect((await patched({ metadata: { finalizers: null } })).status).toBe(0);
    await eventually("the end of the first", async () => (await uidNow()) === "" || undefined);
    await admin("label", "namespace", "mallory", "secrets-from.compute-operator.dev/shop-");
  });
});

describe("a Compute that is declared again", () => {
  it("the Compute takes its former Secret over once the namespace agrees again, and takes it along while no operator ran", async () => {
    await stage.apply(fleetCompute("db", "shop", { connectionSecret: { ...details, namespace: "apps" } }));
    await refusal("shop", "db", "SecretNotAllowed");
    const former = await admin("get", "secret", "shop-db", "-n", "apps", "-o", "jsonpath={.metadata.uid}");
    await agree("apps", "shop");
    await stage.ready("shop", "db");
    expect(await admin("get", "secret", "shop-db", "-n", "apps", "-o", "jsonpath={.metadata.uid}")).toBe(former);
    const annotation = `jsonpath={.metadata.annotations.compute-operator\\.dev/secret-of}`;
    expect(await admin("get", "secret", "shop-db", "-n", "apps", "-o", annotation)).toBe(
      `shop/db/${await uidOf("shop", "db")}`,
    );
    await stage.stopOperator();
    await admin("delete", "compute", "db", "-n", "shop", "--wait=false");
    expect(await read("apps")).toBeDefined();
    stage.startOperator();
    await admin("wait", "--for=delete", "compute/db", "-n", "shop", "--timeout=60s");
    expect(await read("apps")).toBeUndefined();
  });

  it("labels and annotations of the template are refused for another namespace, with the reason", async () => {
    for (const member of ["labels", "annotations"]) {
      const template = { [member]: { "example.com/team": "shop" } };
      const wrong = fleetCompute("wrong", "mallory", { connectionSecret: { ...details, namespace: "apps", template } });
      const { stderr } = await stage.tried(["create", "-f", "-"], wrong);
      expect(stderr).toContain("connectionSecret.namespace excludes template.labels and template.annotations");
    }
  });
});
