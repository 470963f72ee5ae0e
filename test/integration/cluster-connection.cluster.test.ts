import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KubectlOptions, kubectl, runKubectl } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { type Attempt, attempts } from "./support/attempts.ts";
import { keySecret } from "./support/manifests.ts";
import { preview, staging } from "./support/seeded-service.ts";
import { fleet, fleetCompute, inNamespace, TenantStage } from "./support/tenant-stage.ts";

let stage: TenantStage;
let admin: KubectlOptions;

beforeAll(async () => {
  stage = await TenantStage.start();
  ({ admin } = stage);
  await apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { fleet: "yes" } } });
  await apply(fleet({ matchLabels: { fleet: "yes" } }));
});

afterAll(() => stage?.stop());

const apply = (...objects: object[]) => stage.apply(...objects);
const ready = (namespace: string, name: string) => stage.ready(namespace, name);
const said = (namespace: string, name: string) => stage.said(namespace, name);
const tried = (args: readonly string[], input?: object) => stage.tried(args, input);

const writesOf = (...methods: string[]) =>
  stage.host.calls.filter(({ method, status }) => methods.includes(method) && status !== 423);
const countOfWrites = () => writesOf("POST", "PATCH", "DELETE").length;

describe("a ClusterServiceConnection under the shipped rights", () => {
  it("brings a Compute of a namespace that it selects to Ready", async () => {
    await apply(fleetCompute("db", "shop", { connectionSecret: { name: "details" } }));
    await ready("shop", "db");
    const reason = ["get", "csconn", "fleet", "-o", "jsonpath={.status.conditions[0].reason}"];
    await eventually("the connection to say so", async () => {
      return (await kubectl(reason, admin)) === "Authenticated" || undefined;
    });
    expect(stage.log.filter((line) => /forbidden|cannot list/i.test(line))).toEqual([]);
  });

  it("a ClusterServiceConnection is refused with a message where the manifest is wrong", async () => {
    const wrong = async (spec: object) => {
      const object = fleet({}, "wrong");
      const input = JSON.stringify({ ...object, spec: { ...object.spec, ...spec } });
      return (await runKubectl(["create", "-f", "-"], { ...admin, input })).stderr;
    };
    expect(await wrong({ allowedProjects: undefined })).toContain("spec.allowedProjects: Required value");
    expect(await wrong({ namespaceSelector: undefined })).toContain("spec.namespaceSelector: Required value");
    expect(await wrong({ allowedProjects: ["a b"] })).toContain("spec.allowedProjects[0]");
    const matchExpressions = [{ key: "fleet", operator: "In" }];
    expect(await wrong({ namespaceSelector: { matchExpressions } })).toContain("In and NotIn need values");
    const typo = [{ key: "fleet", operator: "Is", values: ["yes"] }];
    expect(await wrong({ namespaceSelector: { matchExpressions: typo } })).toContain("Unsupported value");
  });
});

describe("a tenant who may edit everything of ours in one namespace", () => {
  it.each<Attempt>(attempts)("cannot %s", async (_, args, input) => {
    const { status, stderr } = await tried(args, input);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/Forbidden|forbidden/);
  });

  it("cannot create a connection of the cluster", async () => {
    const { stderr } = await tried(["create", "-f", "-"], fleet({}, "mine"));
    expect(stderr).toContain("forbidden");
  });

  it("cannot use it from a namespace that it does not select, nor take another's branch or endpoint", async () => {
    const before = countOfWrites();
    const mine = [
      fleetCompute("branch", "mallory"),
      fleetCompute("free-branch", "mallory", { branchID: preview }),
      fleetCompute("take-over", "mallory", { adopt: { branchPrimary: true } }),
      fleetCompute("with-details", "mallory", { type: "read_only", connectionSecret: { name: "details" } }),
    ];
    for (const attempt of mine) expect((await tried(["apply", "-f", "-"], attempt)).status).toBe(0);
    await eventually("all to be refused", async () => {
      const messages = await Promise.all(mine.map(({ metadata }) => said("mallory", metadata.name)));
      return messages.every((message) => message.includes('does not select namespace "mallory"')) || undefined;
    });
    expect(countOfWrites()).toBe(before);
  });

  it("cannot write a status that makes a user of the own Compute", async () => {
    const patch = JSON.stringify({ status: { clusterConnection: "fleet", observedThrough: "x" } });
    const args = ["patch", "compute", "branch", "-n", "mallory", "--subresource=status", "--type=merge", "-p", patch];
    expect((await tried(args)).stderr).toContain("forbidden");
    // Nor with the object itself, whose status the API server passes over.
    await tried(["patch", "compute", "branch", "-n", "mallory", "--type=merge", "-p", patch]);
    const path = "jsonpath={.status.clusterConnection}";
    expect(await kubectl(["get", "compute", "branch", "-n", "mallory", "-o", path], admin)).toBe("");
  });

  it("cannot use the key by a ServiceConnection of the own namespace", async () => {
    const { metadata: _, spec } = fleet({});
    const { namespaceSelector: __, ...rest } = spec;
    const mine = { apiVersion: "compute-operator.dev/v1alpha1", kind: "ServiceConnection", spec: rest };
    const before = countOfWrites();
    await tried(["apply", "-f", "-"], { ...mine, metadata: { name: "mine", namespace: "mallory" } });
    const through = { connectionRef: { name: "mine" }, branchID: preview };
    await tried(["apply", "-f", "-"], fleetCompute("by-own", "mallory", through));
    await eventually("the refusal", async () =>
      (await said("mallory", "by-own")).includes('There is no Secret "fleet-key"') ? true : undefined,
    );
    expect(countOfWrites()).toBe(before);
  });

  it("cannot block a project with a key that is none, nor with a certificate authority that fits nowhere", async () => {
    const { baseURL } = fleet({}).spec;
    const apiKeySecretRef = { name: "guessed" };
    const mine = (name: string, spec: object) => ({
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ServiceConnection",
      metadata: { name, namespace: "mallory" },
      spec: { baseURL, apiKeySecretRef, refreshInterval: "5s", ...spec },
    });
    const caBundle = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const before = countOfWrites();
    for (const object of [
      inNamespace(keySecret("guessed-key", "guessed"), "mallory"),
      mine("guessing", {}),
      mine("elsewhere", { caBundle }),
      fleetCompute("guessing", "mallory", { connectionRef: { name: "guessing" }, branchID: staging }),
      fleetCompute("elsewhere", "mallory", { connectionRef: { name: "elsewhere" }, branchID: staging }),
      fleetCompute("adopting", "mallory", { connectionRef: { name: "guessing" }, adopt: { branchPrimary: true } }),
    ]) {
      expect((await tried(["apply", "-f", "-"], object)).status).toBe(0);
    }
    await eventually("the refusal", async () => /key/i.test(await said("mallory", "guessing")) || undefined);
    expect(countOfWrites()).toBe(before);
    await apply(fleetCompute("third", "shop", { branchID: staging }));
    await ready("shop", "third");
    await ready("shop", "db");
    expect(countOfWrites()).toBe(before + 1);
  });

  it("cannot keep another from a free branch, however old the own claim", async () => {
    await apply(fleetCompute("second", "shop", { branchID: preview }));
    await ready("shop", "second");
    expect(writesOf("POST")).toHaveLength(3);
  });

  it("a tenant with a copied link deletes nothing of another's", async () => {
    const id = await kubectl(["get", "compute", "db", "-n", "shop", "-o", "jsonpath={.status.endpointID}"], admin);
    const copy = fleetCompute("copy", "mallory");
    const annotations = { "compute-operator.dev/endpoint-id": id };
    await tried(["apply", "-f", "-"], { ...copy, metadata: { ...copy.metadata, annotations } });
    const refused = async () => (await said("mallory", "copy")).includes("does not select") || undefined;
    await eventually("the refusal", refused);
    await tried(["delete", "compute", "copy", "-n", "mallory", "--wait=false"]);
    await tried(["delete", "compute", "branch", "-n", "mallory", "--wait=false"]);
    await ready("shop", "db");
    expect(writesOf("DELETE")).toEqual([]);
  });

  it("a tenant with the right to change namespaces sets no label under access.compute-operator.dev/, by no subresource", async () => {
    const rights = ["--verb=get,update,patch,create", "--resource=namespaces,namespaces/status,namespaces/finalize"];
    await kubectl(["create", "clusterrole", "namespaces", ...rights], admin);
    await kubectl(["create", "clusterrolebinding", "namespaces", "--clusterrole=namespaces", "--user=mallory"], admin);
    const label = "access.compute-operator.dev/fleet";
    const refused = /labels under access\.compute-operator\.dev\/ decide/;
    await eventually("the policy to take effect", async () => {
      const { stderr } = await tried(["label", "namespace", "mallory", `${label}=yes`, "--dry-run=server"]);
      return refused.test(stderr) || undefined;
    });
    const patch = JSON.stringify({ metadata: { labels: { [label]: "yes" } } });
    for (const subresource of [[], ["--subresource=status"], ["--subresource=finalize"]]) {
      const args = ["patch", "namespace", "mallory", ...subresource, "--type=merge", "-p", patch];
      const { status, stderr } = await tried(args);
      expect([status === 0, subresource, stderr]).toEqual([false, subresource, expect.any(String)]);
    }
    const made = { apiVersion: "v1", kind: "Namespace", metadata: { name: "mallory-2", labels: { [label]: "yes" } } };
    expect((await tried(["create", "-f", "-"], made)).stderr).toMatch(refused);
    expect((await tried(["label", "namespace", "mallory", "team=mallory"])).status).toBe(0);
    await kubectl(["label", "namespace", "shop", `${label}=yes`], admin);
    expect((await tried(["label", "namespace", "shop", `${label}-`])).stderr).toMatch(refused);
    const shown = ["get", "namespace", "mallory", "-o", "jsonpath={.metadata.labels}"];
    expect(await kubectl(shown, admin)).not.toContain("access.compute-operator.dev");
    await kubectl(["delete", "clusterrolebinding", "namespaces"], admin);
  });

  it("does not stop the deletion of another's Compute or of the connection", async () => {
    // Of all that the tenant tried nothing came to the service: only the three of shop were made, and are deleted here.
    expect(writesOf("DELETE")).toEqual([]);
    await kubectl(["delete", "compute", "--all", "-n", "shop", "--timeout=60s"], admin);
    expect([writesOf("POST").length, writesOf("DELETE").length]).toEqual([3, 3]);
    expect(await kubectl(["get", "computes", "-n", "mallory", "-o", "name"], admin)).toContain("free-branch");
    await kubectl(["delete", "csconn", "fleet", "--timeout=60s"], admin);
  });
});
