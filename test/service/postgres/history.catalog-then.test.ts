import { describe, expect, it } from "vitest";
import { catalogThen } from "../../../src/service/postgres/history/catalog-then.ts";
import { TestService } from "../support/service.ts";

const brought = {
  rights: 3,
  roles: ["neondb_owner", "late"].map((name) => ({ name, login: true, passwordSource: name })),
  databases: ["neondb", "young"].map((name, id) => ({ id, name, ownerName: "neondb_owner" })),
};
const server = {
  roleNames: ["neon_superuser", "neondb_owner", "gone", "sql"],
  roles: ["neondb_owner", "gone"].map((name) => ({ name, login: true })),
  databases: [
    { name: "neondb", ownerName: "gone" },
    { name: "old", ownerName: "neondb_owner" },
  ],
};

describe("the catalogue of a point in the past", () => {
  it("the catalogue of a point lacks what was brought into the data later, and nothing that never was", () => {
    const { lostRoles, lostDatabases } = catalogThen(brought, server);
    expect([lostRoles, lostDatabases]).toEqual([["late"], ["young"]]);
  });

  it("the catalogue of data that no server of the service had run on by then lacks nothing of the API's", () => {
    const { lostRoles, lostDatabases } = catalogThen(brought, { roleNames: ["postgres"], roles: [], databases: [] });
    expect([lostRoles, lostDatabases]).toEqual([[], []]);
  });

  it("a branch that takes it over has its roles and databases, with new passwords for roles that it had no more", () => {
    const service = new TestService().applySeed({
      accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale" }],
      projects: [
        {
          id: "p",
          owner: "acc-ana",
          branches: [{ id: "br-a", name: "main", default: true, roles: ["late", "waits"] }],
        },
      ],
    });
    const { store } = service.core.context;
    const { catalogs } = store;
    const kept = catalogs.role("br-a", "neondb_owner")?.passwordSource;
    catalogs.insertDatabase({ branchId: "br-a", name: "young", ownerName: "late", createdAt: 0, updatedAt: 0 });
    catalogs.becomeAs("br-a", catalogThen(brought, server), 5, (name) => `new ${name}`);
    expect(catalogs.roles("br-a").map(({ name, passwordSource }) => [name, passwordSource])).toEqual([
      ["neondb_owner", kept],
      ["waits", expect.any(String)],
      ["gone", "new gone"],
    ]);
    expect(catalogs.databases("br-a").map(({ name, ownerName }) => [name, ownerName])).toEqual([
      ["neondb", "gone"],
      ["old", "neondb_owner"],
    ]);
  });
});
