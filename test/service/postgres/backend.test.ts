import { expect, it } from "vitest";
import { PostgresBackend } from "../../../src/service/postgres/backend.ts";
import { Sessions } from "../../../src/service/postgres/fleet/sessions.ts";
import { required } from "../../../src/service/refusal.ts";
import type { Owner } from "../../../src/service/store/projects.ts";
import { primary, Shop } from "../support/shop.ts";

it("a server is asked about settings in the share of the project's owner, and not about what no compute may have", () => {
  const asked: unknown[] = [];
  const refusedSettings = (...given: unknown[]) => {
    asked.push(given);
    return "work_mem is too small";
  };
  const address = { host: "localhost", port: 5432 };
  const backend = new PostgresBackend(address, new Sessions(), { refusedSettings }, () => undefined);
  const owner: Owner = { kind: "organization", id: "org-shop" };
  const settings = { work_mem: "1" };
  expect(backend.settingsProblem({ pgVersion: 17, owner }, settings)).toBe(
    "Postgres refuses them: work_mem is too small",
  );
  expect(backend.settingsProblem({ pgVersion: 17, owner }, { data_directory: "/" })).toContain("data_directory");
  expect(backend.oldestMajor).toBe(15);
  expect(asked).toEqual([[{ major: 17, owner: "org-shop" }, settings]]);
});

it("the clients of a compute are those of the proxy, direct and pooled ones apart, and it serves where any is there", () => {
  const sessions = new Sessions();
  const address = { host: "localhost", port: 5432 };
  const backend = new PostgresBackend(address, sessions, { refusedSettings: () => undefined }, () => undefined);
  const open = (endpointId: string, pooled: boolean, counts = true) =>
    sessions.open({ endpointId, pooled, counts, logout: new AbortController() });
  for (const pooled of [false, false, true]) open("ep-a", pooled);
  open("ep-b", true);
  open("ep-c", false, false);
  expect([backend.connections({ id: "ep-a" }, false), backend.connections({ id: "ep-a" }, true)]).toEqual([2, 1]);
  expect(Object.fromEntries(backend.directConnections())).toEqual({ "ep-a": 2, "ep-b": 0, "ep-c": 0 });
  const { endpoints } = new Shop().core.context.store;
  const like = required("primary", endpoints.byId(primary));
  expect(["ep-a", "ep-b", "ep-c", "ep-d"].map((id) => backend.serves({ ...like, id }))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});
