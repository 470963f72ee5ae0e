import { describe } from "vitest";
import { adoption, creation } from "../../../src/operator/compute/plan/create.ts";
import { planDelete } from "../../../src/operator/compute/plan/delete.ts";
import { renewSignature } from "../../../src/operator/compute/plan/former.ts";
import { deleteDuplicate } from "../../../src/operator/compute/plan/link.ts";
import { restart } from "../../../src/operator/compute/plan/restart.ts";
import { updateFields } from "../../../src/operator/compute/plan/update.ts";
import { signatureOfUID } from "../../../src/operator/resources/signature.ts";
import { endpoint } from "../../support/builders.ts";
import {
  asked,
  declaring,
  deletes,
  former,
  grown,
  judge,
  linked,
  linkedBy,
  type PlantedBug,
  proved,
  ready,
  small,
  takesOver,
  unlinked,
  withStatus,
} from "./planted-bugs.ts";

// As `guard.planted-bugs.test.ts`, with rules that no longer look at `managementPolicy`.

const onlyObserves = { managementPolicy: "Observe" };
const managed = declaring({ managementPolicy: undefined });

const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  "managementPolicy: a create of what is only observed": {
    plan: asked(creation, managed),
    rule: "endpoint-create-policy",
    sends: "POST endpoints",
    spec: onlyObserves,
  },
  "managementPolicy: a takeover for what is only observed": {
    plan: asked(adoption, (o) => withStatus({})(managed(unlinked(o)))),
    rule: "endpoint-takeover-policy",
    ...takesOver,
    spec: { ...takesOver.spec, ...onlyObserves },
    endpoints: (self) => [former(self)],
  },
  "managementPolicy: a change of what is only observed": {
    plan: asked(updateFields, managed),
    rule: "endpoint-patch-policy",
    sends: "PATCH ep-one",
    ...linked,
    spec: { ...grown, ...onlyObserves },
    endpoints: ({ metadata }) => [endpoint({ ...small, name: signatureOfUID(metadata.uid) })],
  },
  "managementPolicy: a move of what is only observed": {
    plan: asked(updateFields, managed),
    rule: "endpoint-move-policy",
    sends: "PATCH ep-one",
    ...linked,
    spec: onlyObserves,
    status: (uid) => ({ ...proved("signature")(uid), appliedGeneration: 0, branchID: "br-before" }),
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid), branch_id: "br-before" })],
  },
  "managementPolicy: a restart of what is only observed": {
    plan: asked(restart, (o) => ({ ...managed(o), annotations: { ...o.annotations, restartRequested: true } })),
    rule: "endpoint-restart-policy",
    sends: "POST ep-one/restart",
    annotations: { endpointID: "ep-one", restartedAt: "now" },
    spec: onlyObserves,
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid) })],
  },
  "managementPolicy: a signature on what is only observed": {
    plan: asked(renewSignature, (o) => withStatus(ready)(managed(o))),
    rule: "endpoint-sign-policy",
    sends: "PATCH ep-one",
    ...linked,
    spec: onlyObserves,
    status: () => ready,
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid) })],
  },
  "managementPolicy: the deletion of a further one beside what is only observed": {
    plan: asked(deleteDuplicate, (o) => ({
      ...managed(o),
      links: { ...linkedBy("signature")(o).links, duplicates: o.endpoints.all.filter(({ id }) => id !== "ep-one") },
    })),
    rule: "endpoint-surplus-policy",
    sends: "DELETE ep-second",
    ...linked,
    spec: onlyObserves,
    status: proved("signature"),
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid) }),
      endpoint({ id: "ep-second", name: signatureOfUID(metadata.uid) }),
    ],
  },
  "managementPolicy: the deletion of what is only observed": {
    plan: (o, s) => (o.kind === "observed" ? planDelete(managed(o), s) : { kind: "noop" }),
    rule: "endpoint-delete-policy",
    ...deletes,
    spec: onlyObserves,
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid) })],
  },
};

describe("for a Compute that only observes, the last guard lets nothing leave", () => {
  judge(plantedBugs);
});
