import { NoResponseError } from "../../../src/operator/service-client/transport.ts";
import { type ClusterWeather, calm } from "../../simulation/api-server/faults.ts";
import { SmallWorld } from "../support/small-world.ts";

// Writes that never succeed, and how often they are sent.

export const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };

/** Every kind of write: what has it sent, and whether the Compute stands before. */
export const kinds: [string, boolean, (world: SmallWorld) => void][] = [
  ["a create of a primary", false, (world) => world.declare(0, place)],
  ["a create of a primary with disabled", false, (world) => world.declare(0, { ...place, disabled: true })],
  ["a create of a replica", false, (world) => world.declare(0, { ...place, type: "read_only" })],
  [
    "a create in place of a lost endpoint",
    true,
    (world) => world.console("DELETE", `/projects/shop/endpoints/${world.compute(0).status.endpointID}`),
  ],
  ["a PATCH", true, (world) => world.edit(0, { computeUnits: { min: 1, max: 2 } })],
  ["a PATCH that disables", true, (world) => world.edit(0, { disabled: true })],
  ["a restart", true, (world) => world.annotate(0, "restartedAt", "now")],
  ["a DELETE", true, (world) => world.remove(0)],
];

const reply = (status: number, body: string) => ({ status, headers: {}, body });

/** How the service answers; `undefined`: it carries the write out. */
export type Answer = () => ReturnType<typeof reply> | undefined;

export const refusal =
  (status: number): Answer =>
  () =>
    reply(status, JSON.stringify({ code: "", message: "no" }));
export const page: Answer = () => reply(502, "<html>Bad Gateway</html>");
export const noJSON: Answer = () => reply(200, "done");
export const none: Answer = () => {
  throw new NoResponseError("ECONNRESET: the connection was cut");
};

/** The most writes in the first five minutes, and in the five after that. */
export const most = { first: 12, later: 6 };
/** A busy project is tried every ten seconds. */
export const mostIfBusy = { first: 37, later: 31 };

/** What becomes of a patch of the Compute. */
export type Fate = (path: string, body: string) => ReturnType<ClusterWeather["request"]> | undefined;

/** One Compute, the writes to its endpoint and the patches of it, both counted once `begin` was called. */
export class Endless implements AsyncDisposable {
  readonly world: SmallWorld;
  sent = 0;
  patches = 0;
  #hasBegun = false;

  constructor(fate: Fate = () => undefined) {
    const request: ClusterWeather["request"] = (call, timeoutMs) => {
      const isOfIt = call.method === "PATCH" && call.path.includes("/computes/db-0");
      if (!this.#hasBegun || !isOfIt) return calm.request(call, timeoutMs);
      this.patches += 1;
      return fate(call.path, JSON.stringify(call.body)) ?? calm.request(call, timeoutMs);
    };
    this.world = new SmallWorld([place.branchID], 1, {}, { ...calm, request });
  }

  async stand(): Promise<void> {
    this.world.declare(0, place);
    await this.world.settle(1);
    await this.world.clock.advance(60_000);
  }

  /** From now on writes get these answers in turn. */
  begin(answers: readonly Answer[]): void {
    this.#hasBegun = true;
    this.world.host.instead = ({ method }) =>
      method === "GET" ? undefined : answers[this.sent++ % answers.length]?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.world[Symbol.asyncDispose]();
  }
}
