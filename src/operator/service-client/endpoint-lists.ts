import { hash } from "node:crypto";
import type { z } from "zod";
import { Endpoint, EndpointsAnswer } from "../../api/endpoint.ts";
import { asRecord, sameJSON } from "../objects/record.ts";
import { shareWithin } from "../objects/shared-values.ts";
import type { ServiceResponse } from "./transport.ts";

type Read<T> = { success: true; data: T } | { success: false; error: z.ZodError };

/** Reads answers of one kind. */
export interface AnswerReader<T> {
  /** The value of an answer that need not be parsed for it. */
  known?: (response: ServiceResponse) => T | undefined;
  safeParse: (body: unknown) => Read<T> | Promise<Read<T>>;
}

/** Number of endpoints read before others may have their turn: a millisecond where all have changed. */
const endpointsAtOnce = 10;

/**
 * The latest list of each project. A list that repeats it byte by byte is the same array and is not parsed; of another
 * list, endpoints that did not change are the same objects. So a settled fleet costs neither time nor memory.
 */
export class EndpointLists {
  readonly #latest = new Map<string, { digest: string | undefined; endpoints: Endpoint[] }>();

  /** `pause`: lets others have their turn, because a project may have thousands of endpoints. */
  reader(projectID: string, pause: () => Promise<void>): AnswerReader<Endpoint[]> {
    const latest = this.#latest.get(projectID);
    let digest: string | undefined;
    return {
      known: ({ text }) => {
        digest = text === undefined ? undefined : hash("sha256", text);
        return digest !== undefined && digest === latest?.digest ? latest.endpoints : undefined;
      },
      safeParse: async (body) => {
        const read = await endpointsIn(body, latest?.endpoints ?? [], pause);
        if (read.success) this.#latest.set(projectID, { digest, endpoints: read.data });
        return read;
      },
    };
  }

  /** The project is not listed any more. */
  forget(projectID: string): void {
    this.#latest.delete(projectID);
  }
}

/** The endpoints of an answer; those that are as before are the objects from before. */
async function endpointsIn(
  body: unknown,
  before: readonly Endpoint[],
  pause: () => Promise<void>,
): Promise<Read<Endpoint[]>> {
  const { endpoints: items } = asRecord(body);
  if (!Array.isArray(items)) return wholeAnswer(body);
  const known = new Map(before.map((endpoint) => [endpoint.id, endpoint]));
  const endpoints: Endpoint[] = [];
  for (const [index, item] of items.entries()) {
    if (index % endpointsAtOnce === endpointsAtOnce - 1) await pause();
    const same = known.get(String(asRecord(item).id));
    if (same !== undefined && sameJSON(same, item)) {
      endpoints.push(same);
      continue;
    }
    const read = Endpoint.safeParse(item);
    // Read as a whole, the error names the place.
    if (!read.success) return wholeAnswer(body);
    shareWithin(read.data);
    endpoints.push(read.data);
  }
  return { success: true, data: endpoints };
}

function wholeAnswer(body: unknown): Read<Endpoint[]> {
  const read = EndpointsAnswer.safeParse(body);
  return read.success ? { success: true, data: read.data.endpoints } : read;
}
