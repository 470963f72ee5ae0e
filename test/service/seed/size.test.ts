import { expect, it } from "vitest";
import { stringify } from "yaml";
import type { Seed } from "../../../src/service/seed/document.ts";
import { parseSeed } from "../../../src/service/seed/file.ts";
import { sizeOf } from "../../../src/service/seed/size.ts";
import { type SeedInput, TestService } from "../support/service.ts";
import { shopSeed } from "../support/shop.ts";

const parsed = (document: SeedInput): Seed => parseSeed(stringify(document), "seed.yaml");
const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);

/** One project whose default branch, not the first one, has roles, with other branches. */
function wide(roles: number, others: number): SeedInput {
  const branches = [{}, { default: true, roles: names(roles) }, ...names(others).map(() => ({}))];
  return { accounts: [{ id: "a", email: "a@b.cd" }], projects: [{ id: "p", owner: "a", branches }] };
}

const databases = names(3).map((name) => ({ name }));
const withDatabases: SeedInput = {
  accounts: [{ id: "a", email: "a@b.cd" }],
  projects: [{ id: "p", owner: "a", branches: [{ databases }, { databases: [{ name: "own" }], roles: ["app"] }] }],
};

it("the size of a seed counts all that it makes", () => {
  const rows = (service: TestService, tables: readonly string[]) =>
    tables.reduce((sum, table) => sum + Number(service.database.one(`SELECT count(*) AS n FROM ${table}`)?.["n"]), 0);
  for (const document of [shopSeed, wide(3, 4), withDatabases]) {
    const service = new TestService().applySeed(document);
    const tables = ["accounts", "organizations", "members", "api_keys", "projects", "branches", "endpoints"];
    const catalogues = rows(service, ["roles", "databases"]);
    // The first role and the first database of a default branch are not counted.
    const firsts = 2 * rows(service, ["projects"]);
    expect(sizeOf(parsed(document))).toBe(rows(service, tables) + catalogues - firsts);
  }
});

it("a seed that would make more than 500,000 objects is refused before any of it is made", () => {
  expect(parsed(wide(400, 1200)).projects).toHaveLength(1);
  expect(() => parsed(wide(400, 1300))).toThrow(
    /^seed\.yaml is not a seed of the service:\n {2}it would make \d{6} objects, .*: at most 500000 are possible$/,
  );
});

it.each(["roles", "databases"])("a branch of a seed has at most 500 %s, the first one among them", (kind) => {
  const seed = (count: number) => {
    const more = kind === "roles" ? names(count) : names(count).map((name) => ({ name }));
    return parsed({ projects: [{ id: "p", owner: "a", branches: [{ [kind]: more }] }] });
  };
  expect(seed(499).projects).toHaveLength(1);
  expect(() => seed(500)).toThrow(`projects.0.branches.0.${kind}: at most 499 are possible`);
});

it("every double of a long list is named once, in the order of the list", () => {
  const branches = [...names(20_000), "n7", "n7", "n3"].map((name, n) => ({ id: `br-${name}`, name: `${n}` }));
  expect(() => parsed({ projects: [{ id: "p", owner: "a", branches }] })).toThrow(
    /^seed\.yaml is not a seed of the service:\n {2}two branches have the id br-n7\n {2}two branches have the id br-n3$/,
  );
});
