import { describe, expect, test } from "vitest";
import { psqlCommand } from "../../src/cli/plugin/commands.ts";
import type { ClusterRequest, ClusterTransport } from "../../src/operator/kube/transport.ts";
import { asRecord } from "../../src/operator/objects/record.ts";
import { HostileServer, json } from "../operator/kube/hostile-server.ts";
import { main, project } from "../service/support/shop.ts";
import { realClock } from "../support/real-clock.ts";
import { Beside, kubeconfig } from "./beside.ts";
import { compute, connection, documents, pool } from "./texts.ts";

const branch = `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: pr-1, namespace: shop}
spec: {projectID: ${project}, expiry: {after: 72h}}
`;
const withSecret = compute("db", "type: read_only, connectionSecret: {name: shop-db, database: shop, role: app}", main);
const held = documents(connection, compute("shop-preview"), withSecret, pool("readers", 1), branch);

/** A cluster that KUBECONFIG names, whose context is in namespace shop. */
function cluster(...more: string[]): Beside {
  const beside = new Beside(documents(held, ...more));
  beside.stage.env = { KUBECONFIG: beside.stage.file("kubeconfig", kubeconfig) };
  return beside;
}

const verbs = ["status", "psql", "restart", "pause", "resume", "reset"] as const;

const run = ({ stage }: Beside, line: string, stdin?: string) => {
  const [word, ...args] = line.split(" ");
  const verb = verbs.find((each) => each === word);
  if (verb === undefined) throw new Error(`there is no command ${word}`);
  return stage.run(verb, args, stdin);
};

const path = (plural: string, name: string) => `/apis/compute-operator.dev/v1alpha1/namespaces/shop/${plural}/${name}`;
const annotationsOf = (beside: Beside, name = "shop-preview", plural = "computes") =>
  asRecord(asRecord(beside.send({ method: "GET", path: path(plural, name) }).metadata).annotations);

/** Writes a member of the status, as the operator does. */
function report(beside: Beside, member: string, value: unknown, name = "shop-preview", plural = "computes"): void {
  const body = [{ op: "add", path: `/status/${member}`, value }];
  beside.send({
    method: "PATCH",
    path: `${path(plural, name)}/status`,
    contentType: "application/json-patch+json",
    body,
  });
}

/** Sets the annotation that asks for a restart, or removes it, as another person does. */
function askOtherwise(beside: Beside, value?: string): void {
  const at = "/metadata/annotations/compute-operator.dev~1restartedAt";
  const body = [value === undefined ? { op: "remove", path: at } : { op: "add", path: at, value }];
  const contentType = "application/json-patch+json";
  beside.send({ method: "PATCH", path: path("computes", "shop-preview"), contentType, body });
}

const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

describe("status", () => {
  test("shows what, since when, why and what next, on one screen", async () => {
    using beside = cluster();
    beside.stage.time.pass(Date.parse("2026-01-01T02:05:09Z") - beside.stage.time.now());
    report(beside, "observedGeneration", 1);
    report(beside, "state", "Idle");
    report(beside, "size", "0.25–2 CU");
    report(beside, "host", "ep-a.example.com");
    report(beside, "operations", [
      { id: "op-1", action: "start_compute", status: "finished", updatedAt: "2026-01-01T02:05:00Z" },
    ]);
    report(beside, "conditions", [condition("Ready", "True", "Idle", "The compute is as declared and suspended.")]);
    const shown = await run(beside, "status shop-preview");
    expect(shown).toEqual({
      status: 0,
      err: "",
      out: `Compute shop/shop-preview is ready
  what       Idle, read_write, 0.25–2 CU, branch br-preview-1, project ${project}
  since      2h5m (2026-01-01T00:00:00Z)
  why        Idle: The compute is as declared and suspended.
  next       nothing to do: the first connection wakes it
  host       ep-a.example.com
  operation  start_compute finished, 9s (2026-01-01T02:05:00Z)`,
    });
  });

  test.each([
    [
      "a person",
      [condition("Ready", "False", "Conflict", "x"), condition("Stalled", "True", "Conflict", "x")],
      "a person has to act, as the message says",
    ],
    [
      "the operator",
      [condition("Ready", "False", "Creating", "x"), condition("Reconciling", "True", "Creating", "x")],
      "the operator goes on without you",
    ],
    ["nobody", [condition("Ready", "True", "Active", "x")], "nothing to do"],
    [
      "an operator that has not written a status",
      [],
      "the operator writes a status, if it runs and watches this namespace",
    ],
  ])("says that %s is next, and ends with 1 unless it is ready", async (_, conditions, next) => {
    using beside = cluster();
    report(beside, "observedGeneration", 1);
    report(beside, "conditions", conditions);
    const shown = await run(beside, "status shop-preview -n shop");
    expect(shown.out).toMatch(new RegExp(`^  next +${next}$`, "m"));
    expect(shown.status).toBe(next === "nothing to do" ? 0 : 1);
  });

  test("says that the last edit is not taken up, and what was asked for and is not carried out", async () => {
    using beside = cluster();
    await run(beside, "restart shop-preview");
    report(beside, "observedGeneration", 0);
    const { out } = await run(beside, "status shop-preview");
    expect(out).toContain("the operator takes up the last edit");
    expect(out).toMatch(/^ {2}asked +restart \S+, not carried out yet$/m);
  });

  test("shows branches, pools and connections of that name too, and says what there is none of", async () => {
    using beside = cluster();
    expect((await run(beside, "status pr-1")).out).toContain("Branch shop/pr-1 is not seen by the operator");
    expect((await run(beside, "status readers")).out).toContain("0 of 1 read replicas ready");
    expect((await run(beside, "status default")).out).toContain("https://service.example.com/api/v2");
    const none = await run(beside, "status nothing -n eu");
    expect(none).toMatchObject({ status: 1, out: "" });
    expect(none.err).toBe(
      "compute-operator status: namespace eu has no Compute, Branch, ComputePool or ServiceConnection named nothing",
    );
  });
});

describe("restart", () => {
  test("sets the annotation to the time, and with --wait says each reason until it is carried out", async () => {
    using beside = cluster();
    const began = beside.stage.time.now();
    beside.stage.time.passing = () => {
      const ms = beside.stage.time.now() - began;
      const reason = ms < 5000 ? "Restarting" : "Starting";
      report(beside, "conditions", [condition("Ready", "False", reason, "It is.")]);
      if (ms > 10_000) report(beside, "restartedAt", annotationsOf(beside)["compute-operator.dev/restartedAt"]);
    };
    const done = await run(beside, "restart shop-preview --wait");
    expect(annotationsOf(beside)["compute-operator.dev/restartedAt"]).toBe(new Date(began).toISOString());
    expect(done).toMatchObject({ status: 0, err: "" });
    expect(done.out.split("\n")).toEqual([
      "asked for a restart of Compute shop/shop-preview",
      "  Restarting: It is.",
      "  Starting: It is.",
      "restarted Compute shop/shop-preview",
    ]);
  });

  test("gives up after --timeout, and says that the request stands", async () => {
    using beside = cluster();
    const late = await run(beside, "restart shop-preview --wait --timeout 5s");
    expect(late).toMatchObject({
      status: 1,
      err: expect.stringContaining("after 5 s (--timeout); the request stands"),
    });
    expect(annotationsOf(beside)).toHaveProperty(["compute-operator.dev/restartedAt"]);
  });

  test("says that the request stands where its wait is interrupted", async () => {
    using beside = cluster();
    beside.stage.time.passing = () => beside.stage.stopping.abort();
    const ended = await run(beside, "restart readers --wait");
    expect(ended).toMatchObject({ status: 1, err: "compute-operator restart: interrupted" });
    expect(ended.out.split("\n")).toEqual([
      "asked for a restart of ComputePool shop/readers",
      "the request stands: ComputePool shop/readers is restarted without this command",
    ]);
    expect(annotationsOf(beside, "readers", "computepools")).toHaveProperty(["compute-operator.dev/restartedAt"]);
  });

  test("a restart that is waited for is given up after five minutes where no time is given", async () => {
    using beside = cluster();
    const began = beside.stage.time.now();
    const late = await run(beside, "restart shop-preview --wait");
    expect(late.err).toContain("not carried out after 300 s (--timeout)");
    expect(Math.round((beside.stage.time.now() - began) / 10_000)).toBe(30);
  });

  test("a restart is not waited for without --wait, nor said to be carried out by an earlier one", async () => {
    using beside = cluster();
    report(beside, "restartedAt", "2026-01-01T00:00:00.000Z");
    beside.stage.time.passing = () => report(beside, "state", "Active");
    expect((await run(beside, "restart shop-preview")).out).toBe("asked for a restart of Compute shop/shop-preview");
    const waited = await run(beside, "restart shop-preview --wait --timeout 3s");
    expect(waited).toMatchObject({ status: 1, out: "asked for a restart of Compute shop/shop-preview" });
  });

  test.each([
    ["another value", "2026-02-01T00:00:00Z", "another request replaced this one: the annotation"],
    ["a value of before", "2026-01-01T00:00:00Z", "another request replaced this one: the annotation"],
    ["no value", undefined, "the request no longer stands: the annotation"],
  ])("ends a wait at once when the annotation has %s", async (_, value, message) => {
    using beside = cluster();
    report(beside, "restartedAt", "2026-01-01T00:00:00Z");
    const began = beside.stage.time.now();
    beside.stage.time.passing = () => {
      beside.stage.time.passing = () => {};
      askOtherwise(beside, value);
    };
    const ended = await run(beside, "restart shop-preview --wait");
    const now = value === undefined ? "was removed" : `is now ${value}`;
    expect(ended).toEqual({
      status: 1,
      out: "asked for a restart of Compute shop/shop-preview",
      err: `compute-operator restart: ${message} compute-operator.dev/restartedAt ${now}`,
    });
    expect(beside.stage.time.now() - began).toBeLessThan(5000);
  });

  test("a restart that was carried out before another was asked for is said to be done", async () => {
    using beside = cluster();
    beside.stage.time.passing = () => {
      beside.stage.time.passing = () => {};
      report(beside, "restartedAt", annotationsOf(beside)["compute-operator.dev/restartedAt"]);
      askOtherwise(beside, "2026-02-01T00:00:00Z");
    };
    const done = await run(beside, "restart shop-preview --wait");
    expect(done).toMatchObject({ status: 0, out: expect.stringContaining("restarted Compute shop/shop-preview") });
  });

  test("a restart is for Computes and pools alone", async () => {
    using beside = cluster();
    expect((await run(beside, "restart pr-1")).err).toContain("has no Compute or ComputePool named pr-1");
  });

  test("a restart of a pool sets the pool's annotation, and is waited for until all members have restarted", async () => {
    using beside = cluster();
    const value = () => annotationsOf(beside, "readers", "computepools")["compute-operator.dev/restartedAt"];
    const began = beside.stage.time.now();
    beside.stage.time.passing = () => {
      if (beside.stage.time.now() - began > 5000) report(beside, "restartedAt", value(), "readers", "computepools");
    };
    const done = await run(beside, "restart readers --wait");
    expect(done.out).toBe("asked for a restart of ComputePool shop/readers\nrestarted ComputePool shop/readers");
    expect(value()).toBe(new Date(began).toISOString());
  });
});

describe("pause and resume", () => {
  test("set the annotation to a time, or to true, and remove it", async () => {
    using beside = cluster();
    const until = new Date(beside.stage.time.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, "Z");
    const timed = await run(beside, "pause shop-preview --for 1h");
    expect(timed).toEqual({ status: 0, err: "", out: `paused Compute shop/shop-preview until ${until}` });
    expect(annotationsOf(beside)["compute-operator.dev/paused"]).toBe(until);
    report(beside, "conditions", [condition("Ready", "True", "Paused", "x")]);
    expect((await run(beside, "status shop-preview")).out).toMatch(/next +goes on in (1h|59m\d*s?): it is paused/);
    expect((await run(beside, "restart shop-preview")).out).toContain("is paused, so the request waits");
    await run(beside, "pause shop-preview");
    expect(annotationsOf(beside)["compute-operator.dev/paused"]).toBe("true");
    expect((await run(beside, "status shop-preview")).out).toContain("nothing until resume: it is paused");
    expect((await run(beside, "resume shop-preview")).out).toBe("resumed Compute shop/shop-preview");
    expect(annotationsOf(beside)).not.toHaveProperty(["compute-operator.dev/paused"]);
    expect((await run(beside, "resume shop-preview")).out).toBe("Compute shop/shop-preview is not paused");
  });

  test("take branches, and days", async () => {
    using beside = cluster();
    const until = new Date(beside.stage.time.now() + 7 * 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");
    expect((await run(beside, "pause pr-1 --for 7d")).out).toBe(`paused Branch shop/pr-1 until ${until}`);
    expect((await run(beside, "pause pr-1 --for soon")).err).toContain("--for must be between 1s and 999d");
  });
});

describe("a Branch and a Compute of one name", () => {
  const paused = "compute-operator.dev/paused";
  const both = () => cluster(compute("pr-1", "type: read_only"));
  const pausedOf = (beside: Beside) =>
    ["computes", "branches"].filter((plural) => paused in annotationsOf(beside, "pr-1", plural));

  test.each(["pause", "resume"])("%s refuses the name, and names both", async (verb) => {
    using beside = both();
    await run(beside, "pause branch/pr-1");
    const message = "namespace shop has compute/pr-1 and branch/pr-1: write one of these instead of pr-1";
    expect(await run(beside, `${verb} pr-1`)).toEqual({
      status: 1,
      out: "",
      err: `compute-operator ${verb}: ${message}`,
    });
    expect(pausedOf(beside)).toEqual(["branches"]);
  });

  test.each([
    ["compute", "Compute"],
    ["computes", "Compute"],
    ["Compute", "Compute"],
    ["compute.compute-operator.dev", "Compute"],
    ["branch", "Branch"],
    ["branches", "Branch"],
    ["brn", "Branch"],
    ["branches.v1alpha1.compute-operator.dev", "Branch"],
  ])("%s/NAME is the %s for pause and resume", async (word, kind) => {
    using beside = both();
    expect((await run(beside, `pause ${word}/pr-1`)).out).toBe(`paused ${kind} shop/pr-1 until resume`);
    expect(pausedOf(beside)).toEqual([kind === "Compute" ? "computes" : "branches"]);
    expect((await run(beside, `resume ${word}/pr-1`)).out).toBe(`resumed ${kind} shop/pr-1`);
    expect(pausedOf(beside)).toEqual([]);
  });

  test.each([
    [[], 1],
    [["computes"], 1],
    [["branches"], 1],
    [["computes", "branches"], 0],
  ])("status shows both, and with %j ready ends with %d", async (ready, status) => {
    using beside = both();
    for (const plural of ["computes", "branches"]) {
      const state = ready.includes(plural) ? "True" : "False";
      report(beside, "conditions", [condition("Ready", state, "Active", "It is.")], "pr-1", plural);
    }
    const shown = await run(beside, "status pr-1");
    expect(shown).toMatchObject({ status, err: "" });
    expect(shown.out.split("\n").filter((line) => !line.startsWith("  "))).toEqual([
      `Compute shop/pr-1 is ${ready.includes("computes") ? "ready" : "not ready"}`,
      "",
      `Branch shop/pr-1 is ${ready.includes("branches") ? "ready" : "not ready"}`,
    ]);
    const branchAlone = await run(beside, "status brn/pr-1");
    expect(branchAlone.status).toBe(ready.includes("branches") ? 0 : 1);
    expect(branchAlone.out).not.toContain("Compute shop");
  });

  test("commands for one kind take the name", async () => {
    using beside = both();
    expect((await run(beside, "restart pr-1")).out).toBe("asked for a restart of Compute shop/pr-1");
    expect((await run(beside, "reset pr-1 --yes")).out).toBe("asked for a reset of Branch shop/pr-1");
    expect((await run(beside, "psql pr-1")).err).toContain("Compute shop/pr-1 writes no Secret");
  });

  test("an object that the caller may not read is left out", async () => {
    using beside = both();
    beside.refused.add("/branches");
    expect((await run(beside, "pause pr-1")).out).toBe("paused Compute shop/pr-1 until resume");
    expect((await run(beside, "status pr-1")).out).toMatch(/^Compute shop\/pr-1 is (?!.*Branch)/s);
    expect((await run(beside, "pause branch/pr-1")).err).toContain("no right to it");
  });
});

test.each([
  ["status computepool/readers", "ComputePool shop/readers is"],
  ["status sconn/default", "ServiceConnection shop/default is"],
])("%s shows that object", async (line, title) => {
  using beside = cluster();
  expect((await run(beside, line)).out).toContain(title);
});

test.each([
  ["restart branch/pr-1", "the kind of branch/pr-1 must be compute or computepool"],
  ["psql branch/pr-1", "the kind of branch/pr-1 must be compute"],
  ["reset compute/pr-1 --yes", "the kind of compute/pr-1 must be branch"],
  ["pause computepool/readers", "the kind of computepool/readers must be compute or branch"],
  ["pause computes.apps/pr-1", "the kind of computes.apps/pr-1 must be compute or branch"],
  ["pause branch/a/b", "namespace shop has no Compute or Branch named branch/a/b"],
  ["pause compute/pr-1", "namespace shop has no Compute named pr-1"],
])("%s changes nothing, and says why", async (line, message) => {
  using beside = cluster();
  const verb = line.split(" ")[0];
  const writes = answering(beside, () => undefined);
  expect(await run(beside, line)).toEqual({ status: 1, out: "", err: `compute-operator ${verb}: ${message}` });
  expect(writes).toEqual([]);
});

describe("reset", () => {
  test("asks first, and sets the annotation after a yes", async () => {
    using beside = cluster();
    expect((await run(beside, "reset pr-1")).err).toContain("pass --yes to reset the branch");
    beside.stage.terminal = true;
    const refused = await run(beside, "reset pr-1", "no\n");
    expect(refused).toEqual({
      status: 1,
      out: 'Reset Branch shop/pr-1 to the head of its parent? What was written to it is lost. Type "yes": ',
      err: "compute-operator reset: nothing was sent",
    });
    expect(annotationsOf(beside, "pr-1", "branches")).toEqual({});
    expect((await run(beside, "reset pr-1", "yes\n")).out).toContain("asked for a reset of Branch shop/pr-1");
    expect(annotationsOf(beside, "pr-1", "branches")).toHaveProperty(["compute-operator.dev/resetAt"]);
  });

  test("does not ask with --yes, and waits with --wait", async () => {
    using beside = cluster();
    beside.stage.time.passing = () => {
      const value = annotationsOf(beside, "pr-1", "branches")["compute-operator.dev/resetAt"];
      report(beside, "resetAt", value, "pr-1", "branches");
    };
    const done = await run(beside, "reset pr-1 --yes --wait");
    expect(done).toMatchObject({ status: 0, out: expect.stringContaining("reset Branch shop/pr-1") });
  });
});

describe("psql", () => {
  const uri = "postgresql://app%40eu:s%2Fcret@ep-a.example.com:5433/shop%20db?sslmode=require&options=endpoint%3Dep-a";

  function secret(beside: Beside, stringData: object): void {
    beside.hold({ apiVersion: "v1", kind: "Secret", metadata: { name: "shop-db", namespace: "shop" }, stringData });
  }

  test("reads a Secret that lies in another namespace there", async () => {
    const elsewhere = withSecret.replace("{name: shop-db,", "{name: shop-db, namespace: app,");
    using beside = new Beside(documents(connection, elsewhere));
    beside.stage.env = { KUBECONFIG: beside.stage.file("kubeconfig", kubeconfig) };
    beside.stage.programs = { psql: () => ({ status: 0, stdout: "", stderr: "" }) };
    expect((await run(beside, "psql db")).err).toContain("namespace app has no Secret shop-db yet");
    const body = { apiVersion: "v1", kind: "Secret", metadata: { name: "shop-db" }, data: { uri: btoa(uri) } };
    beside.send({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: "app" } } });
    beside.send({ method: "POST", path: "/api/v1/namespaces/app/secrets", body });
    expect(await run(beside, "psql db")).toMatchObject({ status: 0 });
  });

  test("runs psql with what the Secret holds, none of it an argument", async () => {
    using beside = cluster();
    secret(beside, { uri, "pooled-uri": uri.replace("ep-a.example", "ep-a-pooler.example") });
    beside.stage.programs = { psql: () => ({ status: 3, stdout: "", stderr: "" }) };
    expect(await run(beside, "psql db -- -c select")).toEqual({ status: 3, out: "", err: "" });
    expect((await run(beside, "psql db --pooled")).status).toBe(3);
    expect(beside.stage.handedOver).toEqual([
      {
        program: "psql",
        args: ["-c", "select"],
        env: {
          PGHOST: "ep-a.example.com",
          PGPORT: "5433",
          PGUSER: "app@eu",
          PGPASSWORD: "s/cret",
          PGDATABASE: "shop db",
          PGSSLMODE: "require",
          PGOPTIONS: "endpoint=ep-a",
        },
      },
      expect.objectContaining({ args: [], env: expect.objectContaining({ PGHOST: "ep-a-pooler.example.com" }) }),
    ]);
  });

  test.each([
    [
      "a Compute without a Secret of a database",
      "psql shop-preview",
      undefined,
      "Compute shop/shop-preview writes no Secret to connect with",
    ],
    ["a Secret that is not there yet", "psql db", undefined, "namespace shop has no Secret shop-db yet"],
    ["a Secret without a URI", "psql db", { host: "h" }, "Secret shop-db: holds no readable uri"],
    [
      "a Secret without a URI of the pooler",
      "psql db --pooled",
      { uri },
      "Secret shop-db: holds no readable pooled-uri",
    ],
    ["a Secret whose URI is none", "psql db", { uri: "ep-a" }, "Secret shop-db: holds no readable uri"],
    [
      "a Secret whose URI has the character U+0000",
      "psql db",
      { uri: "postgresql://app%00:x@ep-a/shop" },
      "Secret shop-db: holds no readable uri",
    ],
    ["a machine without psql", "psql db", { uri }, "psql is not on the PATH"],
    [
      "a Secret with a bare % where there is no psql",
      "psql db",
      { uri: "postgresql://app:5%@ep-a/shop" },
      "psql is not on the PATH",
    ],
  ])("says what to do about %s", async (_, line, data, message) => {
    using beside = cluster();
    if (data !== undefined) secret(beside, data);
    expect(await run(beside, line)).toMatchObject({ status: 1, out: "", err: expect.stringContaining(message) });
  });
});

test.each([
  ["status", "the name of the object is needed"],
  ["status a b", "one name is taken, and here are more: a, b"],
  ["restart a --for 1h", "unknown option '--for'"],
  ["pause a --for 0d", "--for must be between 1s and 999d"],
  ["pause a --for 1000d", "--for must be between 1s and 999d"],
  ["pause a -n", "option '-n, --namespace <NAME>' argument missing"],
])("%s is refused", async (line, message) => {
  using beside = cluster();
  expect(await run(beside, line)).toMatchObject({ status: 1, out: "", err: expect.stringContaining(message) });
});

test.each([
  ["the context's", "status a", "shop"],
  ["default, where the context has none", "status a --context other", "default"],
  ["the one of the flag", "status a --context other -n eu", "eu"],
  ["the one of the flag, written out", "restart a --namespace eu", "eu"],
])("the namespace of an object is %s", async (_, line, namespace) => {
  using beside = cluster();
  expect((await run(beside, line)).err).toContain(`: namespace ${namespace} has no Compute`);
});

test("the cluster is the one of --kubeconfig", async () => {
  using beside = cluster();
  const file = beside.stage.file("other", kubeconfig.replace("namespace: shop", "namespace: eu"));
  expect((await run(beside, `status a --kubeconfig ${file}`)).err).toContain(": namespace eu has no Compute");
  expect((await run(beside, "status a --kubeconfig nowhere")).err).toMatch(/^compute-operator status: .*nowhere/);
});

/** Answers reads of objects in place of the API server, and keeps the writes. */
function answering(beside: Beside, read: (path: string) => unknown, writes: ClusterRequest[] = []): ClusterRequest[] {
  const through = beside.stage.cluster;
  if (through === undefined) throw new Error("there is no cluster");
  const request: ClusterTransport["request"] = (asked, options) => {
    if (asked.method !== "GET") writes.push(asked);
    const body = asked.method === "GET" ? read(asked.path) : undefined;
    return body === undefined ? through.request(asked, options) : Promise.resolve({ status: 200, body });
  };
  beside.stage.cluster = { request, watch: (asked, options) => through.watch(asked, options) };
  return writes;
}

test.each([
  ["Compute", "computes", "status a"],
  ["Branch", "branches", "pause a"],
  ["ComputePool", "computepools", "status a"],
  ["ServiceConnection", "serviceconnections", "status a"],
])("a %s that cannot be read is named", async (kind, plural, line) => {
  using beside = cluster();
  const metadata = { name: "a", namespace: "shop", uid: "u-1", resourceVersion: "1" };
  const unread = { apiVersion: "compute-operator.dev/v1alpha1", kind, metadata };
  answering(beside, (asked) => (asked.includes(`/${plural}/`) ? unread : undefined));
  const verb = line.split(" ")[0];
  expect(await run(beside, line)).toMatchObject({
    status: 1,
    out: "",
    err: expect.stringMatching(new RegExp(`^compute-operator ${verb}: ${kind} shop/a cannot be read: .*spec`)),
  });
});

test.each([
  ["pause shop-preview", "computes", "paused"],
  ["restart shop-preview", "computes", "restartedAt"],
  ["reset pr-1 --yes", "branches", "resetAt"],
])("%s writes nothing to another object that has the name by then", async (line, plural, annotation) => {
  using beside = cluster();
  const name = line.split(" ")[1] ?? "";
  const { metadata, ...found } = beside.send({ method: "GET", path: path(plural, name) });
  const before = { ...found, metadata: { ...asRecord(metadata), uid: "of-the-one-before" } };
  answering(beside, (asked) => (asked === path(plural, name) ? before : undefined));
  expect(await run(beside, line)).toMatchObject({ status: 1, out: "", err: expect.stringContaining(name) });
  expect(annotationsOf(beside, name, plural)).not.toHaveProperty([`compute-operator.dev/${annotation}`]);
});

test("resume writes nothing to an object that is not paused", async () => {
  using beside = cluster();
  const writes = answering(beside, () => undefined);
  await run(beside, "resume pr-1");
  expect(writes).toEqual([]);
  await run(beside, "pause pr-1");
  expect((await run(beside, "resume pr-1")).out).toBe("resumed Branch shop/pr-1");
  expect(writes.map(({ method, path: to }) => `${method} ${to}`)).toEqual([
    `PATCH ${path("branches", "pr-1")}`,
    `PATCH ${path("branches", "pr-1")}`,
  ]);
});

test("a command that is interrupted says so, and not that the cluster failed", async () => {
  using beside = cluster();
  beside.stage.time.passing = () => beside.stage.stopping.abort();
  const stopped = await run(beside, "restart shop-preview --wait");
  expect(stopped).toMatchObject({ status: 1, err: "compute-operator restart: interrupted" });
});

test("a command leaves no connection to the cluster, and says who it is", async () => {
  using beside = cluster();
  const server = new HostileServer();
  server.behaviour = (_, response) => json(response, 404, { reason: "NotFound", message: "no" });
  const address = `server: "${await server.start()}", insecure-skip-tls-verify: true`;
  const file = beside.stage.file("real", kubeconfig.replace('server: "https://cluster.test:6443"', address));
  beside.stage.cluster = undefined;
  const said: string[] = [];
  const ports = beside.stage.ports(
    "",
    () => {},
    (line) => said.push(line),
  );
  await psqlCommand(["db", "--kubeconfig", file], { ...ports, clock: realClock });
  expect(said).toEqual(["compute-operator psql: namespace shop has no Compute named db"]);
  expect(server.requests.map(({ headers }) => headers["user-agent"])).toEqual(["compute-operator-cli"]);
  await expect.poll(() => server.open).toBe(0);
  await server.stop();
});

test("a right that is missing, and a cluster that is not there, are said", async () => {
  using beside = cluster();
  beside.refused.add("/computes");
  expect((await run(beside, "status shop-preview")).err).toMatch(/the cluster at https:\/\/cluster\.test:6443: .*403/);
  expect((await run(beside, "status shop-preview --context prod")).err).toContain('has no context "prod"');
});
