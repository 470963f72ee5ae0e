import { hash } from "node:crypto";
import type { z } from "zod";
import { Endpoint, EndpointsAnswer } from "../../api/endpoint.ts";
import { asRecord, sameJSON } from "../resources/record.ts";
import type { ServiceResponse } from "./transport.ts";

type Read<T> = { success: true; data: T } | { success: false; error: z.ZodError };

/** Reads answers of one kind. */
export interface AnswerReader<T> {
  /** The value of an answer that need not be parsed for it. */
  known?: (response: ServiceResponse) => T | undefined;
  safeParse: (body: unknown) => Read<T>;
}

/**
 * The latest list of each project. A list that repeats it byte by byte is the same array and is not parsed; of another
 * list, endpoints that did not change are the same objects. So a settled fleet costs neither time nor memory.
 */
export class EndpointLists {
  readonly #latest = new Map<string, { digest: string | undefined; endpoints: Endpoint[] }>();

  reader(projectID: string): AnswerReader<Endpoint[]> {
    const latest = this.#latest.get(projectID);
    let digest: string | undefined;
    return {
      known: ({ text }) => {
        digest = text === undefined ? undefined : hash("sha256", text);
        return digest !== undefined && digest === latest?.digest ? latest.endpoints : undefined;
      },
      safeParse: (body) => {
        const read = endpointsIn(body, latest?.endpoints ?? []);
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
function endpointsIn(body: unknown, before: readonly Endpoint[]): Read<Endpoint[]> {
  const { endpoints: items } = asRecord(body);
  if (!Array.isArray(items)) return wholeAnswer(body);
  const known = new Map(before.map((endpoint) => [endpoint.id, endpoint]));
  const endpoints: Endpoint[] = [];
  for (const item of items) {
    const same = known.get(String(asRecord(item).id));
    if (same !== undefined && sameJSON(same, item)) {
      endpoints.push(same);
      continue;
    }
    const read = Endpoint.safeParse(item);
    // Read as a whole, the error names the place.
    if (!read.success) return wholeAnswer(body);
    endpoints.push(read.data);
  }
  return { success: true, data: endpoints };
}

function wholeAnswer(body: unknown): Read<Endpoint[]> {
  const read = EndpointsAnswer.safeParse(body);
  return read.success ? { success: true, data: read.data.endpoints } : read;
}
