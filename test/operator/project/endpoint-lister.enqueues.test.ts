import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import type { Interests } from "../../../src/operator/project/project-users.ts";
import { endpoint } from "../../support/builders.ts";
import { json } from "../../support/scripted-service.ts";
import { refreshMs, watching } from "../connection/watching.ts";

describe("a list enqueues", () => {
  const other = endpoint({ id: "ep-two", type: "read_only", branch_id: "br-2" });
  const interests = (fields: Partial<Interests>): Interests => ({
    endpointIDs: [],
    primariesOf: [],
    anyPlace: false,
    ...fields,
  });

  test.each<[string, Endpoint[], string[]]>([
    ["nobody where all is as it was", [endpoint(), other], []],
    ["the Computes linked to a changed endpoint", [endpoint({ current_state: "idle" }), other], ["linked"]],
    [
      "those that want to be the primary of its branch, where a primary is new",
      [endpoint(), other, endpoint({ id: "ep-3", branch_id: "br-3" })],
      ["primary-of-3", "stalled"],
    ],
    [
      "no others of its branch where a replica with a name is new",
      [endpoint(), other, endpoint({ id: "ep-3", branch_id: "br-3", type: "read_only", name: "theirs" })],
      ["stalled"],
    ],
    [
      "no one whose create is pending on its branch, where one with a name is new",
      [endpoint(), other, endpoint({ id: "ep-3", branch_id: "br-4", type: "read_only", name: "theirs" })],
      ["stalled"],
    ],
    [
      "those whose create is pending on its branch, where one without a name is new",
      [endpoint(), other, endpoint({ id: "ep-3", branch_id: "br-4", type: "read_only" })],
      ["pending-on-4", "stalled"],
    ],
    [
      "the Compute whose uid its name bears",
      [endpoint(), other, endpoint({ id: "ep-3", branch_id: "br-5", type: "read_only", name: "k8s-0a1" })],
      ["0a1", "stalled"],
    ],
    [
      "the Computes that name it where one appears",
      [endpoint(), other, endpoint({ id: "ep-named", branch_id: "br-5", type: "read_only", name: "theirs" })],
      ["names-it", "stalled"],
    ],
    ["those linked to one that is gone, and that want its branch", [other], ["linked", "primary-of-1", "stalled"]],
    [
      "those of both branches where one moved",
      [endpoint({ branch_id: "br-3" }), other],
      ["linked", "primary-of-1", "primary-of-3", "stalled"],
    ],
    [
      "the maker of one that was renamed",
      [endpoint({ name: "k8s-0a1" }), other],
      ["0a1", "linked", "primary-of-1", "stalled"],
    ],
  ])("%s", async (_, after, expected) => {
    const { clock, service, lister, news } = watching([endpoint({ branch_id: "br-1" }), other]);
    lister.use("linked", "ep-one");
    lister.use("replica", "ep-two");
    lister.use("primary-of-1", undefined, interests({ primariesOf: ["br-1"] }));
    lister.use("primary-of-3", undefined, interests({ primariesOf: ["br-3"] }));
    lister.use("pending-on-4", undefined, interests({ pendingOn: "br-4" }));
    lister.use("names-it", undefined, interests({ endpointIDs: ["ep-named"] }));
    lister.use("stalled", undefined, interests({ anyPlace: true }));
    lister.use("0a1", undefined);
    await clock.advance(0);
    expect(news()).toHaveLength(8);
    const now = after.map((one) =>
      one.id === "ep-one" && one.branch_id !== "br-3" ? { ...one, branch_id: "br-1" } : one,
    );
    service.script = () => json(200, { endpoints: now });
    await clock.advance(refreshMs);
    expect(news()).toEqual(expected);
  });
});
