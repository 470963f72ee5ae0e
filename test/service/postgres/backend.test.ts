import { expect, it } from "vitest";
import { PostgresBackend } from "../../../src/service/postgres/backend.ts";
import { Sessions } from "../../../src/service/postgres/fleet/sessions.ts";
import type { Owner } from "../../../src/service/store/projects.ts";

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
