import { describe, expect, test } from "vitest";
import { ClusterWorld } from "../integration/support/cluster-world.ts";
import { project } from "../integration/support/seeded-service.ts";
import { isReady } from "../support/is-ready.ts";
import { json } from "../support/scripted-service.ts";
import { type Behaviour, Tenants } from "./tenants.ts";

// Two namespaces share the key of a ClusterServiceConnection. One does what it can to keep the other waiting.

const mine = 10;
const theirs = 60;
const silent = 900;
const connections = 25;
const connectionRef = { kind: "ClusterServiceConnection", name: "fleet" };

const neverAnswersWrites: Behaviour = ({ method, path }) => {
  const everything = { auth_method: "api_key_user", projects: [], endpoints: [], operations: [], path };
  return method === "GET" ? { afterMs: 20, answer: json(200, everything) } : "silence";
};

/** Seconds until each of the good tenant's edits is carried out. */
async function timesOfEdits(isNoisy: boolean): Promise<number[]> {
  const branches = Array.from({ length: mine }, (_, n) => `br-${n}`);
  const projects = Array.from({ length: theirs }, (_, n) => ({ id: `e-${n}`, branches: [`br-e-${n}`] }));
  await using tenants = new Tenants();
  const { clock } = tenants;
  tenants.healthy("shared.test", branches, undefined, projects);
  tenants.behaves("silent.test", neverAnswersWrites);
  tenants.share("fleet", "shared.test", { perMinute: 700, burst: 40 });
  tenants.send("POST", "/api/v1/namespaces", { metadata: { name: "good" } });
  tenants.tenant("evil", "silent.test", { connections });
  const size = (units: number) => ({ min: units, max: units });
  const declare = (namespace: string, name: string, projectID: string, branchID: string) =>
    tenants.declare(namespace, name, { projectID, branchID, connectionRef, computeUnits: size(1) });
  for (const [n, branch] of branches.entries()) declare("good", `g-${n}`, project, branch);
  await clock.advance(30_000);
  if (isNoisy) {
    for (let n = 0; n < theirs; n += 1) declare("evil", `w-${n}`, `e-${n}`, `br-e-${n}`);
    for (let n = 0; n < silent; n += 1) {
      const name = n % connections === 0 ? "default" : `other-${n % connections}`;
      tenants.declare("evil", `s-${n}`, { projectID: `p-${n}`, branchID: "br-x", connectionRef: { name } });
    }
    await clock.advance(60_000);
  }
  // The other edits all of its own every five seconds.
  let units = 1;
  const editAll = () => {
    units = units === 2 ? 4 : 2;
    for (let n = 0; n < theirs; n += 1) tenants.edit("evil", `w-${n}`, { computeUnits: size(units) });
    cancel = clock.after(5000, editAll);
  };
  let cancel = () => {};
  if (isNoisy) editAll();
  await clock.advance(20_000);
  const start = clock.monotonic();
  for (let n = 0; n < mine; n += 1) tenants.edit("good", `g-${n}`, { computeUnits: size(2) });
  const times: number[] = [];
  while (times.length < mine && clock.monotonic() - start < 200_000) {
    await clock.advance(500);
    const ready = tenants.computes("good").filter(isReady).length;
    while (times.length < ready) times.push((clock.monotonic() - start) / 1000);
  }
  cancel();
  return times;
}

describe("a key that namespaces share", () => {
  test("serves one's edits beside another that edits without end and waits for a silent service of its own", async () => {
    const alone = await timesOfEdits(false);
    const beside = await timesOfEdits(true);
    expect([alone.length, beside.length]).toEqual([mine, mine]);
    expect(beside.at(-1)).toBeLessThanOrEqual(1.5 * (alone.at(-1) ?? 0));
  }, 600_000);

  test("serves one's create beside another whose Computes ask for fresh lists every second", async () => {
    const many = 14;
    const projects = Array.from({ length: many }, (_, n) => ({ id: `evil-${n}`, branches: [`br-e-${n}`] }));
    const requestBudget = { perMinute: 300, burst: 10 };
    const connection = { namespaceSelector: {}, allowedProjects: ["*"], requestBudget };
    await using world = new ClusterWorld({ branches: ["br-1", "br-2"], projects, connection });
    const { clock } = world;
    for (const namespace of ["shop", "evil"]) world.namespace(namespace);
    world.declare("shop", "db", {});
    await world.ready("shop", "db");
    for (let n = 0; n < many; n += 1) {
      world.declare("evil", `r-${n}`, { projectID: `evil-${n}`, branchID: `br-e-${n}`, type: "read_only" });
    }
    await clock.advance(20_000);
    let count = 0;
    const annotate = () => {
      for (let n = 0; n < many; n += 1) world.setAnnotation("evil", `r-${n}`, "reconcileRequestedAt", `${count++}`);
    };
    const seconds = async (isDone: () => boolean) => {
      for (let passed = 0; passed < 120; passed += 1) {
        if (isDone()) return passed;
        annotate();
        await clock.advance(1000);
      }
      return Number.POSITIVE_INFINITY;
    };
    let passed = 0;
    await seconds(() => passed++ >= 20);
    world.declare("shop", "db2", { branchID: "br-1" });
    expect(await seconds(() => isReady(world.compute("shop", "db2")))).toBeLessThanOrEqual(5);
  }, 600_000);

  test("serves one's Branch beside another whose 60 Branches get a new lease and a new reset every second", async () => {
    await using tenants = new Tenants();
    const { clock } = tenants;
    const at = (namespace: string) => `/apis/compute-operator.dev/v1alpha1/namespaces/${namespace}/branches`;
    const make = (namespace: string, name: string, lease: string) => {
      const spec = { projectID: project, expiry: { lease }, connectionRef };
      const kind = { apiVersion: "compute-operator.dev/v1alpha1", kind: "Branch" };
      tenants.send("POST", at(namespace), { ...kind, metadata: { name }, spec });
    };
    const path = `${at("good")}/pr-1`;
    const secondsUntil = async (isDone: () => boolean) => {
      let seconds = 0;
      for (; !isDone() && seconds < 120; seconds += 1) {
        for (let n = 0; n < theirs; n += 1) {
          const object = tenants.send("GET", `${at("evil")}/b-${n}`);
          const annotations = { "compute-operator.dev/resetAt": `${clock.monotonic()}` };
          const spec = { ...object.spec, expiry: { lease: `${60 + (seconds % 2)}s` } };
          tenants.send("PUT", `${at("evil")}/b-${n}`, {
            ...object,
            metadata: { ...object.metadata, annotations },
            spec,
          });
        }
        await clock.advance(1000);
      }
      return seconds;
    };
    tenants.healthy("shared.test", []);
    tenants.share("fleet", "shared.test", { perMinute: 700, burst: 40 });
    for (const name of ["good", "evil"]) tenants.send("POST", "/api/v1/namespaces", { metadata: { name } });
    await clock.advance(3000);
    for (let n = 0; n < theirs; n += 1) make("evil", `b-${n}`, "60s");
    await clock.advance(60_000);
    make("good", "pr-1", "24h");
    expect(await secondsUntil(() => isReady(tenants.send("GET", path)))).toBeLessThan(10);
    tenants.send("DELETE", path);
    expect(await secondsUntil(() => tenants.server.handle({ method: "GET", path }).status === 404)).toBeLessThan(30);
  }, 600_000);
});
