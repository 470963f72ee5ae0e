import { describe, expect, test } from "vitest";
import { adoption, creation } from "../../../src/operator/compute/plan/create.ts";
import { planDelete } from "../../../src/operator/compute/plan/delete.ts";
import { renewSignature } from "../../../src/operator/compute/plan/former.ts";
import { deleteDuplicate } from "../../../src/operator/compute/plan/link.ts";
import { restart } from "../../../src/operator/compute/plan/restart.ts";
import { rotatePassword } from "../../../src/operator/compute/plan/rotate.ts";
import { updateFields } from "../../../src/operator/compute/plan/update.ts";
import { parts } from "../../../src/operator/compute/steps.ts";
import { finalizers } from "../../../src/operator/resources/names.ts";
import { fleetOf, signatureOf, signatureOfUID } from "../../../src/operator/resources/signature.ts";
import { endpoint, recordOf, uidOf } from "../../support/builders.ts";
import {
  asked,
  declaring,
  deletes,
  former,
  grown,
  judge,
  linked,
  linkedBy,
  maker,
  older,
  type PlantedBug,
  played,
  proved,
  ready,
  rotates,
  rulesOf,
  small,
  stolen,
  takesOver,
  unclaimed,
  unlinked,
  unproved,
  without,
  withStatus,
  written,
} from "./planted-bugs.ts";

// With the check of proof or claim taken out of any one rule, the last guard lets nothing leave. The rule is called
// first, with an observation that passes its check; all other rules, and the guard, see the real one.

const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  "creation: a primary that is there": {
    plan: asked(creation, without("ep-one")),
    rule: "endpoint-create-claim",
    sends: "POST endpoints",
    endpoints: () => [endpoint()],
  },
  "creation: an older claim on the branch": {
    plan: asked(creation, unclaimed),
    rule: "endpoint-create-claim",
    sends: "POST endpoints",
    others: [older()],
  },
  "creation: an own endpoint that is there": {
    plan: asked(creation, unlinked),
    rule: "endpoint-create-proof",
    sends: "POST endpoints",
    spec: { type: "read_only" },
    endpoints: ({ metadata }) => [endpoint({ type: "read_only", name: signatureOfUID(metadata.uid) })],
  },
  "creation: an own endpoint without a name": {
    plan: asked(creation, unlinked),
    rule: "endpoint-create-proof",
    sends: "POST endpoints",
    spec: { type: "read_only" },
    status: (uid) => ({ proof: proved("created")(uid).proof }),
    endpoints: () => [endpoint({ type: "read_only" })],
  },
  "pendingWrite: a record that may still take effect": {
    plan: asked(creation),
    rule: "endpoint-create-record",
    sends: "POST endpoints",
    status: (uid) => ({ pendingWrite: recordOf({ uid }) }),
  },
  "lostEndpoint: a loss that is not proved": {
    plan: asked(creation),
    rule: "endpoint-create-proof",
    sends: "POST endpoints",
    annotations: { endpointID: "ep-lost" },
    status: () => ({ endpointID: "ep-lost" }),
  },
  "adoption of a former endpoint: another Compute has it": {
    plan: asked(adoption, unclaimed),
    rule: "endpoint-takeover-claim",
    ...takesOver,
    endpoints: (self) => [former(self)],
    others: [older({ linked: "ep-former" })],
  },
  "adoption of a former endpoint: another Compute adopts it": {
    plan: asked(adoption, unclaimed),
    rule: "endpoint-takeover-claim",
    ...takesOver,
    endpoints: (self) => [former(self)],
    others: [older({ spec: { adopt: { endpointID: "ep-former" } } })],
  },
  "adoption of a former endpoint: one of several": {
    plan: asked(adoption, without("ep-second")),
    rule: "endpoint-takeover-proof",
    ...takesOver,
    endpoints: (self) => [former(self), former(self, { id: "ep-second", branch_id: "br-other" })],
  },
  "adoption of a former endpoint: on another branch": {
    plan: asked(adoption, declaring({ branchID: "br-other" })),
    rule: "endpoint-takeover-proof",
    ...takesOver,
    endpoints: (self) => [former(self, { branch_id: "br-other" })],
  },
  "adoption of a former endpoint: of another type": {
    plan: asked(adoption, declaring({ type: "read_only" })),
    rule: "endpoint-takeover-proof",
    ...takesOver,
    endpoints: (self) => [former(self, { type: "read_only" })],
  },
  "adoption of a former endpoint: the Compute had one before": {
    plan: asked(adoption, withStatus({})),
    rule: "endpoint-takeover-proof",
    ...takesOver,
    status: () => ({ gone: "ep-before" }),
    endpoints: (self) => [former(self)],
  },
  "adoption of a former endpoint: not asked for": {
    plan: asked(adoption, declaring({ adopt: { former: true } })),
    rule: "endpoint-takeover-proof",
    sends: "PATCH ep-former",
    endpoints: (self) => [former(self)],
  },
  "pendingWrite: a takeover while a record may still take effect": {
    plan: asked(adoption),
    rule: "endpoint-takeover-record",
    ...takesOver,
    status: (uid) => ({ pendingWrite: recordOf({ uid }) }),
    endpoints: (self) => [former(self)],
  },
  "ownedByOther: a change of what another Compute made": {
    plan: asked(updateFields),
    rule: "endpoint-patch-claim",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    endpoints: () => [endpoint(small)],
    others: [maker],
  },
  "ownedByOther: a change of what another Compute signed": {
    plan: asked(updateFields),
    rule: "endpoint-patch-claim",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    endpoints: () => [endpoint({ ...small, name: signatureOfUID(uidOf("b")) })],
    others: [older()],
  },
  "ownedByOther: a change of what another Compute adopted": {
    plan: asked(updateFields),
    rule: "endpoint-patch-claim",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    endpoints: () => [endpoint(small)],
    others: [older({ linked: "ep-one", spec: { adopt: { endpointID: "ep-one" } } })],
  },
  "signedByOther: a change of what came to bear another's signature": {
    plan: asked(updateFields),
    rule: "endpoint-patch-proof",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    status: proved("signature"),
    endpoints: () => [endpoint({ ...small, name: stolen })],
  },
  "linkOfAnotherType: a change of an endpoint of another type": {
    plan: asked(updateFields),
    rule: "endpoint-patch-proof",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    endpoints: () => [endpoint({ ...small, type: "read_only" })],
  },
  "ownershipOf: a change of an endpoint that nothing links": {
    plan: asked(updateFields, linkedBy("signature")),
    rule: "endpoint-patch-proof",
    sends: "PATCH ep-one",
    spec: grown,
    endpoints: () => [endpoint(small)],
  },
  "updateFields: a move onto a branch that has a primary": {
    plan: asked(updateFields, without("ep-theirs")),
    rule: "endpoint-move-claim",
    sends: "PATCH ep-one",
    ...linked,
    status: (uid) => ({ ...proved("signature")(uid), appliedGeneration: 0, branchID: "br-before" }),
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid), branch_id: "br-before" }),
      endpoint({ id: "ep-theirs" }),
    ],
  },
  "updateFields: a move onto a branch that an older Compute claims": {
    plan: asked(updateFields, unclaimed),
    rule: "endpoint-move-claim",
    sends: "PATCH ep-one",
    ...linked,
    status: (uid) => ({ ...proved("signature")(uid), appliedGeneration: 0, branchID: "br-before" }),
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid), branch_id: "br-before" })],
    others: [older()],
  },
  "restart: of what only an annotation links": {
    plan: asked(restart, linkedBy("signature")),
    rule: "endpoint-restart-proof",
    sends: "POST ep-one/restart",
    annotations: { endpointID: "ep-one", restartedAt: "now" },
    endpoints: () => [endpoint()],
  },
  "ownedByOther: a restart of what another Compute has": {
    plan: asked(restart),
    rule: "endpoint-restart-claim",
    sends: "POST ep-one/restart",
    annotations: { endpointID: "ep-one", restartedAt: "now" },
    spec: { adopt: { endpointID: "ep-one" } },
    endpoints: () => [endpoint()],
    others: [maker],
  },
  "signedByOther: a restart of what came to bear another's signature": {
    plan: asked(restart, linkedBy("signature")),
    rule: "endpoint-restart-proof",
    sends: "POST ep-one/restart",
    annotations: { endpointID: "ep-one", restartedAt: "now" },
    status: proved("created"),
    endpoints: () => [endpoint({ name: stolen })],
  },
  "rotatePassword: through what only an annotation links": {
    plan: asked(rotatePassword, linkedBy("signature")),
    rule: "role-reset-proof",
    ...rotates,
    endpoints: () => [endpoint()],
  },
  "ownedByOther: a rotation through what another Compute has": {
    plan: asked(rotatePassword),
    rule: "role-reset-claim",
    ...rotates,
    spec: { ...rotates.spec, adopt: { endpointID: "ep-one" } },
    endpoints: () => [endpoint()],
    others: [maker],
  },
  "signedByOther: a rotation through what came to bear another's signature": {
    plan: asked(rotatePassword, linkedBy("signature")),
    rule: "role-reset-proof",
    ...rotates,
    status: proved("created"),
    endpoints: () => [endpoint({ name: stolen })],
  },
  "rotatePassword: the role of two that the Secret holds": {
    plan: asked(rotatePassword, (o) => ({
      ...o,
      secret: { record: { role: "app_b", rotatedAt: 0, handled: undefined }, mayCut: true },
    })),
    rule: "role-reset-proof",
    ...rotates,
    sends: "POST branches/br-main/roles/app_a/reset_password",
    believed: { role: "app_b", rotatedAt: 0, handled: undefined },
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid) })],
  },
  "renewSignature: of what does not bear ours": {
    plan: asked(renewSignature, linkedBy("signature")),
    rule: "endpoint-sign-proof",
    sends: "PATCH ep-one",
    ...linked,
    status: () => ready,
    endpoints: () => [endpoint({ name: "by hand" })],
  },
  "deleteDuplicate: beside one that does not bear our signature": {
    plan: asked(deleteDuplicate, (o) => {
      const kept = linkedBy("signature")(o);
      const { link } = kept.links;
      const named = link && { ...link, endpoint: { ...link.endpoint, name: "k8s-" } };
      return { ...kept, links: { ...kept.links, link: named } };
    }),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-second",
    ...linked,
    spec: { adopt: { endpointID: "ep-one" } },
    endpoints: ({ metadata }) => [endpoint(), endpoint({ id: "ep-second", name: signatureOfUID(metadata.uid) })],
  },
  "deleteDuplicate: one that bears no signature": {
    plan: asked(deleteDuplicate, (o) => ({
      ...o,
      links: { ...o.links, duplicates: o.endpoints.all.filter(({ id }) => id !== "ep-one") },
    })),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-theirs",
    ...linked,
    status: proved("signature"),
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid) }),
      endpoint({ id: "ep-theirs", branch_id: "br-b" }),
    ],
  },
  "deleteDuplicate: one that another Compute owns": {
    plan: asked(deleteDuplicate, (o) => ({
      ...unclaimed(o),
      links: { ...o.links, duplicates: o.endpoints.all.filter(({ id }) => id !== "ep-one") },
    })),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-theirs",
    ...linked,
    status: proved("signature"),
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid) }),
      endpoint({ id: "ep-theirs", name: signatureOfUID(uidOf("b")), branch_id: "br-b" }),
    ],
    others: [older({ linked: "ep-theirs", spec: { branchID: "br-b" } })],
  },
  "deleteDuplicate: the one that is linked": {
    plan: asked(deleteDuplicate, (o) => ({
      ...linkedBy("signature", "ep-second")(o),
      links: { ...linkedBy("signature", "ep-second")(o).links, duplicates: [...o.endpoints.all].slice(0, 1) },
    })),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-one",
    ...linked,
    status: proved("signature"),
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid) }),
      endpoint({ id: "ep-second", name: signatureOfUID(metadata.uid) }),
    ],
  },
  "planDelete: of a Compute that is not deleted": {
    plan: (o, s) => planDelete(o, s),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-one",
    ...linked,
    metadata: { finalizers: [finalizers.endpoint] },
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid) })],
  },
  "planDelete: what only an annotation links": {
    plan: asked(planDelete, linkedBy("signature")),
    rule: "endpoint-delete-proof",
    ...deletes,
    endpoints: () => [endpoint({ name: "by hand" })],
  },
  "planDelete: what has a name that cannot be read": {
    plan: asked(planDelete, linkedBy("created")),
    rule: "endpoint-delete-proof",
    ...deletes,
    endpoints: () => [endpoint({ unreadable: ["name"] })],
  },
  "planDelete: what another Compute owns": {
    plan: asked(planDelete, unclaimed),
    rule: "endpoint-delete-claim",
    ...deletes,
    status: proved("created"),
    endpoints: () => [endpoint()],
    others: [maker],
  },
  "planDelete: what came to bear another's signature": {
    plan: asked(planDelete, (o) => unproved(linkedBy("signature")(o))),
    rule: "endpoint-delete-proof",
    ...deletes,
    status: proved("signature"),
    endpoints: () => [endpoint({ name: stolen })],
  },
  "planDelete: what was adopted, without a policy that deletes it": {
    plan: asked(planDelete, declaring({ deletionPolicy: "Delete" })),
    rule: "endpoint-delete-proof",
    ...deletes,
    spec: { adopt: { endpointID: "ep-one" } },
    endpoints: () => [endpoint()],
  },
  "planDelete: a further one that another Compute owns": {
    plan: asked(planDelete, (o) => ({
      ...unclaimed(o),
      links: { ...o.links, duplicates: [...o.endpoints.all].slice(1) },
    })),
    rule: "endpoint-delete-proof",
    ...deletes,
    sends: "DELETE ep-theirs",
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid) }),
      endpoint({ id: "ep-theirs", name: signatureOfUID(uidOf("b")), branch_id: "br-b" }),
    ],
    others: [older({ linked: "ep-theirs", spec: { branchID: "br-b" } })],
  },
};

describe("with the check taken out of a rule, the last guard lets nothing leave", () => {
  judge(plantedBugs);
});

describe("a deletion that the last guard stops", () => {
  const bug: PlantedBug = {
    plan: (o, s) =>
      o.kind === "observed"
        ? planDelete(linkedBy("signature")(declaring({ deletionPolicy: "Delete" })(o)), s)
        : { kind: "noop" },
    rule: "endpoint-delete-policy",
    ...deletes,
    spec: { deletionPolicy: "Retain" },
    endpoints: () => [endpoint({ name: "by hand" })],
  };

  test("a deletion with Retain is released all the same, and sends nothing", async () => {
    const world = await played(bug, true);
    expect(written(world)).toEqual([]);
    expect(rulesOf(world)).toEqual([bug.rule]);
    expect(world.self()).toBeUndefined();
    expect(world.reach.reported).toContain("Normal Released: Endpoint ep-one is kept: deletionPolicy is Retain.");
  });

  test("without the guard a deletion with Retain would be sent", async () => {
    expect(written(await played(bug, false))).toContain(bug.sends);
  });
});

test("a signature of ours in another fleet counts as ours", async () => {
  const world = await played(
    {
      plan: parts.plan,
      rule: "",
      ...deletes,
      endpoints: (self) => [endpoint({ name: signatureOf(self, fleetOf("other")) })],
    },
    true,
  );
  expect(written(world)).toContain("DELETE ep-one");
  expect(world.stops).toEqual([]);
});
