import { describe, expect, test } from "vitest";
import {
  adoption,
  available,
  conflict,
  creating,
  deleting,
  doing,
  ends,
  meaningOf,
  protectedOtherwise,
  provedElsewhere,
  released,
  renamed,
  resets,
  taken,
} from "../../../src/operator/branch/words.ts";

describe("a message names each thing in its place:", () => {
  test.each([
    ["an end that is over", ends.past("THEN", "br-one"), /at \(THEN\) is over, .*: br-one\.$/],
    ["an end that is ignored", ends.ignored("br-one"), /: br-one\.$/],
    ["an end that was changed", ends.drifted("THEIRS", "OURS"), /to THEIRS, where it was OURS\./],
    ["an end that was taken away", ends.drifted(undefined, "OURS"), /to never, where it was OURS\./],
    ["an end that was given", ends.drifted("THEIRS", undefined), /to THEIRS, where it was never\./],
    ["a lease that ends", ends.late("THEN"), /ends at THEN and/],
    ["an end before the create", creating.expired("THEN"), /at \(THEN\) is over, so no branch is created/],
    [
      "a parent that is missing",
      creating.parentNotFound("PARENT", "PROJECT"),
      /Project PROJECT has no branch PARENT, .*; retried automatically\.$/,
    ],
    ["a branch that can be used", available("NAME", "br-one"), /^Branch "NAME" can be used: br-one\.$/],
    ["a new name", renamed("THEIRS", "OURS"), /to "THEIRS", where it was "OURS"/],
    ["a branch that is protected", protectedOtherwise(true), /as protected, /],
    ["a branch that is not", protectedOtherwise(false), /as not protected, /],
    [
      "a name that is taken",
      taken.listed("NAME", "br-one", "MAKER", "THEN"),
      /^Branch "NAME" exists and was made by MAKER; it ends at THEN\. .*: br-one\.$/,
    ],
    ["a name that is taken for good", taken.listed("NAME", "br-one", "MAKER", undefined), /; it has no end\./],
    ["who took it", taken.byFormer("PLACE", "UID"), /^a Branch PLACE with uid UID$/],
    [
      "a name that is taken and not listed",
      taken.unlisted("NAME", "SAID"),
      /the name "NAME" \(SAID\), .*; retried automatically\.$/,
    ],
    ["a name that falls free", taken.endsSoon("NAME", "THEN"), /the name "NAME" ends at THEN and/],
    ["who made what is not adopted", adoption.noted("br-one", "MAKER"), /made by MAKER, .*: br-one\.$/],
    ["a claim of another", conflict("WHAT", "PLACE"), /^Branch object PLACE already claims WHAT\./],
    [
      "a proof of another service",
      provedElsewhere("br-one"),
      /^The connection leads to another base URL .*: br-one\.$/,
    ],
    ["a reset that waits", resets.running("STATE", "br-one"), /^The branch is STATE; .*: br-one\.$/],
    ["a reset without an answer", resets.unknown('a "b"'), /that resetAt "a \\"b\\"" asks for/],
    ["children in the way", deleting.children("NAMES", "br-one"), /this one: NAMES\. .*: br-one\.$/],
    ["users in the way", deleting.inUse("NAMES"), /still use the branch: NAMES\./],
    ["a branch that is kept with its end", released.retained("br-one", "THEN"), /it still ends at THEN: br-one\.$/],
    ["a branch that is kept for good", released.retained("br-one", undefined), /it has no end: br-one\.$/],
  ])("the message about %s names each thing in its place", (_, message, text) => {
    expect(message).toMatch(text);
  });

  test("a purpose completes what the service could not do", () => {
    expect([
      doing.list("P"),
      doing.create("N"),
      doing.patch("b"),
      doing.reset("b"),
      doing.delete("b"),
      doing.show("b"),
    ]).toEqual([
      "list the branches of project P",
      'create branch "N"',
      "change branch b",
      "reset branch b",
      "delete branch b",
      "show branch b",
    ]);
  });
});

describe("a failed call means for the Branch", () => {
  test.each([
    [
      "a branch that is not found",
      { kind: "notFound", message: "Branch not found" },
      "BranchNotFound",
      "The service could not reset branch br-one: Branch not found. Retried automatically.",
    ],
    [
      "a project that is not found",
      { kind: "notFound", message: "project not found" },
      "ProjectNotFound",
      "The service could not reset branch br-one: project not found.",
    ],
    [
      "a refusal that names a branch",
      { kind: "forbidden", message: "no such branch for you" },
      "Forbidden",
      "may not reset branch br-one",
    ],
    ["no answer", { kind: "ambiguous", message: "HTTP 500" }, "ServiceUnavailable", "The branches are listed again"],
  ] as const)("a failed call with %s has its meaning for the Branch", (_, failure, reason, message) => {
    expect(meaningOf(failure, doing.reset("br-one"))).toEqual({ reason, message: expect.stringContaining(message) });
  });
});
