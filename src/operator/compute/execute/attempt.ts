import type { Endpoint } from "../../../api/endpoint.ts";
import { Attempt } from "../../life/attempt.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import type { Compute } from "../../resources/compute.ts";
import type { Answer, Failure } from "../../service-client/answer.ts";
import type { Written } from "../../service-client/client.ts";
import type { RememberedWrite } from "../memory.ts";
import type { ExecuteContext } from "./context.ts";

/** With these the service did nothing: what is known of the endpoint stays true. */
const notCarriedOut: readonly (Failure["kind"] | "ok")[] = ["busy", "rateLimited", "unavailable", "superseded"];

export interface Target {
  /** As the patches before the request left it. */
  compute: Compute;
  /** The endpoint that the request changes; absent: it makes one. */
  endpointID?: string;
  /** `writeRecord` has noted a record for the request. */
  isRecorded: boolean;
}

/** The meaning of an answer for the record and for lists. */
export interface Meaning {
  /** The kind that the answer counts as, where that is not its own. */
  kind?: Answer<Written>["kind"] | undefined;
  /** The endpoint that a recorded request made or changed. */
  made?: string | undefined;
  /** The whole endpoint, if the answer to a create or a patch shows it; it is laid over lists. */
  shows?: Endpoint | undefined;
}

/** The endpoint that the answer to a patch shows. */
export function shownBy(answer: Answer<Written>): Meaning {
  return { shows: answer.kind === "ok" ? answer.value.endpoint : undefined };
}

type Tools = Pick<ExecuteContext, "state" | "clock">;

/** One write to an endpoint, with its record if it has one. */
export class EndpointAttempt {
  readonly compute: Compute;
  readonly #target: Target;
  readonly #tools: Tools;
  readonly #access: ServiceAccess;

  constructor(target: Target, tools: Tools, access: ServiceAccess) {
    this.compute = target.compute;
    this.#target = target;
    this.#tools = tools;
    this.#access = access;
  }

  /**
   * Sends the request and takes over its answer: concludes for the record, follows the operations, lets the next write
   * go, and remembers from when on lists show it.
   */
  async send<T extends Written>(
    call: () => Promise<Answer<T>>,
    meaningOf: (answer: Answer<T>) => Meaning = () => ({}),
  ): Promise<Answer<T>> {
    const answer = this.#target.isRecorded ? await this.#attempt(meaningOf).send(call) : await call();
    const { lister, gate } = this.#access;
    if (answer.kind === "ok") lister.operations.follow(answer.value.operations);
    gate.answered(answer);
    if (!notCarriedOut.includes(answer.kind)) this.#needsList(meaningOf(answer));
    return answer;
  }

  #attempt<T extends Written>(meaningOf: (answer: Answer<T>) => Meaning): Attempt<RememberedWrite, T> {
    const { state, clock } = this.#tools;
    return new Attempt<RememberedWrite, T>({
      clock,
      keep: (change) => {
        state.changeWrite(change);
      },
      meaning: (answer) => ({ kind: meaningOf(answer).kind ?? answer.kind }),
      // Only a list closes it.
      accepted: ({ open }, _value, answer) => {
        const { made } = meaningOf(answer);
        return made === undefined ? open : { ...open, made };
      },
    });
  }

  #needsList({ shows }: Meaning): void {
    const { state, clock } = this.#tools;
    const { lister } = this.#access;
    const { endpointID } = this.#target;
    const isMade = endpointID === undefined;
    if (state.known.cutAt !== undefined) state.cuts(clock.monotonic());
    if (shows !== undefined) state.answerLaidOver(lister.answered(shows, isMade));
    else state.needListAfter(isMade ? clock.monotonic() : lister.wrote(endpointID));
  }
}
