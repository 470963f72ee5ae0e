import type { Subject } from "../../../../src/operator/compute/observe/observation.ts";
import { observe } from "../../../../src/operator/compute/observe/observe.ts";
import { ReconcileState } from "../../../../src/operator/compute/reconcile-state.ts";
import { DeletionBrake } from "../../../../src/operator/project/deletion-brake.ts";
import { accessTo } from "../../../../src/operator/project/service-access.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import { type ComputeFields, compute, endpoint, madeBy, subjectOf } from "../../../support/builders.ts";
import { Reaching } from "../reaching.ts";

const projectID = "shiny-wind-028834";

/** The conditions speak of the present spec already: a single failed list is no news for it. */
export const reported = (reason = "Active", observedGeneration = 1) => ({
  conditions: [
    {
      type: "Ready",
      status: "True",
      reason,
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
      observedGeneration,
    },
  ],
});

/** One Compute, linked where its fields say so, and its project as one connection shows it. */
export async function observing(
  { unlinked = false, ...fields }: ComputeFields & { unlinked?: boolean } = {},
  others: readonly Compute[] = [],
) {
  const reach = new Reaching();
  const { clock, registry } = reach;
  const self = compute({ ...(unlinked ? {} : { linked: "ep-one" }), ...fields });
  reach.endpoints.set("ep-one", madeBy(self));
  reach.endpoints.set("ep-two", endpoint({ id: "ep-two" }));
  const session = await reach.join();
  const { fingerprint: through } = session;
  const lister = session.project(projectID);
  const { uid } = self.metadata;
  lister.use(uid, self.status.endpointID);
  /** What each list was wanted for. */
  const wanted: unknown[] = [];
  const listedAfter = lister.listedAfter.bind(lister);
  lister.listedAfter = (after, who, priority) => {
    wanted.push(priority);
    return listedAfter(after, who, priority);
  };
  const access = accessTo(lister, self, new DeletionBrake(clock, 10), { withdrawn: () => false });
  const connection = () => registry.view(self);
  const state = new ReconcileState(-1, "this-term");
  const observeNow = (one = self) => observe(subject(one), state.known, connection(), access);
  const subject = (one = self): Subject => ({ ...subjectOf(one, { others, now: clock.monotonic() }) });
  /** What it sees once the lists have come. */
  const seen = async (ms = 3000) => {
    await observeNow();
    await clock.advance(ms);
    return observeNow();
  };
  return { reach, clock, self, session, through, lister, access, connection, subject, state, wanted, observeNow, seen };
}
