import { describe, expect, it, test } from "vitest";
import { boundsProblem, numericSettings, switches } from "../../../src/service/computes/setting-bounds.ts";
import { preview, primary, project, Shop } from "../support/shop.ts";

const problem = (settings: Record<string, string>, connections = 4000) => boundsProblem(settings, connections);

describe("the bounds of settings", () => {
  test.each([
    ["max_locks_per_transaction", "2147483647"],
    ["max_locks_per_transaction", "1025"],
    ["max_locks_per_transaction", "9"],
    ["max_locks_per_transaction", "0x7fffffff"],
    ["max_locks_per_transaction", "1e9"],
    ["MAX_LOCKS_PER_TRANSACTION", "1025"],
    ["max_pred_locks_per_transaction", "1025"],
    ["max_prepared_transactions", "1001"],
    ["track_activity_query_size", "1MB"],
    ["track_activity_query_size", "65537"],
    ["autovacuum_max_workers", "262000"],
    ["min_wal_size", "1TB"],
    ["max_wal_size", "1"],
    ["work_mem", "much"],
    ["work_mem", "63kB"],
    ["work_mem", "64ms"],
    ["work_mem", "1kb"],
    ["work_mem", "8 8kB"],
    ["work_mem", ""],
    ["work_mem", "nan"],
    ["bgwriter_delay", "11min"],
    ["checkpoint_completion_target", "1.1"],
    ["cursor_tuple_fraction", "-0.1"],
    ["random_page_cost", "inf"],
    ["geqo", "maybe"],
    ["geqo", "o"],
    ["geqo", ""],
  ])("refuse %s = %j", (name, value) => {
    expect(problem({ [name]: value })).toContain(`invalid value for parameter "${name.toLowerCase()}"`);
  });

  test.each([
    ["max_locks_per_transaction", "64"],
    ["max_prepared_transactions", "0"],
    ["work_mem", "64"],
    ["work_mem", " 1.5 GB "],
    ["Work_Mem", "0x40"],
    ["effective_cache_size", "128GB"],
    ["log_min_duration_statement", "-1"],
    ["lock_timeout", "5s"],
    ["checkpoint_timeout", "0.5h"],
    ["vacuum_cost_delay", "2500us"],
    ["random_page_cost", "1.1"],
    ["random_page_cost", "+.5e1"],
    ["jit", "Fal"],
    ["search_path", "a, b"],
    ["my.own", "any \u00fc"],
    ["shared_buffers", "1GB"],
  ])("take %s = %j", (name, value) => {
    expect(problem({ [name]: value })).toBeUndefined();
  });

  it("hold for the shared memory that several settings take together, by the number of connections", () => {
    const [locks, preds] = [{ max_locks_per_transaction: "200" }, { max_pred_locks_per_transaction: "300" }];
    expect([problem(locks), problem(preds)]).toEqual([undefined, undefined]);
    expect(problem({ ...locks, ...preds })).toMatch(/more shared memory than 4000 connections may have/);
    expect(problem({ ...locks, ...preds }, 450)).toBeUndefined();
    expect(problem({ max_locks_per_transaction: "1024", track_activity_query_size: "64kB" }, 450)).toBeUndefined();
    expect(problem({ max_locks_per_transaction: "1024", track_activity_query_size: "64kB" }, 2000)).toBeDefined();
  });

  it("know each numeric setting and each switch, and give the greatest and the least of none a way around", () => {
    for (const name of numericSettings) {
      for (const value of ["1e309", "-1e309", "x", "1\u00a0"]) {
        expect([name, value, problem({ [name]: value })]).not.toContain(undefined);
      }
    }
    for (const name of switches) expect(problem({ [name]: "x" })).toBeDefined();
    expect([numericSettings.length, switches.length]).toEqual([98, 54]);
  });
});

describe("names and values of settings", () => {
  test.each([
    "wor\u212a_mem",
    "work mem",
    "work_mem\n",
    "",
    "1a",
    "a=b",
    "a\u0000",
    "w\u00f6rk_mem",
    "work_mem\u0130",
    "-c",
  ])("refuse the name %j", (name) => {
    expect(problem({ [name]: "1MB" })).toContain(`${JSON.stringify(name)} is no name of a setting`);
  });

  test.each(["a\nb", "a\rb", "a\tb", "\u0000", "\u0001", "a\u007f", "a\u0085b", "\u001b[2J"])(
    "refuse the value %j",
    (value) => {
      expect(problem({ search_path: value })).toBe("the value of search_path has a control character");
      expect(problem({ "my.own": value })).toBe("the value of my.own has a control character");
    },
  );

  it("refuse a setting that is given twice, in two spellings", () => {
    expect(problem({ work_mem: "1MB", Work_Mem: "2MB" })).toBe("work_mem is given twice");
  });
});

describe("the service with the model", () => {
  const shop = new Shop();
  const endpoints = `/projects/${project}/endpoints`;
  const tooLarge = { settings: { pg_settings: { max_locks_per_transaction: "2147483647" } } };
  const change = (endpoint: object) => shop.ana(`PATCH ${endpoints}/${primary}`, { endpoint });
  const said = (answer: { status: number; body: Record<string, unknown> }) => [answer.status, answer.body["message"]];

  it("refuses such settings in a create, a change and the defaults of a project", () => {
    const refused = [400, expect.stringContaining('invalid value for parameter "max_locks_per_transaction"')];
    const endpoint = { branch_id: preview, type: "read_write", ...tooLarge };
    expect(said(shop.ana(`POST ${endpoints}`, { endpoint }))).toEqual(refused);
    expect(said(change(tooLarge))).toEqual(refused);
    const branch = { endpoints: [{ type: "read_write", ...tooLarge }] };
    expect(said(shop.ana(`POST /projects/${project}/branches`, branch))).toEqual(refused);
    const defaults = { default_endpoint_settings: tooLarge.settings };
    expect(said(shop.ana(`PATCH /projects/${project}`, { project: defaults }))).toEqual(refused);
    expect(said(shop.ana("POST /projects", { project: { name: "x", ...defaults } }))).toEqual(refused);
  });

  it("refuses a size for which the settings of a compute are too large, and a replica with them", () => {
    const settings = { pg_settings: { max_locks_per_transaction: "1024" } };
    const sizes = (cu: number) => ({ autoscaling_limit_min_cu: cu, autoscaling_limit_max_cu: cu });
    expect(change({ settings, ...sizes(1) }).status).toBe(200);
    shop.finishOperations();
    const refused = [400, expect.stringContaining("more shared memory than 4000 connections may have")];
    expect(said(change(sizes(16)))).toEqual(refused);
    const replica = { branch_id: preview, type: "read_only", settings, ...sizes(1) };
    expect(said(shop.ana(`POST ${endpoints}`, { endpoint: replica }))).toEqual(refused);
  });

  test.each([
    { pgbouncer_settings: { query_wait_timeout: "1\n2" } },
    { pgbouncer_settings: { "a\rb": "1" } },
    { preload_libraries: { enabled_libraries: ["a\u0000b"] } },
    { preload_libraries: { enabled_libraries: ["a\nb"] } },
  ])("refuses control characters also in %j", (more) => {
    const [status] = said(change({ settings: { pg_settings: {}, ...more } }));
    expect(status).toBe(400);
  });
});
