import { expect, it } from "vitest";
import { endRole, refuseBarred } from "../../../src/service/postgres/entry.ts";

it("a database has one name alone, also where a client gives it a longer one, which a server cuts", async () => {
  const known = "d".repeat(63);
  const answer = (rows: string[][]) => async (sql: string) => (sql.includes(`'${known}'`) ? rows : []);
  await expect(refuseBarred(answer([["t"]]), "app", `${known}e`)).resolves.toBeUndefined();
  await expect(refuseBarred(answer([["f"]]), "app", `${known}e`)).rejects.toThrow(`permission denied for database`);
  await expect(refuseBarred(answer([["t"]]), "app", "d")).rejects.toThrow('database "d" does not exist');
});

it("the clients of a role whose name is another one's are sent away before their sessions are ended, and find no others", async () => {
  const steps: string[] = [];
  const query = async (sql: string) => {
    steps.push(/usesysid = \d+/.exec(sql)?.[0] ?? sql);
    return [];
  };
  await endRole("16400", query, () => steps.push("logged out"));
  expect(steps).toEqual(["logged out", "usesysid = 16400", "usesysid = 16400"]);
});
