import { expect, it } from "vitest";
import { ProjectUsers } from "../../../src/operator/project/project-users.ts";

const many = 20_000;

it("finds the users of changed endpoints, however many of them changed at once", { timeout: 5000 }, () => {
  const users = new ProjectUsers();
  const ids = Array.from({ length: many }, (_, index) => `ep-${index}`);
  for (const id of ids) users.use(`uid of ${id}`, id);
  // A scan of all users for each of them takes half a minute.
  const affected = users.affectedBy({ ids, places: [] });
  expect(affected.size).toBe(many);
});

it("follows a Compute to another endpoint, and forgets one that left", () => {
  const users = new ProjectUsers();
  users.use("a", "ep-1");
  users.use("b", "ep-1");
  users.use("c", undefined);
  const linked = (id: string) => [...users.linkedTo(id)];
  expect(linked("ep-1")).toEqual(["a", "b"]);
  users.use("a", "ep-2");
  users.use("b", "ep-1");
  expect([linked("ep-1"), linked("ep-2")]).toEqual([["b"], ["a"]]);
  users.use("a", undefined);
  users.leave("b");
  expect([linked("ep-1"), linked("ep-2")]).toEqual([[], []]);
  expect([...users.uids]).toEqual(["a", "c"]);
});

it("follows a Compute to other interests, also where it left in between", () => {
  const users = new ProjectUsers();
  const affectedBy = (id: string) => users.affectedBy({ ids: [id], places: [] });
  const named = (...endpointIDs: string[]) => ({ endpointIDs, primariesOf: [], anyPlace: false });
  users.use("a", undefined, named("ep-1"));
  users.use("a", undefined, named("ep-2"));
  expect([affectedBy("ep-1"), affectedBy("ep-2")]).toEqual([new Set(), new Set(["a"])]);
  users.leave("a");
  expect([affectedBy("ep-2"), users.size]).toEqual([new Set(), 0]);
  users.use("a", undefined, named("ep-2"));
  expect([affectedBy("ep-2"), users.size]).toEqual([new Set(["a"]), 1]);
});
