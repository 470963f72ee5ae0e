import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

it("opens sessions in servers in two places only: those of the service, and those of a client's own role", () => {
  const root = join(import.meta.dirname, "..", "..", "..");
  const opening = globSync("src/service/**/*.ts", { cwd: root }).filter((file) =>
    readFileSync(join(root, file), "utf8").includes("SqlClient.connect("),
  );
  expect(opening.toSorted()).toEqual([
    "src/service/postgres/driver/sql-over-http.ts",
    "src/service/postgres/service-sessions.ts",
  ]);
});
