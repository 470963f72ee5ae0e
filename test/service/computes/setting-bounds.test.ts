import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import {
  boundsProblem,
  numericSettings,
  settingNumber,
  switches,
} from "../../../src/service/computes/setting-bounds.ts";
import { preview, primary, project, Shop } from "../support/shop.ts";

/** The numeric settings as `pg_settings` of Postgres 17 has them: name, least, greatest, `real` and unit. */
const postgresSettings = readFileSync(join(import.meta.dirname, "pg-settings.txt"), "utf8")
  .trim()
  .split("\n")
  .map((line) => line.split(" "));

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

  it("refuse a number with many spaces before what is none in no more time than its characters take", () => {
    const before = process.cpuUsage();
    const value = `1${" ".repeat(200_000)}!`;
    expect(problem({ work_mem: value })).toContain("work_mem");
    expect(problem({ my_own: value })).toBeUndefined();
    // A minute, where each space can belong to two places of the pattern.
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
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
    ["random_page_cost", "5E0"],
    ["work_mem", "0XFF"],
    ["jit", "Fal"],
    ["search_path", "a, b"],
    ["my.own", "any \u00fc"],
    ["shared_buffers", "1GB"],
  ])("take %s = %j", (name, value) => {
    expect(problem({ [name]: value })).toBeUndefined();
  });

  test.each([
    // Each unit at the greatest value of a setting, and one more.
    ["track_activity_query_size", "65536B", "65537B"],
    ["track_activity_query_size", "64kB", "65kB"],
    ["max_wal_size", "65536MB", "65537MB"],
    ["max_wal_size", "64GB", "65GB"],
    ["effective_cache_size", "15.9TB", "16.1TB"],
    ["vacuum_cost_delay", "100000us", "100001us"],
    ["checkpoint_timeout", "86400000ms", "86401000ms"],
    ["checkpoint_timeout", "86400s", "86401s"],
    ["checkpoint_timeout", "1440min", "1441min"],
    ["checkpoint_timeout", "24h", "25h"],
    ["checkpoint_timeout", "1d", "2d"],
    // Whole numbers are rounded, others are not.
    ["work_mem", "63.6", "63.4"],
    ["max_locks_per_transaction", "1024.4", "1024.6"],
    ["cursor_tuple_fraction", "1.0", "1.1"],
    ["log_min_duration_statement", "-0x1", "-0x2"],
    ["log_min_duration_statement", "-1", "-2"],
    ["log_min_duration_statement", "+0x7fffffff", "+0x80000000"],
  ])("take %s = %j, and refuse %j", (name, taken, refused) => {
    expect(problem({ [name]: taken }, 100)).toBeUndefined();
    expect(problem({ [name]: refused }, 100)).toContain(`invalid value for parameter "${name}"`);
  });

  test.each("on ON of off 1 0 t tr true f fals false y yes n no".split(" "))("take a switch that is %s", (word) => {
    expect(problem({ jit: word })).toBeUndefined();
  });

  it("a refusal says the bounds, the unit where the setting has one, and no more than the value's beginning", () => {
    const invalid = (name: string, value: string) => `invalid value for parameter "${name}": "${value}": must be`;
    expect(problem({ work_mem: "63" })).toBe(`${invalid("work_mem", "63")} 64 to 2147483647, in units of kB`);
    expect(problem({ geqo_effort: "11" })).toBe(`${invalid("geqo_effort", "11")} 1 to 10`);
    expect(problem({ jit: "x".repeat(101) })).toBe(`${invalid("jit", "x".repeat(100))} on or off`);
  });

  it("leave a setting that no server could read at its usual value", () => {
    const read = (value: string) => settingNumber({ Track_Activity_Query_Size: value }, "track_activity_query_size");
    expect(["2kB", "0x800", "1ms", "1XB", "much"].map(read)).toEqual([2048, 2048, 1024, 1024, 1024]);
    expect(settingNumber({}, "max_locks_per_transaction")).toBe(64);
  });

  it("hold for the shared memory of each setting, to the last byte", () => {
    const [locks, preds, query] = [64 * 400, 64 * 240, 1024];
    const connections = 8192;
    const room = (512 * 1024 ** 2) / connections;
    const greatest = {
      max_locks_per_transaction: Math.floor((room - preds - query) / 400),
      max_pred_locks_per_transaction: Math.floor((room - locks - query) / 240),
      track_activity_query_size: room - locks - preds,
    };
    for (const [name, most] of Object.entries(greatest)) {
      expect(problem({ [name]: String(most) }, connections)).toBeUndefined();
      expect(problem({ [name]: String(most + 1) }, connections)).toContain("more shared memory than 8192 connections");
    }
  });

  it("hold for the shared memory that several settings take together, by the number of connections", () => {
    const [locks, preds] = [{ max_locks_per_transaction: "200" }, { max_pred_locks_per_transaction: "300" }];
    expect([problem(locks), problem(preds)]).toEqual([undefined, undefined]);
    expect(problem({ ...locks, ...preds })).toMatch(/more shared memory than 4000 connections may have/);
    const inCapitals = { MAX_LOCKS_PER_TRANSACTION: "200", Max_Pred_Locks_Per_Transaction: "300" };
    expect(problem(inCapitals)).toBe(problem({ ...locks, ...preds }));
    expect(problem({ ...locks, ...preds }, 450)).toBeUndefined();
    expect(problem({ max_locks_per_transaction: "1024", track_activity_query_size: "64kB" }, 450)).toBeUndefined();
    expect(problem({ max_locks_per_transaction: "1024", track_activity_query_size: "64kB" }, 2000)).toBeDefined();
  });

  it("the bounds are those of Postgres 17, with their units, but for what no server of a compute could start with", () => {
    const narrower: Readonly<Record<string, string>> = {
      autovacuum_max_workers: "1 to 64",
      maintenance_work_mem: "1024 to 2147483647, in units of kB",
      max_locks_per_transaction: "10 to 1024",
      max_pred_locks_per_transaction: "10 to 1024",
      max_prepared_transactions: "0 to 1000",
      max_wal_size: "2 to 65536, in units of MB",
      min_wal_size: "2 to 65536, in units of MB",
      track_activity_query_size: "100 to 65536, in units of B",
    };
    const names = postgresSettings.map(([name = "", least = "", greatest = "", ...more]) => {
      const unit = more.find((word) => word !== "real");
      const range = `${Number(least)} to ${Math.min(Number(greatest), 1e308)}`;
      const bounds = unit === undefined ? range : `${range}, in units of ${unit}`;
      expect(problem({ [name]: "x" })).toBe(
        `invalid value for parameter "${name}": "x": must be ${narrower[name] ?? bounds}`,
      );
      // Fractions count where the setting is no whole number.
      const isRefused = problem({ [name]: String(Number.parseFloat(narrower[name] ?? least) - 0.4) }) !== undefined;
      expect([name, isRefused]).toEqual([name, more.includes("real")]);
      return name;
    });
    expect(names).toEqual(numericSettings);
  });

  it("know each numeric setting and each switch, and give the greatest and the least of none a way around", () => {
    for (const name of numericSettings) {
      for (const value of ["1e309", "-1e309", "x", "1\u00a0"]) {
        expect([name, value, problem({ [name]: value })]).not.toContain(undefined);
      }
    }
    for (const name of switches) expect(problem({ [name]: "x" })).toBeDefined();
    expect([numericSettings.length, switches.length]).toEqual([96, 53]);
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
