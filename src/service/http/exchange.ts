import { z } from "zod";
import { Refusal, refusals } from "../refusal.ts";
import type { Fault } from "./faults.ts";
import { refusalReply, type ServiceReply } from "./message.ts";

/** The fate of a request on the network. */
export type Exchange =
  | { kind: "answer"; reply: ServiceReply; delayMs: number }
  /** The headers promise the whole body, but the connection ends in the middle of it. */
  | { kind: "cut"; reply: ServiceReply; delayMs: number }
  /** The connection ends without an answer. */
  | { kind: "dropped"; delayMs: number }
  /** The connection stays open for events. */
  | { kind: "stream"; open: EventStream; delayMs: 0 };

/** The destination of the events of one connection. */
export interface EventSink {
  send(event: string): void;
  /** Ends the connection. */
  end(): void;
}

/** Starts to send events; the returned function is called when the connection has ended. Each stream is begun. */
export type EventStream = (sink: EventSink) => () => void;

/** Carries out and answers a request, unless the fault prevents either. */
export function answerWith(
  fault: Fault | undefined,
  carryOut: () => ServiceReply,
  failOperations: (ids: readonly string[]) => void,
): Exchange {
  const delayMs = fault?.ms ?? 0;
  if (!fault) return { kind: "answer", reply: carryOut(), delayMs };
  switch (fault.kind) {
    case "refuse":
    case "drop-before":
      return { kind: "dropped", delayMs };
    case "drop-after":
      carryOut();
      return { kind: "dropped", delayMs };
    case "cut":
      return { kind: "cut", reply: carryOut(), delayMs };
    case "html":
      carryOut();
      return { kind: "answer", reply: proxyPage, delayMs };
    case "delay":
      return { kind: "answer", reply: carryOut(), delayMs };
    case "fail-operations": {
      const failed = (reply: ServiceReply) => {
        failOperations(operationIds(reply));
        return reply;
      };
      const reply = carryOut();
      const { later } = reply;
      return { kind: "answer", reply: later ? { ...reply, later: later.then(failed) } : failed(reply), delayMs };
    }
    case "423":
      return refused(fault, refusals.projectBusy());
    case "429":
      return refused(fault, new Refusal(429, "rate limit exceeded"));
    case "500":
      return refused(fault, refusals.internal());
    case "503":
      return refused(fault, refusals.unavailable("service temporarily unavailable"));
  }
}

const WithOperations = z.object({ operations: z.array(z.object({ id: z.string() })) });

/** The operations that an answer lists. */
function operationIds({ body }: ServiceReply): string[] {
  const parsed = WithOperations.safeParse(JSON.parse(body ?? "null"));
  return parsed.success ? parsed.data.operations.map(({ id }) => id) : [];
}

/** The page of a proxy in front of a service that carried out the request, but too late. */
const proxyPage: ServiceReply = {
  status: 503,
  headers: { "content-type": "text/html; charset=utf-8" },
  body: "<html><head><title>503 Service Temporarily Unavailable</title></head><body>upstream timed out</body></html>",
};

/** The service's own refusal: not carried out. */
function refused({ retryAfter, ms = 0 }: Fault, refusal: Refusal): Exchange {
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  return { kind: "answer", reply: refusalReply(refusal, "fault", headers), delayMs: ms };
}
