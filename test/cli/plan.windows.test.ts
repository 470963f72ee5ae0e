import { describe, expect, test } from "vitest";
import { main, primary, project } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** HH:MM of the service's clock, so many milliseconds from now. */
function clockIn(stage: Stage, ms: number): string {
  return new Date(stage.time.now() + ms).toISOString().slice(11, 16);
}

/** A window of an hour that begins in so many milliseconds. */
function window(stage: Stage, ms: number): string {
  return `{windows: [{from: "${clockIn(stage, ms)}", to: "${clockIn(stage, ms + hourMs)}"}]}`;
}

const resized = "adopt: {branchPrimary: true}, computeUnits: {min: 2, max: 4}";
const withWindow = (stage: Stage, ms: number) => compute("a", `${resized}, disruption: ${window(stage, ms)}`, main);

/** A stage whose primary has a client. */
function busy(): Stage {
  const stage = new Stage();
  stage.shop.connect(primary, 24 * 3600);
  stage.shop.finishOperations();
  expect(stage.shop.get(primary).current_state).toBe("active");
  return stage;
}

/** The opening of the window that `window` declares, as a plan shows it. */
function opening(stage: Stage, ms: number): string {
  return `${new Date(stage.time.now() + ms).toISOString().slice(0, 16)}:00Z`;
}

describe("a change that would cut connections while no window is open", () => {
  test("plan shows it as waiting, with what changes and when the next window opens, and counts it as a change", async () => {
    using stage = busy();
    const path = stage.file("a.yaml", documents(connection, withWindow(stage, 3 * hourMs)));
    const opens = opening(stage, 3 * hourMs);
    const text = await stage.run("plan", ["-f", path]);
    expect(text).toMatchObject({ status: 2, err: "" });
    expect(text.out.split("\n")[0]).toBe(
      `… shop/a  wait     WaitingForWindow: computeUnits.min 2, computeUnits.max 4 would cut connections, and waits until a window opens (the next: ${opens}) or the compute is suspended. computeUnits.min 1 → 2, computeUnits.max 1 → 4`,
    );
    const { computes } = JSON.parse((await stage.run("plan", ["-f", path, "-o", "json"])).out);
    expect(computes).toMatchObject([{ step: "wait", reason: "WaitingForWindow", nextWindow: opens }]);
    expect(stage.writes).toEqual([]);
  });

  test("apply says so, waits for no window, sends nothing for it and exits 0", async () => {
    using stage = busy();
    const path = stage.file("a.yaml", documents(connection, withWindow(stage, 3 * hourMs)));
    const before = stage.time.now();
    const run = await stage.run("apply", ["-f", path]);
    expect(run).toMatchObject({ status: 0, err: "" });
    expect(run.out).toContain("apply waits for no window (the next: ");
    expect(run.out).toContain("run it again once one is open.");
    expect(stage.writes).toEqual([]);
    expect(stage.time.now() - before).toBeLessThan(minuteMs);
  });

  test("apply sends the rest of the edit at once, and counts what waits apart", async () => {
    using stage = busy();
    const spec = `${resized}, scaleToZero: {enabled: true, after: 10m}, disruption: ${window(stage, 3 * hourMs)}`;
    const path = stage.file("a.yaml", documents(connection, compute("a", spec, main), compute("b")));
    const run = await stage.run("apply", ["-f", path, "--yes"]);
    expect(run).toMatchObject({ status: 0, err: "" });
    const patch = stage.writes.find(({ line }) => line.startsWith("PATCH"));
    expect(patch?.body).toEqual({ endpoint: { suspend_timeout_seconds: 600 } });
    expect(run.out).toMatch(
      /^~ shop\/a {2}patch .*scaleToZero\.after \S+ → 600s\. computeUnits\.min 2, computeUnits\.max 4 would cut connections/m,
    );
    expect(run.out).toContain("Applied: 1 as declared, 1 waiting for a window.");
    const again = await stage.run("apply", ["-f", path, "--yes"]);
    expect(again).toMatchObject({ status: 0 });
    expect(stage.writes.filter(({ line }) => line.startsWith("PATCH"))).toHaveLength(1);
  });

  test.each<[string, (stage: Stage) => string]>([
    ["a window is open", (stage) => withWindow(stage, -30 * minuteMs)],
    [
      "the annotation disruptionUntil allows it",
      (stage) => {
        const until = new Date(stage.time.now() + hourMs).toISOString();
        const annotations = `annotations: {compute-operator.dev/disruptionUntil: "${until}"}`;
        return compute("a", `${resized}, disruption: ${window(stage, 3 * hourMs)}`, main, annotations);
      },
    ],
    ["anyTime overrules the connection's default", () => compute("a", `${resized}, disruption: {anyTime: true}`, main)],
  ])("it is sent while %s", async (_, text) => {
    using stage = busy();
    const spec = connection.replace("spec: {", `spec: {disruption: ${window(stage, 3 * hourMs)}, `);
    const path = stage.file("a.yaml", documents(spec, text(stage)));
    expect(await stage.run("apply", ["-f", path, "--yes"])).toMatchObject({ status: 0 });
    expect(stage.shop.get(primary).autoscaling_limit_max_cu).toBe(4);
  });

  test("it is sent to a compute that the list shows idle", async () => {
    using stage = new Stage();
    const path = stage.file("a.yaml", documents(connection, withWindow(stage, 3 * hourMs)));
    expect(stage.shop.get(primary).current_state).toBe("idle");
    expect(await stage.run("apply", ["-f", path, "--yes"])).toMatchObject({ status: 0 });
    expect(stage.shop.get(primary).autoscaling_limit_max_cu).toBe(4);
  });

  test("the connection's default holds where the Compute names no windows", async () => {
    using stage = busy();
    const spec = connection.replace("spec: {", `spec: {disruption: ${window(stage, 3 * hourMs)}, `);
    const path = stage.file("a.yaml", documents(spec, compute("a", resized, main)));
    expect((await stage.run("plan", ["-f", path])).out).toContain("WaitingForWindow");
  });

  test("a list that took long to come counts as new: a command lists only once", async () => {
    using stage = busy();
    const path = stage.file("a.yaml", documents(connection, withWindow(stage, 3 * hourMs)));
    stage.rewrite = ({ path: asked }, response) => {
      if (asked.endsWith("/endpoints")) stage.time.pass(20_000);
      return response;
    };
    expect((await stage.run("plan", ["-f", path])).out).toContain("wait     WaitingForWindow");
    expect(await stage.run("apply", ["-f", path, "--yes"])).toMatchObject({ status: 0 });
  });
});

describe("the entry of a schedule in force", () => {
  const schedule = (stage: Stage) =>
    `schedule: [{name: office, from: "${clockIn(stage, -hourMs)}", to: "${clockIn(stage, 2 * hourMs)}", computeUnits: {min: 2, max: 8}}]`;

  test("the entry in force is what plan compares with and shows, with its end", async () => {
    using stage = new Stage();
    const spec = `adopt: {branchPrimary: true}, computeUnits: {min: 1, max: 1}, ${schedule(stage)}`;
    const path = stage.file("a.yaml", documents(connection, compute("a", spec, main)));
    const until = opening(stage, 2 * hourMs);
    const run = await stage.run("plan", ["-f", path]);
    expect(run.out).toContain(
      `patch    adopts ${primary}: computeUnits.min 1 → 2, computeUnits.max 1 → 8; office of its schedule is in force until ${until}`,
    );
    const { computes } = JSON.parse((await stage.run("plan", ["-f", path, "-o", "json"])).out);
    expect(computes[0].schedule).toEqual({ active: "office", until });
  });

  test("the entry in force is applied, found as declared by a second plan, and left again when it ends", async () => {
    using stage = new Stage();
    const spec = `type: read_only, computeUnits: {min: 1, max: 1}, ${schedule(stage)}`;
    const path = stage.file("a.yaml", documents(connection, compute("a", spec, main)));
    expect(await stage.run("apply", ["-f", path, "--yes"])).toMatchObject({ status: 0 });
    const sizes = () => stage.shop.list().map(({ type, autoscaling_limit_max_cu: max }) => `${type} ${max}`);
    expect(sizes()).toContain("read_only 8");
    const second = await stage.run("plan", ["-f", path]);
    expect(second).toMatchObject({ status: 0 });
    stage.time.pass(2 * hourMs);
    const later = await stage.run("plan", ["-f", path]);
    expect(later.status).toBe(2);
    expect(later.out).toContain("computeUnits.max 8 → 1");
    expect(later.out).toContain("none of its schedule is in force until ");
  });

  test("an entry gives way to the spec when it ends while apply runs", async () => {
    using stage = new Stage();
    const spec = `type: read_only, computeUnits: {min: 1, max: 1}, ${schedule(stage)}`;
    const path = stage.file("a.yaml", documents(connection, compute("a", spec, main)));
    stage.rewrite = ({ method }, response) => {
      if (method === "POST") stage.time.pass(2 * hourMs);
      return response;
    };
    expect(await stage.run("apply", ["-f", path, "--yes", "--timeout", "5h"])).toMatchObject({ status: 0 });
    const made = stage.writes.map(({ body }) => Object(Object(body).endpoint).autoscaling_limit_max_cu);
    expect(made).toEqual([8, 1]);
  });

  test("the entry in force is that of the service's clock, whatever this machine's shows", async () => {
    using stage = new Stage();
    const spec = `type: read_only, computeUnits: {min: 1, max: 1}, ${schedule(stage)}`;
    const path = stage.file("a.yaml", documents(connection, compute("a", spec, main)));
    stage.rewrite = (_, response) => ({ ...response, dateMs: stage.time.now() + 5 * hourMs });
    const run = await stage.run("plan", ["-f", path]);
    expect(run.out).toContain(
      `read_only on branch ${main} of project ${project}: computeUnits.min 1, computeUnits.max 1`,
    );
    expect(run.out).toContain("none of its schedule is in force");
  });
});
