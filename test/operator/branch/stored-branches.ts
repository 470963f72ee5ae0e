import { z } from "zod";
import type { Branch } from "../../../src/operator/resources/branch.ts";
import type { MemoryCluster } from "../kube/memory-cluster.ts";
import { readBranch } from "./builders.ts";

const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/branches";

export interface StoredFields {
  name?: string;
  metadata?: object;
  spec?: object;
  /** Without the uid in `proof`, which the API server gives. */
  status?: object;
}

/** The Branches of an API server in memory, and what people do to them. */
export class StoredBranches {
  readonly #server: MemoryCluster["server"];

  constructor({ server }: MemoryCluster) {
    this.#server = server;
  }

  /** Creates a Branch, its status and all: the API server gives it uid and generation. */
  create({ name = "shop", metadata, spec, status }: StoredFields = {}): Branch {
    const body = {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Branch",
      metadata: { name, ...metadata },
      spec: { projectID: "shiny-wind-028834", expiry: { never: true }, ...spec },
    };
    const made = this.#server.handle({ method: "POST", path, body });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    if (status !== undefined) this.write([{ op: "add", path: "/status", value: status }], "/status", name);
    return this.object(name);
  }

  /** Somebody's JSON Patch. */
  write(body: unknown, subresource = "", name = "shop"): void {
    const contentType = "application/json-patch+json";
    const request = { method: "PATCH", path: `${path}/${name}${subresource}`, body, contentType } as const;
    const { status } = this.#server.handle(request);
    if (status !== 200) throw new Error(`the patch was refused with ${status}`);
  }

  /** Asks for its deletion. */
  drop(name = "shop"): void {
    this.#server.handle({ method: "DELETE", path: `${path}/${name}` });
  }

  isGone(name = "shop"): boolean {
    return this.#server.handle({ method: "GET", path: `${path}/${name}` }).status === 404;
  }

  /** A Branch as the API server has it now. */
  object(name = "shop"): Branch {
    return readBranch(this.#server.handle({ method: "GET", path: `${path}/${name}` }).body);
  }

  all(): Branch[] {
    const { body } = this.#server.handle({ method: "GET", path });
    return z
      .object({ items: z.array(z.unknown()) })
      .parse(body)
      .items.map(readBranch);
  }
}
