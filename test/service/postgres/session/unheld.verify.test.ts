import { beforeAll, describe, expect, it } from "vitest";
import { matrixSeed } from "../holders/branches.ts";
import { cellsOf, holders, Matrix } from "../holders/matrix.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig(["--branch-recovery"], matrixSeed);
const matrix = new Matrix(rig);
beforeAll(() => matrix.prepare());

/** By operation of the API: what a client holds, of each kind that once made it fail. */
const once: Readonly<Record<string, readonly string[]>> = {
  "delete database": [
    "tx: COMMENT ON DATABASE",
    "prepared with the database",
    "prepared in the doomed database",
    "template flag that comes back",
    "computing without interrupts",
    "page of an index",
  ],
  "reset password": [
    "prepared in a database that it closed",
    "prepared, its closed database locked",
    "prepared in a database with rules, which it changed",
    "prepared with every lock",
    "every lock of the server",
  ],
  "create branch": ["prepared with nearly every lock"],
  "rename database": ["tx: GRANT ON DATABASE"],
  "create role": ["tx: CREATE ROLE of a name to come"],
  "delete role": ["tx: lock on the victim's table", "prepared with the victim's table", "every lock of the server"],
};

/** HOLDERS names operations that each holder is to meet, by a pattern: `.` for all. */
const tried = process.env["HOLDERS"];
const cells = cellsOf((operation) => {
  if (tried === undefined) return once[operation] ?? [];
  return new RegExp(tried).test(operation) ? Object.keys(holders) : [];
});

describe("an operation of the API, while a role of SQL holds something of its branch", () => {
  it.each(cells)("$name ends, and all is as the API says: $held", async ({ operation, holder, name, held }) => {
    const { faults, ...measured } = await matrix.cell(holder, operation);
    if (tried !== undefined) console.log(name, held, measured, faults);
    expect(faults).toEqual([]);
  });
});
