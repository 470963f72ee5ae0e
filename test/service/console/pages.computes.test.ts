import { beforeEach, describe, expect, it } from "vitest";
import { main, preview, primary, project, Shop } from "../support/shop.ts";
import { problemIn, rowsIn, textOf, Visitor } from "./visitor.ts";

const page = `/app/projects/${project}/branches/${main}`;
const shown = { compute: primary, shown: "1/1/0", min: "1", max: "1", suspend: "0" };

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

describe("the console", () => {
  it("lists the projects that the account reaches, and finds one by a part of its name", () => {
    expect(rowsIn(ana.get("/app/projects")).map(([name, id, owner]) => [name, id, owner])).toEqual([
      ["shop", project, "Shop"],
      ["shop-two", "shop-two", "Shop"],
      ["ana-own", "ana-own", "You"],
    ]);
    expect(rowsIn(ana.get("/app/projects?search=OWN")).map(([name]) => name)).toEqual(["ana-own"]);
    expect(textOf(ana.get("/app/projects?search=nothing"))).toContain("No project has nothing in its name or id");
  });

  it("lists long lists of projects page by page", () => {
    const projects = Array.from({ length: 60 }, (_, index) => ({ id: `many-${index}`, owner: "acc-ana" }));
    shop.applySeed({ projects });
    const first = ana.get("/app/projects");
    const next = /href="([^"]*\?page=2)"/.exec(first.html)?.[1] ?? "";
    expect([rowsIn(first).length, rowsIn(ana.get(next)).length]).toEqual([50, 13]);
  });

  it("lists the branches of a project with how many computes they have", () => {
    expect(rowsIn(ana.get(`/app/projects/${project}`))).toEqual([
      ["main default", main, "1 compute", "0 CU hours", "", ""],
      ["preview", preview, "0 computes", "0 CU hours", "", ""],
      ["staging", "br-staging-1", "0 computes", "0 CU hours", "", ""],
    ]);
  });

  it("shows the computes of a branch with type, status, id, size and when they were last active", () => {
    shop.create({ branch_id: main, type: "read_only", autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 2 });
    shop.finishOperations();
    shop.time.pass(120_000);
    const rows = rowsIn(ana.get(page)).map((row) => row.slice(0, 5));
    expect(rows).toEqual([
      ["Primary read-write", "Idle", primary, "1 vCPU 4 GB, fixed", "never"],
      [
        "Read Replica read-only",
        "Active",
        expect.stringMatching(/^ep-/),
        "0.25–2 vCPU 1–8 GB, autoscaling",
        "2026-01-01 00:00 UTC 2 minutes ago 0.01 CU hours this week",
      ],
    ]);
  });

  it("tells what is in progress on a compute, and where it is closed", () => {
    shop.create({ branch_id: preview, type: "read_write" });
    const preparing = () => rowsIn(ana.get(`/app/projects/${project}/branches/${preview}`))[0]?.[1];
    expect(preparing()).toBe("Starting");
    shop.finishOperations();
    shop.patch(primary, { disabled: true });
    shop.write(`POST /projects/${project}/endpoints/${shop.list()[1]?.id}/suspend`);
    expect(preparing()).toBe("Active suspending… Look again");
    expect(rowsIn(ana.get(page))[0]?.[1]).toBe("Idle disabled");
  });

  it("shows the computes of a branch page by page", () => {
    shop.applySeed({
      projects: [
        {
          id: "wide",
          owner: "acc-ana",
          branches: [{ id: "br-wide" }, { id: "br-even" }],
          endpoints: Array.from({ length: 220 }, (_, n) => ({
            branchID: n < 120 ? "br-wide" : "br-even",
            type: "read_only" as const,
          })),
        },
      ],
    });
    const last = ana.get("/app/projects/wide/branches/br-wide?page=3");
    expect([rowsIn(last).length, textOf(last)]).toEqual([20, expect.stringContaining("Page 3 of 3")]);
    const beyond = ana.get("/app/projects/wide/branches/br-even?page=3");
    expect([rowsIn(beyond).length, textOf(beyond)]).toEqual([50, expect.stringContaining("Page 2 of 2")]);
  });
});

it("the primary of a branch stands first, whenever it was made", () => {
  shop.create({ branch_id: preview, type: "read_only" });
  shop.finishOperations();
  shop.create({ branch_id: preview, type: "read_write" });
  const rows = rowsIn(ana.get(`/app/projects/${project}/branches/${preview}`));
  expect(rows.map(([type]) => type)).toEqual(["Primary read-write", "Read Replica read-only"]);
});

it("a compute changed in place has its new size and scale to zero at the API at once", () => {
  const after = ana.post(page, { ...shown, min: "0.5", max: "4", suspend: "3600" });
  expect(textOf(after)).toContain(`${primary} has 0.5–4 vCPU. Scale to zero: after 1 hour.`);
  expect(shop.get(primary)).toMatchObject({
    autoscaling_limit_min_cu: 0.5,
    autoscaling_limit_max_cu: 4,
    suspend_timeout_seconds: 3600,
  });
  expect(shop.operations().map(({ action }) => action)).toEqual(["suspend_compute", "apply_config"]);
});

it("a compute changed in place restarts where it runs, as a change through the API does", () => {
  shop.active();
  ana.post(page, { ...shown, min: "2", max: "2" });
  expect(shop.operations()[0]).toMatchObject({ action: "apply_config", status: "running" });
  expect(rowsIn(ana.get(page))[0]?.[1]).toBe("Active applying a change… Look again");
});

it("a compute changed in place never suspends with scale to zero off", () => {
  shop.active();
  ana.post(page, { ...shown, suspend: "-1" });
  shop.time.pass(86_400_000);
  expect(shop.get(primary).current_state).toBe("active");
});

it("a compute changed in place keeps what somebody else changed since the page was opened, and the person did not touch", () => {
  shop.patch(primary, { suspend_timeout_seconds: 900 });
  ana.post(page, { ...shown, max: "2" });
  expect(shop.get(primary)).toMatchObject({ autoscaling_limit_max_cu: 2, suspend_timeout_seconds: 900 });
});

it("a compute changed in place stays as it is, and sets nothing off, where nothing was changed", () => {
  expect(textOf(ana.post(page, shown))).toContain(`${primary} has 1 vCPU`);
  expect(shop.operations()).toEqual([]);
});

it.each([
  [{ min: "4", max: "2" }, 400, "The minimum of 4 CU is larger than the maximum of 2 CU."],
  [{ max: "20" }, 400, "Autoscaling ends at 16 CU: a compute of 20 CU must have a fixed size"],
  [{ max: "17" }, 400, "The largest size must be a compute size: 0.25, 0.5, 1 to 16, and the even numbers"],
  [{ max: "<b>" }, 400, "The largest size must be a compute size"],
  [{ suspend: "5" }, 400, "Scale to zero must be -1 (never), 0 (the default of 5 minutes)"],
])("the change %o is refused with %i and in words", (fields, status, words) => {
  const seen = ana.post(page, { ...shown, ...fields });
  expect([seen.status, problemIn(seen)]).toEqual([status, expect.stringContaining(words)]);
  expect(rowsIn(seen)[0]?.[3]).toBe("1 vCPU 4 GB, fixed");
  expect(shop.get(primary).updated_at).toBe("2026-01-01T00:00:00.000Z");
});

it("a refused form still has chosen what the person chose, ready to be sent again", () => {
  const seen = ana.post(page, { ...shown, min: "4", max: "2", suspend: "900" });
  const form = /<form class="change".*?<\/form>/s.exec(seen.html)?.[0] ?? "";
  const chosen = [...form.matchAll(/<option[^>]* selected>([^<]+)/g)].map(([, text]) => text);
  expect(chosen).toEqual(["4", "2", "after 15 minutes"]);
  expect(seen.html).toContain('name="shown" value="1/1/0"');
});

it("a refused form leaves the choices of the branch's other computes as they are", () => {
  const { endpoint } = shop.create({ branch_id: main, type: "read_only", autoscaling_limit_max_cu: 2 });
  shop.finishOperations();
  const seen = ana.post(page, { ...shown, min: "4", max: "2", suspend: "900" });
  const forms = [...seen.html.matchAll(/<form class="change".*?<\/form>/gs)].map(([form]) => form);
  const other = forms.find((form) => form.includes(endpoint.id)) ?? "";
  expect([...other.matchAll(/<option[^>]* selected>([^<]+)/g)].map(([, text]) => text)).toEqual([
    "1",
    "2",
    "after 5 minutes",
  ]);
});

it.each([
  ["empty", ""],
  ["blank", "  "],
])("a field that is %s leaves the compute as it is", (_, value) => {
  shop.patch(primary, { suspend_timeout_seconds: 900 });
  const updated = shop.get(primary).updated_at;
  shop.time.pass(1000);
  const seen = ana.post(page, { ...shown, shown: "1/1/900", min: value, max: value, suspend: value });
  expect(seen.status).toBe(200);
  expect(shop.get(primary)).toMatchObject({
    autoscaling_limit_min_cu: 1,
    autoscaling_limit_max_cu: 1,
    suspend_timeout_seconds: 900,
    updated_at: updated,
  });
});

it("a largest size that is now the smallest one shown is a change, and one left as it was shown is none", () => {
  shop.patch(primary, { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 });
  shop.finishOperations();
  expect(ana.post(page, { ...shown, shown: "1/2/0", max: "1" }).status).toBe(200);
  shop.finishOperations();
  expect(shop.get(primary).autoscaling_limit_max_cu).toBe(1);
  shop.patch(primary, { autoscaling_limit_max_cu: 4 });
  shop.finishOperations();
  expect(ana.post(page, { ...shown, shown: "1/2/0", max: "2" }).status).toBe(200);
  expect(shop.get(primary).autoscaling_limit_max_cu).toBe(4);
});

it("a smallest size that is now the largest one shown is a change", () => {
  shop.patch(primary, { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 });
  shop.finishOperations();
  expect(ana.post(page, { ...shown, shown: "1/2/0", min: "2", max: "2" }).status).toBe(200);
  expect(shop.get(primary).autoscaling_limit_min_cu).toBe(2);
});

it("a form without fields leaves the compute as it is", () => {
  shop.patch(primary, { suspend_timeout_seconds: 900 });
  expect(ana.post(page, { compute: primary, shown: "1/1/900" }).status).toBe(200);
  expect(shop.get(primary)).toMatchObject({ autoscaling_limit_max_cu: 1, suspend_timeout_seconds: 900 });
});

it("a change is held to the limits of the free plan, in words", () => {
  const bob = new Visitor(shop.core).signIn("acc-bob");
  const own = rowsIn(bob.get("/app/projects/bob-own/branches/br-bob"))[0]?.[2] ?? "";
  const path = "/app/projects/bob-own/branches/br-bob";
  const larger = bob.post(path, { ...shown, compute: own, max: "4" });
  expect(larger.status).toBe(422);
  expect(problemIn(larger)).toContain("The free plan ends at 2 CU (2 vCPUs, 8 GB): 4 CU needs a paid plan.");
  const always = bob.post(path, { ...shown, compute: own, suspend: "-1" });
  expect(always.status).toBe(422);
  expect(problemIn(always)).toContain("Scale to zero cannot be turned off on the free plan: leave it on.");
  expect(textOf(bob.post(path, { ...shown, compute: own, max: "2" }))).toContain(`${own} has 1–2 vCPU`);
});

it("a compute changed in place waits where the project is busy, in words", () => {
  ana.post(page, { ...shown, max: "2" });
  const again = ana.post(page, { ...shown, shown: "1/2/0", max: "4" });
  expect(again.status).toBe(423);
  expect(problemIn(again)).toContain("Something is still in progress in this project.");
});

it("another account's compute is not found", () => {
  const eve = new Visitor(shop.core).signIn("acc-eve");
  expect(eve.get(page).status).toBe(404);
  const seen = eve.post(page, { ...shown, max: "2" });
  expect([seen.status, problemIn(seen)]).toEqual([404, expect.stringContaining("Project not found.")]);
  expect(shop.get(primary).autoscaling_limit_max_cu).toBe(1);
});

it("a compute changed in place can be seen and changed with --strict-spec too", () => {
  const strict = new Shop({ strictSpec: true });
  const visitor = new Visitor(strict.core).signIn("acc-ana");
  visitor.get(page);
  visitor.post(page, { ...shown, max: "2", suspend: "-1" });
  expect(strict.core.context.store.endpoints.byId(primary)).toMatchObject({ maxCu: 2, suspendTimeoutSeconds: -1 });
});

it("the use of a compute that runs since the week before counts from Monday on, in lists of computes and of a branch", () => {
  shop.connect(primary, 604_800);
  shop.time.pass(Date.UTC(2026, 0, 5, 1) - shop.time.now());
  const later = new Visitor(shop.core).signIn("acc-ana");
  expect(rowsIn(later.get("/app/computes"))[0]).toContain("1 CU hour");
  expect(textOf(later.get(page))).toContain("1 CU hour this week");
});

it("the use of a compute that has been suspended counts as that of one that runs, in lists of computes and of a branch", () => {
  shop.active({ suspend_timeout_seconds: -1, autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 });
  shop.time.pass(2 * 3_600_000);
  shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
  shop.finishOperations();
  expect(rowsIn(ana.get("/app/computes"))[0]).toContain("4 CU hours");
  expect(textOf(ana.get(page))).toContain("4 CU hours this week");
});

it("a compute that starts from idle is found among those that start, until it is active", () => {
  const found = (state: string) =>
    rowsIn(ana.get(`/app/computes?state=${state}`)).some(([id]) => id?.includes(primary));
  expect(["starting", "active", "idle"].map(found)).toEqual([false, false, true]);
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  expect(["starting", "active", "idle"].map(found)).toEqual([true, false, true]);
  shop.finishOperations();
  expect(["starting", "active", "idle"].map(found)).toEqual([false, true, false]);
});
