import { signatureOf } from "../../src/operator/resources/signature.ts";
import { timeless } from "./calendar.ts";
import { forbidden } from "./judge.ts";
import type { Configuration } from "./terms.ts";

const fleet = "f1ee7000";

/** What a former Compute of this fleet, namespace and name made stands, and is to be taken over. */
export const formerStands: Partial<Configuration> = {
  fleet,
  adopt: { former: true },
  endpoints: [
    {
      id: 1,
      at: "default",
      branch: "br-0",
      name: signatureOf(
        {
          metadata: {
            namespace: "team",
            name: "shop",
            uid: "00000000-0000-4000-8000-00000000000f",
            resourceVersion: "1",
          },
        },
        fleet,
      ),
      restarts: 0,
    },
  ],
};

/** A primary that no Compute made, on the branch of ours. */
export const strangersPrimary: Partial<Configuration> = {
  endpoints: [{ id: 1, at: "default", branch: "br-0", name: "reports", restarts: 0 }],
};

/** An endpoint that no Compute made. */
export const strangerStands: Partial<Configuration> = {
  endpoints: [{ id: 1, at: "default", branch: "br-2", name: "reports", restarts: 0 }],
};

export function configuration(name: string, fields: Partial<Configuration>): Configuration {
  const whole: Configuration = {
    name,
    type: "read_only",
    settleInstants: 1,
    lagInstants: 1,
    stallInstants: 1,
    may: {},
    held: false,
    listless: false,
    shards: 1,
    fleet: undefined,
    showsNames: true,
    endpoints: [],
    isRecordless: false,
    phases: timeless,
    startsMade: false,
    spec: {},
    forbids: (write, before, object, facts) => forbidden(write, before, object, facts, whole),
    recordOf: ({ status }) => status["pendingWrite"],
    ...fields,
  };
  return whole;
}

/** Searched whole by `npm test`. */
export const configurations: readonly Configuration[] = [
  configuration("a replica, with a death, a wiped status, a loss, a late effect and three POSTs", {
    may: { post: 3, death: 1, wipe: 1, loss: 1, late: 1 },
  }),
  configuration("a primary whose POSTs are late, lost and refused", {
    type: "read_write",
    may: { post: 3, late: 1, loss: 1, refusal: 1 },
  }),
  configuration("a wiped status, and reconciles without a list", {
    listless: true,
    may: { post: 2, wipe: 1, late: 1 },
  }),
  configuration("a link patch that is late or lost, and kubectl replace", {
    may: { post: 2, patchLate: 1, replace: 1 },
  }),
  configuration("a replica's manifest replaced, with a death", { may: { post: 2, death: 1, replace: 1 } }),
  configuration("a deletion, with a death and a request on its way", {
    may: { post: 1, death: 1, delete: 1, late: 1 },
  }),
  configuration("somebody who deletes the endpoint, a late effect, and a new term in the same process", {
    may: { post: 2, kill: 1, late: 1, term: 1 },
  }),
  configuration("a proof that vanishes where no names are shown, kubectl replace and a new term", {
    showsNames: false,
    lagInstants: 0,
    stallInstants: 0,
    may: { post: 2, wipe: 1, replace: 1, term: 1 },
  }),
  configuration("a takeover, with a death and a deletion", {
    type: "read_write",
    ...formerStands,
    may: { post: 2, death: 1, delete: 1 },
  }),
  configuration("a primary that moves, with a PATCH on its way", {
    type: "read_write",
    may: { post: 1, edit: 1, late: 1 },
  }),
  configuration("a restart, with a death", { type: "read_write", may: { post: 1, restart: 1, death: 1 } }),
  configuration("a primary that is disabled and enabled", {
    type: "read_write",
    may: { post: 1, disable: 2 },
  }),
  configuration("a selector left and entered", { memoryInstants: 8, may: { post: 2, relabel: 2, death: 1 } }),
  configuration("a connection that leads elsewhere, with a lost POST", {
    type: "read_write",
    may: { post: 2, reconnect: 1, loss: 1 },
  }),
];

/** Larger ones, searched by `npm run verify`. */
export const largeConfigurations: readonly Configuration[] = [
  configuration("a replica with two deaths, a wiped status and a late effect", {
    may: { post: 3, death: 2, wipe: 1, late: 1 },
  }),
  configuration("kubectl replace and a wiped status, with a late effect", {
    may: { post: 2, replace: 1, wipe: 1, late: 1 },
  }),
  configuration("a settle time of two instants, a death and kubectl replace", {
    settleInstants: 2,
    may: { post: 2, death: 1, replace: 1, late: 1 },
  }),
  configuration("patches that are late, lost and refused, beside another writer", {
    may: { post: 2, patchLate: 1, patchLoss: 1, bump: 1 },
  }),
  configuration("a deletion, with two deaths, a loss and kubectl replace", {
    may: { post: 1, death: 2, delete: 1, loss: 1, replace: 1 },
  }),
  configuration("somebody who deletes the endpoint, with a death, a loss and a wiped status", {
    may: { post: 2, kill: 1, death: 1, wipe: 1 },
  }),
  configuration("a takeover, with a death, a deletion and a PATCH on its way", {
    type: "read_write",
    ...formerStands,
    may: { post: 1, death: 1, delete: 1, late: 1 },
  }),
  configuration("a primary that moves there and back, with a death", {
    type: "read_write",
    may: { post: 1, edit: 2, death: 1 },
  }),
  configuration("a term that starts from an old cache, and a typed link", {
    ...strangerStands,
    may: { post: 2, death: 1, oldStart: 1, type: 1, bump: 1 },
  }),
  configuration("lists that are used again, with a death", { held: true, may: { post: 2, late: 1, death: 1 } }),
  configuration("a proof that vanishes where no names are shown, with lists that lag and processes that stall", {
    showsNames: false,
    may: { post: 2, wipe: 1, replace: 1, term: 1 },
  }),
  configuration("a service that shows no names", { showsNames: false, may: { post: 1, late: 1, death: 1 } }),
];
