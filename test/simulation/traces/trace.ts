import { createHash, type Hash } from "node:crypto";
import type { ClusterRequest, ClusterTransport } from "../../../src/operator/kube/transport.ts";
import type { ServiceRequest, ServiceTransport } from "../../../src/operator/service-client/transport.ts";
import type { SimProcess } from "../world/process.ts";
import { play } from "../world/run.ts";
import { scriptOf } from "../world/script.ts";
import type { Plant, World } from "../world/world.ts";

/** What one seed did: how many requests left the operators, and hashes of these and of what was there at the end. */
export interface Trace {
  seed: number;
  requests: number;
  /** SHA-256 over every request of both transports, with its time and process. */
  sent: string;
  /** SHA-256 over all objects of the API server and all endpoints of the service at the end. */
  end: string;
}

/** Plays one seed and hashes what left the operators. `messages: false` leaves out the text of messages. */
export async function traceOf(seed: number, options: { messages: boolean }): Promise<Trace> {
  const recorder = new Recorder(options.messages);
  let end = "";
  const onEnd = ({ server, host }: World) => {
    const state = recorder.text({ objects: server.store.all(), endpoints: host.allEndpoints() });
    end = createHash("sha256").update(state).digest("hex");
  };
  await play(scriptOf(seed), { plant: recorder.plant, onEnd });
  return { seed, requests: recorder.requests, sent: recorder.digest(), end };
}

class Recorder {
  readonly #messages: boolean;
  readonly #hash: Hash = createHash("sha256");
  requests = 0;

  constructor(messages: boolean) {
    this.#messages = messages;
  }

  readonly plant: Plant = {
    service: (inner, process) => this.#service(inner, process),
    cluster: (inner, process) => this.#cluster(inner, process),
  };

  digest(): string {
    return this.#hash.digest("hex");
  }

  /** A value as text; without the messages of conditions and events where these may change. */
  text(value: unknown): string {
    return JSON.stringify(value, (key, inner: unknown) => (key === "message" && !this.#messages ? "" : inner));
  }

  #note(process: SimProcess, request: unknown): void {
    this.requests += 1;
    this.#hash.update(`${process.clock.monotonic()} ${process.name} ${this.text(request)}\n`);
  }

  #service(inner: ServiceTransport, process: SimProcess): ServiceTransport {
    return {
      send: (request: ServiceRequest, options) => {
        const { method, baseURL, path, query, body } = request;
        this.#note(process, { method, baseURL, path, query, body });
        return inner.send(request, options);
      },
    };
  }

  #cluster(inner: ClusterTransport, process: SimProcess): ClusterTransport {
    return {
      request: (request: ClusterRequest, options) => {
        this.#note(process, request);
        return inner.request(request, options);
      },
      watch: (request, options) => {
        this.#note(process, request);
        return inner.watch(request, options);
      },
    };
  }
}
