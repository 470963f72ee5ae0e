import { beforeEach, describe, expect, it } from "vitest";
import { rules } from "../../../src/service/rules.ts";
import { main, preview, primary, project, Shop, staging } from "../support/shop.ts";
import { digest, signatureOf } from "./signature.ts";
import { problemIn, rowsIn, textOf, Visitor } from "./visitor.ts";

const projectPath = `/app/projects/${project}`;
const branchPath = `${projectPath}/branches/${main}`;
const computePath = `${branchPath}/computes/${primary}`;

const uid = "0d0c4b5e-11aa-4bbb-8ccc-0123456789ab";

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

it("the page of a compute offers to move it to every other branch, and not to its own", () => {
  const [, select = ""] = /<select name="to">(.*?)<\/select>/s.exec(ana.get(computePath).html) ?? [];
  expect([...select.matchAll(/value="([^"]+)"/g)].map(([, id]) => id)).toEqual([preview, staging]);
});

it("the page of a compute starts, suspends and restarts the compute, and lists what was done", () => {
  expect(textOf(ana.post(`${computePath}/start`))).toContain(`${primary} is starting.`);
  shop.finishOperations();
  expect(shop.get(primary).current_state).toBe("active");
  expect(ana.get(computePath).html).toContain(`${computePath}/suspend`);
  expect(textOf(ana.post(`${computePath}/restart`))).toContain(`${primary} is restarting: its connections were cut.`);
  shop.finishOperations();
  ana.post(`${computePath}/suspend`);
  shop.finishOperations();
  expect(shop.get(primary).current_state).toBe("idle");
  expect(rowsIn(ana.get(computePath)).map(([action, status]) => [action, status])).toEqual([
    ["suspend compute", "finished"],
    ["start compute", "finished"],
    ["suspend compute", "finished"],
    ["start compute", "finished"],
  ]);
  expect(rowsIn(ana.get(`${projectPath}/operations`))).toHaveLength(4);
});

/** The reason for the compute's state on its page. */
function why(): string | undefined {
  const seen = ana.get(computePath);
  const html = /<p class="about" id="why".*?<\/p>/s.exec(seen.html)?.[0];
  return html === undefined ? undefined : textOf({ ...seen, html });
}

describe("the page of a compute says why it is asleep or awake", () => {
  it("before its first start, and while it starts", () => {
    expect(why()).toBe("It has not been started yet: a connection starts it.");
    ana.post(`${computePath}/start`);
    expect(why()).toBeUndefined();
  });

  it("with and without scale to zero", () => {
    shop.active();
    expect(why()).toBe("Scale to zero suspends it in 4 minutes , unless a client connects.");
    shop.connect(primary, 3600);
    expect(why()).toBe("It stays active while clients are: scale to zero suspends it after 5 minutes.");
    shop.patch(primary, { suspend_timeout_seconds: -1 });
    shop.finishOperations();
    expect(why()).toBe("It stays active: scale to zero is off.");
  });

  it("a compute of a size that never scales to zero stays active", () => {
    shop = new Shop({ rules: { ...rules.specification, largestSuspending: 16 } });
    ana = new Visitor(shop.core).signIn("acc-ana");
    shop.patch(primary, { autoscaling_limit_min_cu: 16, autoscaling_limit_max_cu: 16 });
    shop.finishOperations();
    shop.active();
    expect(why()).toContain("Scale to zero suspends it in");
    shop.patch(primary, { autoscaling_limit_min_cu: 32, autoscaling_limit_max_cu: 32 });
    shop.finishOperations();
    expect(why()).toBe("It stays active: a compute of more than 16 vCPU does not scale to zero.");
  });

  it("after scale to zero, and after a call", () => {
    shop.active();
    shop.time.pass(310_000);
    shop.core.settle();
    expect(why()).toBe(
      "Asleep since 2026-01-01 00:05 UTC just now : scale to zero suspended it after 5 minutes without a client. A connection wakes it.",
    );
    shop.active();
    ana.post(`${computePath}/suspend`);
    shop.finishOperations();
    expect(why()).toContain(
      "a person or a program suspended or moved it, or the service started again, and not scale to zero. A connection wakes it.",
    );
  });

  it("after scale to zero where time runs faster", () => {
    shop = new Shop({ timeScale: 60 });
    ana = new Visitor(shop.core).signIn("acc-ana");
    shop.active();
    shop.time.pass(5100);
    shop.core.settle();
    expect(why()).toContain("scale to zero suspended it after 5 minutes without a client");
  });

  it("when its last operation failed", () => {
    const { operations } = shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
    shop.core.change(({ store }) => store.operations.forceFailure(operations[0]?.id ?? "", "no room <b>"));
    shop.finishOperations();
    expect(why()).toBe("Its last operation failed: no room <b>. A connection tries again.");
  });

  it("when its last operation was cancelled, as one before it failed", () => {
    const { operations } = shop.patch(primary, { autoscaling_limit_max_cu: 2 });
    expect(operations).toHaveLength(2);
    shop.core.change(({ store }) => store.operations.forceFailure(operations[0]?.id ?? "", "no room"));
    shop.finishOperations();
    expect(why()).toBe("Its last operation failed: no room. A connection tries again.");
  });

  it("while it is disabled, and enables it", () => {
    expect(textOf(ana.post(`${computePath}/disable`))).toContain(`${primary} is disabled`);
    shop.finishOperations();
    expect([why(), shop.get(primary).disabled]).toEqual([
      "It is disabled: it takes no connection until it is enabled.",
      true,
    ]);
    expect(textOf(ana.post(`${computePath}/enable`))).toContain(`${primary} is enabled: a connection starts it.`);
    shop.finishOperations();
    expect(shop.get(primary).disabled).toBe(false);
  });
});

it("the operations of a compute lead to all of its operations, and those to the compute", () => {
  shop.active();
  const all = new RegExp(`href="(${projectPath}/operations\\?search=${primary})"`).exec(ana.get(computePath).html)?.[1];
  expect(rowsIn(ana.get(all ?? "/"))).toHaveLength(1);
  expect(ana.get(all ?? "/").html).toContain(`<a href="${computePath}"><code>${primary}</code></a>`);
});

it("the page of a compute shows its own operations, and none of another compute of its branch", () => {
  shop.active();
  const other = shop.create({ branch_id: main, type: "read_only" }).endpoint.id;
  shop.finishOperations();
  const shown = (id: string) => rowsIn(ana.get(`${branchPath}/computes/${id}`)).map(([, , compute]) => compute);
  expect([shown(primary), shown(other)]).toEqual([[primary], [other]]);
});

it("the page of a compute moves the compute to another branch, and goes there", () => {
  const seen = ana.post(`${computePath}/move`, { to: preview });
  expect(textOf(seen)).toContain(`${primary} was moved here, and is idle.`);
  expect(shop.get(primary).branch_id).toBe(preview);
  const former = ana.get(`${computePath}?pooled=true`);
  expect([former.status, former.headers["location"]]).toEqual([
    303,
    `${projectPath}/branches/${preview}/computes/${primary}`,
  ]);
});

it("the page of a compute deletes the compute", () => {
  expect(textOf(ana.post(`${computePath}/delete`))).toContain(`${primary} is deleted.`);
  expect(shop.list()).toEqual([]);
});

it("the page of a compute shows a refusal there in words", () => {
  ana.post(`${computePath}/start`);
  const seen = ana.post(`${computePath}/restart`);
  expect([seen.status, problemIn(seen)]).toEqual([423, expect.stringContaining("Something is still in progress")]);
  expect(textOf(seen)).toContain("Connection string");
});

it("the page of a compute says which Compute keeps it, by its uid, and how to find its name", () => {
  const keeper = () => [textOf(ana.get(computePath)), rowsIn(ana.get(branchPath))[0]?.[2]];
  expect(keeper()).toEqual([expect.not.stringContaining("Kept by"), primary]);
  shop.patch(primary, { name: `k8s-${uid}` });
  expect(keeper()).toEqual([
    expect.stringContaining(`Kept by Compute with uid ${uid} . The operator puts back what is changed here`),
    `${primary} kept by Compute with uid ${uid}`,
  ]);
  const seen = ana.get(computePath);
  expect(textOf(seen)).toContain(`UID:.metadata.uid | grep ${uid}`);
  expect(seen.html).toContain(`href="/app/computes?search=${uid}"`);
  shop.patch(primary, { name: signatureOf("previews", "shop/db") });
  expect(keeper()[1]).toBe(`${primary} kept by Compute with uid ${uid} , fleet ${digest("previews", 8)}`);
  shop.patch(primary, { name: "k8s-of-mine" });
  expect(keeper()).toEqual([expect.not.stringContaining("Kept by"), primary]);
});

it("the page of a compute names its Compute and fleet where the note of its branch has the names of the signature", () => {
  const annotation_value = {
    "compute-operator.dev/uid": "0b3c4d5e-11aa-4bbb-8ccc-0123456789ab",
    "compute-operator.dev/fleet": "previews",
    "compute-operator.dev/object": "shop/pr-42",
  };
  const endpoints = [{ type: "read_write" }];
  shop.ana(`POST /projects/${project}/branches`, { branch: { name: "pr-42" }, endpoints, annotation_value });
  shop.finishOperations();
  const { branches, endpoints: computes } = shop.core.context.store;
  const branch = branches.list(project).find(({ name }) => name === "pr-42")?.id ?? "";
  const [compute] = computes.ofBranch(branch);
  shop.patch(compute?.id ?? "", { name: signatureOf("previews", "shop/pr-42") });
  const page = `${projectPath}/branches/${branch}/computes/${compute?.id}`;
  expect(textOf(ana.get(page))).toContain("Kept by Compute shop/pr-42 , fleet previews .");
  expect(textOf(ana.get(page))).not.toContain("grep");
  shop.patch(compute?.id ?? "", { name: signatureOf("previews", "shop/pr-43") });
  expect(textOf(ana.get(page))).toContain(`Kept by Compute with uid ${uid} , fleet previews .`);
});

it("another account can neither see nor change a compute", () => {
  const eve = new Visitor(shop.core).signIn("acc-eve");
  expect(eve.get(computePath).status).toBe(404);
  // A compute that is on another branch of the project: not even its place is told.
  expect(eve.get(`${projectPath}/branches/${preview}/computes/${primary}`).status).toBe(404);
  expect(eve.get(`${projectPath}/operations`).status).toBe(404);
  for (const verb of ["start", "suspend", "restart", "move", "delete"]) {
    expect(eve.post(`${computePath}/${verb}`, { to: preview }).status).toBe(404);
  }
  expect(eve.post(`${branchPath}/computes`, { type: "read_only", size: "1" }).status).toBe(404);
  expect(eve.post(`${projectPath}/branches`, { name: "mine", parent: main }).status).toBe(404);
  expect(eve.post(`${projectPath}/branches/${preview}/delete`).status).toBe(404);
  expect(shop.list()).toHaveLength(1);
  expect(shop.operations()).toEqual([]);
});

it("a compute made on the page of its branch has the type and size chosen", () => {
  const seen = ana.post(`${branchPath}/computes`, { type: "read_only", size: "2" });
  expect(textOf(seen)).toContain("The compute is created and is starting.");
  expect(rowsIn(seen).map(([type, status, , size]) => [type, status, size])).toEqual([
    ["Primary read-write", "Idle", "1 vCPU 4 GB, fixed"],
    ["Read Replica read-only", "Starting", "2 vCPU 8 GB, fixed"],
  ]);
});

it("a compute made on the page of its branch is as small as chosen, and not larger", () => {
  ana.post(`${branchPath}/computes`, { type: "read_only", size: "0.25" });
  expect(shop.list().at(-1)).toMatchObject({ autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 0.25 });
});

it("the page of a compute offers what can be done with it now", () => {
  const offered = (path = computePath) => {
    const { html } = ana.get(path);
    return ["start", "suspend", "restart", "move", "delete"].filter((verb) => html.includes(`/${primary}/${verb}"`));
  };
  expect(offered()).toEqual(["start", "restart", "move", "delete"]);
  ana.post(`${computePath}/start`);
  expect(textOf(ana.get(computePath))).toContain("starting… Look again");
  shop.finishOperations();
  expect(offered()).toEqual(["suspend", "restart", "move", "delete"]);
  ana.post(`${computePath}/suspend`);
  expect(offered()).toEqual(["start", "restart", "move", "delete"]);
  shop.finishOperations();
  shop.patch(primary, { disabled: true });
  expect(offered()).toEqual(["move", "delete"]);
});

it("the page of a compute offers no move where the project has no other branch", () => {
  const { id = "" } = shop.core.context.store.endpoints.ofBranch("br-ana")[0] ?? {};
  const { status, html } = ana.get(`/app/projects/ana-own/branches/br-ana/computes/${id}`);
  expect([status, html.includes(`/${id}/start"`), html.includes(`/${id}/move"`)]).toEqual([200, true, false]);
});

it("a primary is offered only where the branch has none", () => {
  const types = (path: string) =>
    [...ana.get(path).html.matchAll(/<option value="(read_\w+)">/g)].map(([, type]) => type);
  expect(types(branchPath)).toEqual(["read_only"]);
  expect(types(`${projectPath}/branches/${preview}`)).toEqual(["read_write", "read_only"]);
  const seen = ana.post(`${branchPath}/computes`, { type: "read_write", size: "1" });
  expect([seen.status, problemIn(seen)]).toEqual([409, expect.stringContaining("already exists")]);
});

it("a branch is made of the default branch where none is chosen on the page of its project", () => {
  shop.ana(`PATCH /projects/${project}/branches/${preview}`, { branch: { protected: true } });
  const chosen = /<option value="([^"]+)" selected>/.exec(ana.get(projectPath).html)?.[1];
  expect(chosen).toBe(main);
});

it("a branch is made on the page of its project, with a primary compute where that is wanted", () => {
  const fields = { name: "feature", parent: preview };
  const seen = ana.post(`${projectPath}/branches`, { ...fields, compute: "true" });
  expect(rowsIn(seen).find(([name]) => name === "feature")?.[2]).toBe("1 compute");
  shop.finishOperations();
  const id = shop.core.context.store.branches.list(project).find(({ name }) => name === "feature")?.id ?? "";
  expect(textOf(ana.get(`${projectPath}/branches/${id}`))).toContain("Parent preview");
  const bare = ana.post(`${projectPath}/branches`, { ...fields, name: " bare " });
  expect(rowsIn(bare).find(([name]) => name === "bare")?.[2]).toBe("0 computes");
  expect(shop.core.context.store.branches.list(project).map(({ name }) => name)).toContain("bare");
  shop.finishOperations();
  const again = ana.post(`${projectPath}/branches`, fields);
  expect([again.status, problemIn(again)]).toEqual([409, expect.stringContaining('branch_name:"feature"')]);
  expect(again.html).toContain('name="name" maxlength="256" value="feature"');
});

it("a branch is deleted on its own page, unless it is the default one", () => {
  expect(ana.get(branchPath).html).not.toContain(`${branchPath}/delete`);
  expect(ana.post(`${branchPath}/delete`).status).toBe(422);
  const seen = ana.post(`${projectPath}/branches/${preview}/delete`);
  expect(textOf(seen)).toContain("The branch is deleted with its computes.");
  expect(rowsIn(seen).map(([name]) => name)).toEqual(["main default", "staging"]);
});

describe("a protected branch", () => {
  it("says so, and offers to delete neither itself nor its computes", () => {
    const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
    shop.finishOperations();
    const path = `${projectPath}/branches/${preview}`;
    const offered = () =>
      [path, `${path}/computes/${endpoint.id}`].map((page) => ana.get(page).html.includes("/delete"));
    expect(offered()).toEqual([true, true]);
    shop.ana(`PATCH /projects/${project}/branches/${preview}`, { branch: { protected: true } });
    expect(offered()).toEqual([false, false]);
    expect(textOf(ana.get(path))).toContain("protected");
    expect(textOf(ana.get(`${path}/computes/${endpoint.id}`))).toContain("its computes cannot be deleted");
    const seen = ana.post(`${path}/computes/${endpoint.id}/delete`);
    expect([seen.status, problemIn(seen)]).toEqual([422, expect.stringContaining("set protected to false first")]);
  });
});

describe("the page of a project", () => {
  it("shows the plan of its owner, not of the visitor, and what was used", () => {
    const bob = new Visitor(shop.core).signIn("acc-bob");
    expect(textOf(bob.get(projectPath))).toContain("scale plan");
    expect(textOf(bob.get("/app/projects/bob-own"))).toContain("free plan");
    shop.active({ suspend_timeout_seconds: -1, autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 });
    shop.time.pass(3_600_000);
    expect(textOf(ana.get(projectPath))).toMatch(/used 2(\.\d+)? CU hours, active for 60 minutes/);
  });
});

it("the end of a branch that a person sets is a whole second, as the API shows it", () => {
  shop.time.pass(400);
  ana.post(`${projectPath}/branches/${preview}/end`, { seconds: "3600" });
  const end = shop.core.context.store.branches.byId(preview)?.expiresAt;
  expect(end).toBe(Math.floor(shop.time.now() / 1000) * 1000 + 3_600_000);
});
