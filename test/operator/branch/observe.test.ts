import { describe, expect, test } from "vitest";
import { interestOf, observe } from "../../../src/operator/branch/observe.ts";
import { branch, memory, subject } from "./builders.ts";

describe("the branches that concern a Branch", () => {
  const gone = { gone: { branchID: "br-one", how: "Expired", expiry: "never" } };
  const byID = { adopt: { branchID: "br-theirs" } };

  test.each([
    ["its own, by the id", branch({ linked: "br-one" }), { id: "br-one", names: [], count: false }],
    ["those of its name and their number", branch(), { id: undefined, names: ["team/shop"], count: true }],
    [
      "those of its name and of its parent's",
      branch({ spec: { branchName: "one", parent: { branchName: "main" } } }),
      { id: undefined, names: ["one", "main"], count: true },
    ],
    [
      "none of a parent that is named by its id",
      branch({ spec: { parent: { branchID: "br-main" } } }),
      { id: undefined, names: ["team/shop"], count: true },
    ],
    ["the one that it adopts", branch({ spec: byID }), { id: "br-theirs", names: ["team/shop"], count: true }],
    [
      "its own before the one that it adopts",
      branch({ linked: "br-one", spec: byID }),
      { id: "br-one", names: [], count: false },
    ],
    [
      "the one that is gone, which may come back, and those of its name",
      branch({ linked: "br-one", status: gone }),
      { id: "br-one", names: ["team/shop"], count: true },
    ],
  ])("the branches that concern a Branch are %s", (_, object, interest) => {
    expect(interestOf(object)).toEqual(interest);
  });
});

describe("a Branch whose connection is not open", () => {
  const seen = (connection: Parameters<typeof observe>[2]) => observe(subject(), memory(), connection, undefined);

  test("a Branch whose connection is closed says why", () => {
    const closed = { kind: "closed", reason: "ConnectionNotFound", message: "There is none." } as const;
    expect(seen(closed)).toMatchObject({
      kind: "unobserved",
      object: branch(),
      why: { kind: "shown", reason: "ConnectionNotFound", message: "There is none." },
    });
  });

  test("a Branch whose connection begins looks again in ten seconds", () => {
    expect(seen({ kind: "pending" })).toMatchObject({ kind: "unobserved", why: { kind: "pending", afterMs: 10_000 } });
  });
});
