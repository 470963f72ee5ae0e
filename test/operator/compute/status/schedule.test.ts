import { expect, test } from "vitest";
import { brought, left } from "../../../../src/operator/compute/status/schedule.ts";
import { compute, endpoint } from "../../../support/builders.ts";
import { seen } from "./updating.ts";

const computeUnits = { min: 4, max: 4 };
const schedule = [{ name: "office", from: "08:00", to: "19:00", computeUnits }];
const self = compute({ spec: { schedule }, status: { appliedEntry: "" } });
const moment = { now: 0, entry: "office", declared: self.spec, unknownZones: [] };
const accepted = { kind: "accepted", generation: 1, entry: "", endpoint: undefined, operations: [] } as const;

test("the applied entry is that of the write, though another is in force when its status is written", () => {
  expect(left(self, accepted, seen({ moment }))).toMatchObject({ appliedEntry: "" });
  expect(left(self, { ...accepted, entry: "office" }, seen({ moment }))).toMatchObject({ appliedEntry: "office" });
  expect(left(self, { kind: "settled", drift: [] }, seen({ moment }))).toMatchObject({ appliedEntry: "office" });
});

test("the applied entry of a change that waits for its turn is the one before, also where no status said so", () => {
  const waits = { kind: "settled", drift: [], keepsEntry: true } as const;
  expect(left(self, waits, seen({ moment, broughtTo: "night" }))).toMatchObject({ appliedEntry: "night" });
});

test("a status that shows the size names the entry that the endpoint was brought to, whatever else it says", () => {
  const shown = seen({ endpoint: endpoint(), broughtTo: "office" });
  expect(brought(self, shown)).toEqual({ appliedEntry: "office" });
  expect(brought(self, { ...shown, endpoint: undefined })).toEqual({});
  expect(brought(self, { ...shown, broughtTo: undefined })).toEqual({});
  expect(brought(compute(), shown)).toEqual({});
  expect(brought(compute({ spec: { schedule, managementPolicy: "Observe" } }), shown)).toEqual({});
});
