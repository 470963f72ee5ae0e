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
    ["an end that is over", ends.past("THEN", "br-one"), /at \(THEN\) is in the past, .* branch br-one keeps/],
    ["an end that is ignored", ends.ignored("br-one"), /the end of branch br-one and/],
    ["an end that was changed", ends.drifted("THEIRS", "OURS"), /from OURS to THEIRS\./],
    ["an end that was taken away", ends.drifted(undefined, "OURS"), /from OURS to never\./],
    ["an end that was given", ends.drifted("THEIRS", undefined), /from never to THEIRS\./],
    ["a lease that ends", ends.late("THEN"), /ends at THEN and/],
    ["an end before the create", creating.expired("THEN"), /at \(THEN\) is in the past, so no branch is created/],
    [
      "a parent that is missing",
      creating.parentNotFound("PARENT", "PROJECT"),
      /Project PROJECT has no branch PARENT, .*; retried automatically\.$/,
    ],
    ["a branch that can be used", available("NAME", "br-one"), /^Branch NAME \(br-one\) is ready\.$/],
    ["a new name", renamed("THEIRS", "OURS"), /from "OURS" to "THEIRS"/],
    ["a branch that is protected", protectedOtherwise(true), /as protected, /],
    ["a branch that is not", protectedOtherwise(false), /as not protected, /],
    [
      "a name that is taken",
      taken.listed("NAME", "br-one", "MAKER", "THEN"),
      /^Branch "NAME" \(br-one\) exists and MAKER; it ends at THEN\. /,
    ],
    ["a name that is taken for good", taken.listed("NAME", "br-one", "MAKER", undefined), /; it has no end\./],
    ["who took it", taken.byFormer("PLACE", "UID"), /^was created by Branch PLACE with uid UID$/],
    [
      "a name that is taken and not listed",
      taken.unlisted("NAME", "SAID"),
      /the name "NAME" \(SAID\), .*; retried automatically\.$/,
    ],
    ["a name that falls free", taken.endsSoon("NAME", "THEN"), /the name "NAME" ends at THEN and/],
    [
      "who made what is not adopted",
      adoption.noted("br-one", "MAKER"),
      /^Branch br-one, which spec.adopt names, MAKER, /,
    ],
    ["a claim of another", conflict("WHAT", "PLACE"), /^Branch object PLACE already claims WHAT\./],
    [
      "a proof of another service",
      provedElsewhere("br-one"),
      /^The connection leads to another base URL .* branch br-one there/,
    ],
    ["a reset that waits", resets.running("STATE", "br-one"), /^Branch br-one is STATE; /],
    ["a reset without an answer", resets.unknown('a "b"'), /that resetAt "a \\"b\\"" asks for/],
    [
      "children in the way",
      deleting.children("NAMES", "br-one"),
      /^Other branches \(NAMES\) start from branch br-one\./,
    ],
    ["users in the way", deleting.inUse("NAMES"), /\(NAMES\) still use the branch\./],
    [
      "a branch that is kept with its end",
      released.retained("br-one", "THEN"),
      /^Kept branch br-one .* it still ends at THEN\.$/,
    ],
    [
      "a branch that is kept for good",
      released.retained("br-one", undefined),
      /^Kept branch br-one .* it has no end\.$/,
    ],
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
