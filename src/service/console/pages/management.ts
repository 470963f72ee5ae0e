import { type Management, managementOf } from "../../domain/managed.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import { type Html, html } from "../html.ts";
import { ago } from "../labels.ts";
import type { Visit } from "../visit.ts";
import { searchPath } from "./paths.ts";

/** The Kubernetes object that keeps a compute, in a few words, where one is known. */
export function managementInWords({ context, at, query }: Visit, compute: StoredEndpoint): Html | undefined {
  const management = managementOf(context.store, compute, query["search"]?.trim());
  if (!management) return undefined;
  if (management.kind === "changed") {
    return html`<small class="managed">changed by an operator ${ago(at - management.at)}, which may put changes back</small>`;
  }
  return html`<small class="managed">kept by ${keeperOf(management)}</small>`;
}

/** A warning if an operator manages the compute. */
export function computeWarning({ context, at }: Visit, compute: StoredEndpoint): Html | undefined {
  const management = managementOf(context.store, compute);
  if (!management) return undefined;
  if (management.kind === "changed") {
    return html`<p class="warning" role="note"><strong>Changed by an operator ${ago(at - management.at)}.</strong>
If it still manages this compute, it puts back what is changed here: change its Compute manifest instead.</p>`;
  }
  const { uid, object } = management;
  return html`<p class="warning" role="note"><strong>Kept by ${keeperOf(management)}.</strong>
The operator puts back what is changed here, and makes a new compute where this one is deleted: change the Compute's
manifest instead.${object === undefined && html` Its namespace and name: <code>kubectl get computes -A -o custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,UID:.metadata.uid | grep ${uid}</code>`}</p>`;
}

function keeperOf({ uid, object, fleet }: Extract<Management, { kind: "signed" }>): Html {
  return keeperInWords({ kind: "Compute", object, uid, fleet });
}

/** An object of Kubernetes, linked to a search for all that it keeps. */
export function keeperInWords(keeper: {
  kind: "Compute" | "Branch";
  object: string | undefined;
  uid: string;
  fleet: string | undefined;
}): Html {
  const { kind, object, uid, fleet } = keeper;
  const name = object ?? `with uid ${uid}`;
  return html`${kind} <a href="${searchPath(object ?? uid)}">${name}</a>${fleet !== undefined && html`, fleet <a href="${searchPath(fleet)}">${fleet}</a>`}`;
}
