import type { Endpoint } from "../../api/endpoint.ts";
import { uidInSignature } from "../resources/signature.ts";
import { Index, IndexEntries } from "../runtime/index-entries.ts";
import type { ListChanges } from "./list-changes.ts";

/** Changes of its project that affect a Compute, besides those of the endpoint that it is linked to. */
export interface Interests {
  /** Endpoints that it names. */
  endpointIDs: readonly string[];
  /** Branches whose primary it is, or wants to be. */
  primariesOf: readonly string[];
  /** The branch of its create whose outcome is not known: an endpoint without a name may be what that made. */
  pendingOn?: string | undefined;
  /** The name of the branch that it is to be on. */
  branchName?: string | undefined;
  /** Any endpoint that comes, goes or moves. */
  anyPlace: boolean;
}

const noInterests: Interests = { endpointIDs: [], primariesOf: [], anyPlace: false };

/** The Computes that use a project, and the changes that affect each. */
export class ProjectUsers {
  readonly #entries = new IndexEntries();
  readonly #byLink = new Index();
  readonly #byEndpoint = new Index();
  readonly #byPrimary = new Index();
  readonly #byPending = new Index();
  readonly #anyPlace = new Index();
  /** The namespace whose turn in the request budget lists and polls take: that of the first Compute of the project. */
  tenant = "";

  get size(): number {
    return this.#entries.size;
  }

  get uids(): Iterable<string> {
    return this.#entries.ids;
  }

  use(uid: string, endpointID: string | undefined, interests: Interests = noInterests, namespace = ""): void {
    this.tenant ||= namespace;
    const { endpointIDs, primariesOf, pendingOn, anyPlace } = interests;
    this.#entries.set(uid, [
      ...(endpointID === undefined ? [] : [{ index: this.#byLink, key: endpointID }]),
      ...endpointIDs.map((key) => ({ index: this.#byEndpoint, key })),
      ...primariesOf.map((key) => ({ index: this.#byPrimary, key })),
      ...(pendingOn === undefined ? [] : [{ index: this.#byPending, key: pendingOn }]),
      ...(anyPlace ? [{ index: this.#anyPlace, key: "" }] : []),
    ]);
  }

  leave(uid: string): void {
    this.#entries.delete(uid);
  }

  linkedTo(endpointID: string): Iterable<string> {
    return this.#byLink.get(endpointID);
  }

  /** The Computes that these changes affect. */
  affectedBy({ ids, places }: ListChanges): Set<string> {
    const affected = new Set<string>();
    const add = (uids: Iterable<string>) => {
      for (const uid of uids) affected.add(uid);
    };
    for (const id of ids) {
      add(this.#byLink.get(id));
      add(this.#byEndpoint.get(id));
    }
    for (const endpoint of places) this.#addByPlace(endpoint, add);
    if (places.length > 0) add(this.#anyPlace.get(""));
    return affected;
  }

  #addByPlace({ name, type, branch_id }: Endpoint, add: (uids: Iterable<string>) => void): void {
    const signed = uidInSignature(name ?? "");
    if (signed !== undefined && this.#entries.has(signed)) add([signed]);
    if (type === "read_write") add(this.#byPrimary.get(branch_id));
    if (name === undefined) add(this.#byPending.get(branch_id));
  }
}
