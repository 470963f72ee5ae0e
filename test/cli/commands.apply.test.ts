import { describe, expect, test } from "vitest";
import { applyCommand } from "../../src/cli/commands/command.ts";
import { derivedUID } from "../../src/cli/manifests/derived-uid.ts";
import { signatureOfUID, uidInSignature } from "../../src/operator/resources/signature.ts";
import type { ServiceRequest } from "../../src/operator/service-client/transport.ts";
import { main, preview, primary, project, staging } from "../service/support/shop.ts";
import { type Fate, hidingBranches, Stage } from "./command-stage.ts";
import { compute, connection, documents, pool } from "./texts.ts";

const shop = documents(
  connection,
  compute("shop-primary", "adopt: {branchPrimary: true}, computeUnits: {min: 0.5, max: 4}", main),
  compute("shop-preview", "computeUnits: {min: 1, max: 1}, scaleToZero: {enabled: false}"),
  pool("shop-readers", 2),
);

const creates = `POST /projects/${project}/endpoints`;

function replicas(stage: Stage): string[] {
  return stage.shop
    .list()
    .filter(({ type }) => type === "read_only")
    .map(({ id }) => id);
}

/** The first write that matches meets this fate, all else is answered. */
function once(method: string, fate: Fate): (request: ServiceRequest) => Fate {
  let left = 1;
  return (request) => (request.method === method && left-- > 0 ? fate : "answered");
}

describe("apply", () => {
  test("carries the plan out, one write each, waits, and then nothing is left to do", async () => {
    using stage = new Stage();
    const path = stage.file("shop.yaml", shop);
    const run = await stage.run("apply", ["-f", path, "--yes"]);
    await expect(run.out).toMatchFileSnapshot("golden/apply.txt");
    expect(run).toMatchObject({ status: 0, err: "" });
    const writes = stage.writes.map(({ line }) => line).toSorted();
    expect(writes).toEqual([`PATCH /projects/${project}/endpoints/${primary}`, creates, creates, creates]);
    expect(stage.shop.list().some(({ pending_state }) => pending_state !== undefined)).toBe(false);
    expect((await stage.run("plan", ["-f", path])).status).toBe(0);
    expect((await stage.run("apply", ["-f", path, "--yes"])).status).toBe(0);
    expect(stage.writes).toHaveLength(4);
  });

  test("never has two writes of one project under way", async () => {
    using stage = new Stage();
    const busy: boolean[] = [];
    stage.fate = ({ method }) => {
      if (method !== "GET") busy.push(stage.shop.operations().some(({ status }) => status !== "finished"));
      return "answered";
    };
    await stage.run("apply", ["-f", stage.file("shop.yaml", shop), "--yes"]);
    expect(busy).toEqual([false, false, false, false]);
  });

  test("says why a create was refused with 409, and that it created one only once it has", async () => {
    using stage = new Stage();
    stage.fate = once("POST", 409);
    const path = stage.file("a.yaml", documents(connection, compute("a", "")));
    const run = await stage.run("apply", ["-f", path, "--yes"]);
    const said = run.out.split("\n").filter((line) => line.startsWith("  "));
    expect(said.map((line) => line.slice(0, 28))).toEqual([
      "  shop/a: PrimaryExists: The",
      "  shop/a: created ep-icy-sto",
      "  shop/a: Creating: Endpoint",
      "  shop/a: Active: The comput",
    ]);
  });

  test("names what it makes after namespace and name, so that it is known again", () => {
    const uid = derivedUID("shop", "shop-preview");
    expect(uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(uidInSignature(signatureOfUID(uid))).toBe(uid);
    expect(derivedUID("shop-shop", "preview")).not.toBe(uid);
  });

  test("settles a move onto a branch that another Compute gives up in the same apply", async () => {
    using stage = new Stage();
    const before = documents(connection, compute("a", "", preview), compute("b", "", staging));
    await stage.run("apply", ["-f", stage.file("before.yaml", before), "--yes"]);
    const third = stage.shop.ana(`POST /projects/${project}/branches`, { branch: { name: "third" } });
    const branch = /br-[a-z0-9-]+/.exec(JSON.stringify(third.body))?.[0] ?? "";
    stage.shop.finishOperations();
    const after = documents(connection, compute("a", "", staging), compute("b", "", branch));
    const path = stage.file("after.yaml", after);
    const run = await stage.run("apply", ["-f", path, "--yes"]);
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining("Applied: 2 as declared.") });
    expect((await stage.run("plan", ["-f", path])).status).toBe(0);
  });
});

test.each<[Fate, number]>([
  ["lost after", 1],
  ["lost before", 1],
])("a lost reply to a replica's create (%s) never leads to a second replica", async (fate, made) => {
  using stage = new Stage();
  stage.fate = once("POST", fate);
  const startedAt = stage.time.now();
  const path = stage.file("a.yaml", documents(connection, compute("a", "type: read_only", main)));
  const run = await stage.run("apply", ["-f", path, "--yes"]);
  expect(run.status).toBe(0);
  expect(replicas(stage)).toHaveLength(made);
  expect(run.out).toContain("got no usable answer");
  // Nothing is sent again before --create-settle has passed; what carries the signature is taken at once.
  expect(stage.time.now() - startedAt >= 60_000).toBe(fate === "lost before");
});

test("a lost reply to a change leads to a second request only if a new list shows that the change did not take effect", async () => {
  for (const fate of ["lost after", "lost before"] as const) {
    using stage = new Stage();
    stage.fate = once("PATCH", fate);
    const text = documents(connection, compute("a", "adopt: {branchPrimary: true}, disabled: true", main));
    // Each fate on a stage of its own.
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes"]);
    expect(run.status).toBe(0);
    expect(stage.writes).toHaveLength(1);
    expect(stage.shop.get(primary).disabled).toBe(true);
  }
});

test.each<[Fate, string]>([
  ["answered", `shop/shop-primary: restarted ${primary}`],
  ["lost after", "Applied: 1 as declared."],
])("a restart whose reply is %s is sent once", async (fate, said) => {
  using stage = new Stage();
  stage.shop.active();
  stage.fate = once("POST", fate);
  const metadata = `uid: ${derivedUID("shop", "shop-primary")}, annotations: {compute-operator.dev/endpoint-id: ${primary}, compute-operator.dev/restartedAt: now}`;
  const text = compute("shop-primary", "adopt: {branchPrimary: true}", main, metadata);
  const status = "status: {observedGeneration: 1}\n";
  const run = await stage.run("apply", ["-f", stage.file("a.yaml", documents(connection, text + status)), "--yes"]);
  expect(run).toMatchObject({ status: 0, out: expect.stringContaining(said) });
  expect(stage.writes.map(({ line }) => line)).toEqual([`POST /projects/${project}/endpoints/${primary}/restart`]);
});

test("lists that lag behind a create that was answered do not put its outcome in doubt", async () => {
  using stage = new Stage();
  stage.fate = ({ method }) => {
    if (method === "POST") stage.staleUntil = stage.time.now() + 9000;
    return "answered";
  };
  const run = await stage.run("apply", ["-f", stage.file("a.yaml", documents(connection, compute("a"))), "--yes"]);
  expect(run).toMatchObject({ status: 0, out: expect.stringContaining("  shop/a: created ep-") });
  expect(run.out).not.toContain("CreateUnknown");
});

test("a second apply after an interruption waits until the Compute is ready", async () => {
  using stage = new Stage();
  const path = stage.file("a.yaml", documents(connection, compute("a")));
  expect((await stage.interrupted(path)).out).toContain("! shop/a: interrupted; ");
  expect(await stage.run("plan", ["-f", path])).toMatchObject({ status: 0, out: expect.stringContaining("1 waiting") });
  const run = await stage.run("apply", ["-f", path, "--yes"]);
  expect(run).toMatchObject({ status: 0, out: expect.stringContaining("  shop/a: Active: ") });
  expect(stage.writes).toHaveLength(1);
});

test("lists that lag behind a create do not make another, nor an alarm", async () => {
  using stage = new Stage();
  stage.staleUntil = stage.time.now() + 20_000;
  const path = stage.file("a.yaml", documents(connection, compute("a", "type: read_only", main)));
  const run = await stage.run("apply", ["-f", path, "--yes"]);
  expect(run.out).toContain("Applied: 1 as declared.");
  expect(stage.writes).toHaveLength(1);
});

test("a create that took effect twice is found out by its name, and one of the two goes", async () => {
  using stage = new Stage();
  const name = signatureOfUID(derivedUID("shop", "a"));
  for (const _ of [1, 2]) {
    stage.shop.create({ branch_id: main, type: "read_only", name });
    stage.shop.finishOperations();
  }
  const path = stage.file("a.yaml", documents(connection, compute("a", "type: read_only", main)));
  const planned = await stage.run("plan", ["-f", path]);
  expect(planned).toMatchObject({ status: 2, out: expect.stringMatching(/^- shop\/a {2}delete/) });
  expect((await stage.run("apply", ["-f", path, "--yes"])).status).toBe(0);
  expect(replicas(stage)).toHaveLength(1);
});

test("a second apply never makes a second replica where the service shows no names", async () => {
  using stage = new Stage({ strictSpec: true });
  const path = stage.file("a.yaml", documents(connection, compute("a", "type: read_only", main)));
  const first = await stage.run("apply", ["-f", path, "--yes"]);
  const [made] = replicas(stage);
  expect(first.out).toContain(
    `  shop/a: created ${made}; this service shows no names, so set spec.adopt to {endpointID: ${made}}; otherwise the next apply cannot recognise it\n`,
  );
  stage.shop.create({ branch_id: main, type: "read_only" });
  stage.shop.finishOperations();
  const standing = replicas(stage).toSorted();
  const second = await stage.run("apply", ["-f", path, "--yes"]);
  expect(second.status).toBe(1);
  expect(second.out).toContain(
    `! shop/a: not created: this service has shown no names yet, so an earlier apply may have created one of ${standing.join(", ")}, which no manifest claims. Declare them too (export writes the manifests), or set spec.adopt\n`,
  );
  expect(replicas(stage).toSorted()).toEqual(standing);
});

test("a refusal ends that Compute with the service's words, and not the others", async () => {
  using stage = new Stage();
  // Otherwise the plan refuses the branch before.
  stage.rewrite = hidingBranches;
  const text = documents(connection, compute("a", "", "br-nowhere"), compute("b", "", preview));
  const run = await stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes"]);
  expect(run.status).toBe(1);
  expect(run.out).toContain(
    "! shop/a: BranchNotFound: The service could not create the endpoint on branch br-nowhere: branch not found.",
  );
  expect(run.out).toContain("  shop/b: Active: The compute is as declared.");
  expect(run.out).toContain("Applied: 1 as declared, 1 not.");
});

test("a refusal that the plan shows before is not waited for: a branch that the project does not have", async () => {
  using stage = new Stage();
  const text = documents(connection, compute("a", "", "br-nowhere"));
  const run = await stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes"]);
  expect(run.status).toBe(1);
  expect(run.out).toContain("! shop/a  refuse   BranchNotFound: Project ");
  expect(stage.writes).toEqual([]);
});

test("a refusal for being busy is waited out", async () => {
  using stage = new Stage();
  const path = stage.file("a.yaml", documents(connection, compute("a")));
  stage.shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  const run = await stage.run("apply", ["-f", path, "--yes"]);
  expect(run).toMatchObject({ status: 0, out: expect.stringContaining("shop/a: ProjectBusy: ") });
  expect(stage.writes).toHaveLength(2);
});

test("a refusal that goes on for too long ends with --timeout and what was last known", async () => {
  using stage = new Stage();
  const path = stage.file("a.yaml", documents(connection, compute("a")));
  stage.fate = ({ method }) => (method === "POST" ? "lost before" : "answered");
  const run = await stage.run("apply", ["-f", path, "--yes", "--timeout", "5s"]);
  expect(run.status).toBe(1);
  expect(run.out).toMatch(
    /! shop\/a: not done after 5 s \(--timeout\); last: CreateUnknown: A create was sent and its outcome is not known/,
  );
});

describe("before anything is sent", () => {
  const change = documents(connection, compute("a"));
  const changed =
    "compute-operator apply: the service has changed since the plan was shown; nothing was sent. Run apply again";

  test("without --yes a person is asked, and only yes will do", async () => {
    for (const [answer, writes] of [
      ["no\n", 0],
      ["", 0],
      ["yes\n", 1],
    ] as const) {
      using stage = new Stage();
      stage.terminal = true;
      // Each answer on a stage of its own.
      const run = await stage.run("apply", ["-f", stage.file("a.yaml", change)], answer);
      expect(run.out).toContain('Apply this plan? Type "yes": ');
      expect(run.status).toBe(writes === 1 ? 0 : 1);
      expect(stage.writes).toHaveLength(writes);
    }
  });

  test("without --yes and without a terminal it refuses", async () => {
    using stage = new Stage();
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", change)], "yes\n");
    expect(run).toMatchObject({
      status: 1,
      err: "compute-operator apply: standard input is not a terminal, so apply cannot ask: pass --yes to apply the plan",
    });
    expect(stage.writes).toEqual([]);
  });

  test("a plan that is no longer the one that was shown is not carried out", async () => {
    using stage = new Stage();
    stage.terminal = true;
    let lists = 0;
    stage.fate = () => {
      lists += 1;
      if (lists === 2) stage.shop.create({ branch_id: preview, type: "read_write" });
      return "answered";
    };
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", change)], "yes\n");
    expect(run).toMatchObject({ status: 1, err: changed });
    expect(stage.writes).toEqual([]);
  });

  test("what changes while a person thinks is noticed: the plan is made again after the answer", async () => {
    using stage = new Stage();
    stage.terminal = true;
    stage.whenAsked = () => void stage.shop.create({ branch_id: preview, type: "read_write" });
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", change)], "yes\n");
    expect(run).toMatchObject({ status: 1, err: changed });
    expect(stage.writes).toEqual([]);
  });

  const reader = compute("reader", "type: read_only", main);
  const adopting = `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: base, namespace: shop}
spec: {projectID: ${project}, expiry: {never: true}, adopt: {branchID: ${staging}}}
`;

  test.each([
    ["a Compute", compute("a", "adopt: {branchPrimary: true}", main), primary],
    ["a Branch", adopting, staging],
  ])("a plan in which %s adopts something is carried out after a yes", async (_, text, adopted) => {
    using stage = new Stage();
    stage.terminal = true;
    const path = stage.file("a.yaml", documents(connection, text, reader));
    const run = await stage.run("apply", ["-f", path], "yes\n");
    expect(run).toMatchObject({ status: 0, err: "", out: expect.stringContaining(`adopts ${adopted}`) });
    expect(stage.writes.map(({ line }) => line)).toEqual([creates]);
  });

  test("a compute that is suspended while a person thinks does not change the plan", async () => {
    using stage = new Stage();
    const text = documents(connection, compute("a"));
    await stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes"]);
    stage.terminal = true;
    stage.whenAsked = () => stage.time.pass(6 * 60_000);
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", documents(text, reader))], "yes\n");
    expect(run).toMatchObject({
      status: 0,
      err: "",
      out: expect.stringMatching(/= shop\/a .*The compute is as declared/),
    });
    expect(stage.shop.list().find(({ branch_id }) => branch_id === preview)?.current_state).toBe("idle");
  });

  test("a compute that is changed at the service while a person thinks changes the plan", async () => {
    using stage = new Stage();
    await stage.run("apply", ["-f", stage.file("a.yaml", documents(connection, compute("a"))), "--yes"]);
    const [made = ""] = stage.shop.list().flatMap(({ id }) => (id === primary ? [] : [id]));
    stage.terminal = true;
    stage.whenAsked = () =>
      void stage.shop.ana(`PATCH /projects/${project}/endpoints/${made}`, { endpoint: { disabled: true } });
    const run = await stage.run(
      "apply",
      ["-f", stage.file("a.yaml", documents(connection, compute("a", "disabled: false"), reader))],
      "yes\n",
    );
    expect(run).toMatchObject({ status: 1, err: changed });
  });

  test("a Compute that is being deleted in its cluster is left to the operator", async () => {
    using stage = new Stage();
    const text = documents(connection, compute("a", "", main, "uid: 0b0b, deletionTimestamp: '2026-01-01T00:00:00Z'"));
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes"]);
    expect(run).toMatchObject({
      status: 1,
      err: "compute-operator apply: Compute shop/a is being deleted in its cluster, where the operator deletes it: remove it from the manifests",
    });
  });

  test("where nothing is to do, nobody is asked", async () => {
    using stage = new Stage();
    const text = documents(connection, compute("a", "adopt: {branchPrimary: true}", main));
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", text)]);
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining("Plan: 1 unchanged.") });
  });
});

describe("the rounds of apply", () => {
  const branch = (name: string, of: string = project) => `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: ${name}, namespace: shop}
spec: {projectID: ${of}, branchName: ${name}, expiry: {never: true}}
`;
  const reader = compute("reader", "type: read_only", main);
  const inOtherProject = reader.replace("reader", "other").replace(project, "shop-two").replace(main, "br-two");

  /** Applies a text: also the times and ends of the requests, and the lines that follow the plan. */
  async function applied(stage: Stage, text: string, ...flags: string[]) {
    const requests: string[] = [];
    const { fate } = stage;
    const began = stage.time.now();
    stage.fate = (request) => {
      const [, path = request.path] = /([a-z]+(?:\/[0-9a-f-]{36})?)$/.exec(request.path) ?? [];
      requests.push(`${stage.time.now() - began} ${request.method} ${path.replace(/\/.*/, "/ID")}`);
      return fate(request);
    };
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", documents(connection, text)), "--yes", ...flags]);
    const lines = run.out.split("\n").filter((line) => /^(?:! | {2}|Applied)/.test(line));
    return { ...run, requests, lines: lines.filter((line) => !/ (?:wait|refuse) {3}/.test(line)) };
  }

  test("list again soon after a write and ever later while nothing changes, and read operations before", async () => {
    using stage = new Stage();
    const { requests } = await applied(stage, documents(branch("pr-1"), reader));
    const lists = (at: number) => [`${at} GET endpoints`, `${at} GET branches`];
    const round = (at: number) => [`${at} GET operations/ID`, ...lists(at)];
    expect(requests).toEqual([
      ...lists(0),
      ...lists(0),
      "0 POST branches",
      ...round(250),
      ...round(625),
      "625 POST endpoints",
      ...round(875),
      ...round(1250),
    ]);
  });

  test("pause for five seconds at most while nothing changes", async () => {
    using stage = new Stage();
    stage.fate = ({ method }) => (method === "POST" ? "lost before" : "answered");
    const { requests } = await applied(stage, reader, "--timeout", "30s");
    const times = requests.filter((line) => line.endsWith("GET endpoints")).map((line) => Number.parseInt(line, 10));
    const pauses = times.map((time, nth) => time - (times[nth - 1] ?? 0)).slice(2);
    expect(pauses).toEqual([250, 375, 563, 845, 1268, 1902, 2853, 4280, 5000, 5000, 5000, 5000]);
  });

  test.each([
    ["is not read again where the service does not know it", 404, ["250"]],
    ["is read again after a refusal", 503, ["250", "625", "1188"]],
  ])("an operation %s", async (_, status, times) => {
    using stage = new Stage();
    const body = { code: "", message: "no operation here", request_id: "" };
    stage.rewrite = ({ path }, response) => (path.includes("/operations/") ? { status, body, json: true } : response);
    const run = await applied(stage, reader, "--timeout", "1s");
    const reads = run.requests.filter((line) => line.includes("operations"));
    expect(reads).toEqual(times.map((time) => `${time} GET operations/ID`));
  });

  test("end with --timeout for each that is not done, with its last line if it has one", async () => {
    using stage = new Stage();
    // The project stays busy with the first write.
    stage.rewrite = ({ path }, response) =>
      path.includes("/operations/")
        ? { ...response, body: JSON.parse(JSON.stringify(response.body).replace('"finished"', '"running"')) }
        : response;
    const run = await applied(stage, documents(branch("pr-1"), branch("pr-2"), reader), "--timeout", "1s");
    expect(run.status).toBe(1);
    expect(run.lines.map((line) => line.replace(/br-[a-z-]+-\w+/, "BRANCH"))).toEqual([
      "  Branch shop/pr-1: created BRANCH",
      "  Branch shop/pr-1: Creating: The service prepares branch BRANCH (init).",
      "  Branch shop/pr-1: Available: Branch pr-1 (BRANCH) is ready.",
      "! Branch shop/pr-2: not done after 1 s (--timeout)",
      "! shop/reader: not done after 1 s (--timeout)",
      "Applied: 1 as declared, 2 not.",
    ]);
  });

  test.each([
    ["Computes", documents(reader, inOtherProject)],
    ["Branches", documents(branch("pr-1"), branch("pr-2", "shop-two"))],
  ])("say that they are called off, and send no more for %s of any project", async (_, text) => {
    using stage = new Stage();
    stage.fate = ({ method }) => {
      if (method === "POST") stage.stopping.abort();
      return "answered";
    };
    const run = await applied(stage, text);
    expect(run.status).toBe(1);
    expect(run.out.match(/^! .*: interrupted; what was sent goes on at the service/gm)).toHaveLength(2);
    expect(run.lines.at(-1)).toBe("Applied: 0 as declared, 2 not.");
    expect(stage.writes).toHaveLength(1);
  });

  test("end well for a Compute that is paused", async () => {
    using stage = new Stage();
    const paused = compute("paused", "", staging, 'annotations: {compute-operator.dev/paused: "true"}');
    const run = await applied(stage, documents(reader, paused));
    expect(run).toMatchObject({ status: 0, out: expect.stringMatching(/^ {2}shop\/paused: Paused: /m) });
    expect(run.lines.at(-1)).toBe("Applied: 2 as declared.");
  });

  test("give a write up that fails eight times in a row, and say its failure once and with the end", async () => {
    using stage = new Stage();
    stage.fate = ({ method }) => (method === "PATCH" ? "lost before" : "answered");
    const text = compute("a", "adopt: {branchPrimary: true}, disabled: true", main);
    const run = await applied(stage, text, "--timeout", "3h");
    expect(run.status).toBe(1);
    expect(run.requests.filter((line) => line.includes("PATCH"))).toHaveLength(8);
    expect(run.lines.map((line) => line.slice(0, 30))).toEqual([
      "  shop/a: ServiceUnavailable: ",
      "! shop/a: ServiceUnavailable: ",
      "Applied: 0 as declared, 1 not.",
    ]);
  });

  test.each<[string, string, Fate]>([
    ["a Compute in a project that is busy", reader, 423],
    ["a Branch in a project that is busy", branch("pr-1"), 423],
    ["a Compute beyond the limit of requests", reader, 429],
    ["a Branch beyond the limit of requests", branch("pr-1"), 429],
  ])("send the create of %s again until --timeout ends, and then promise nothing", async (_, text, refusal) => {
    for (const minutes of [5, 60]) {
      using stage = new Stage();
      const endsAt = stage.time.now() + minutes * 60_000;
      stage.fate = ({ method }) => (method === "POST" && stage.time.now() < endsAt ? refusal : "answered");
      const { status, lines } = await applied(stage, text);
      expect(status).toBe(minutes === 5 ? 0 : 1);
      expect(lines[0]).toMatch(/^ {2}.* Retried automatically\.$/);
      if (minutes === 5) continue;
      expect(lines[1]).toMatch(/^! .*: not done after 600 s \(--timeout\); last: .*not now\)?\.$/);
    }
  });

  test("change an adopted replica of a service without names, though another like it stands beside", async () => {
    using stage = new Stage({ strictSpec: true });
    const [adopted = ""] = [1, 2].map(() => {
      const { endpoint } = stage.shop.create({ branch_id: main, type: "read_only" });
      stage.shop.finishOperations();
      return endpoint.id;
    });
    const text = compute("a", `type: read_only, adopt: {endpointID: ${adopted}}, disabled: true`, main);
    expect(await applied(stage, text)).toMatchObject({ status: 0 });
    expect(stage.writes.map(({ line }) => line)).toEqual([`PATCH /projects/${project}/endpoints/${adopted}`]);
  });

  test("end with the error of a caller that cannot take a line", async () => {
    using stage = new Stage();
    const ports = stage.ports("", (line) => {
      if (line.includes("created")) throw new Error("the pipe is closed");
    });
    const args = ["-f", stage.file("a.yaml", documents(connection, reader)), "--yes"];
    await expect(applyCommand(args, ports)).rejects.toThrow("the pipe is closed");
  });
});
