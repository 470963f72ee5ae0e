import { managementOf } from "../../domain/managed.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import { type Html, html } from "../html.ts";
import { ago } from "../labels.ts";
import type { Visit } from "../visit.ts";

/** The operator that manages a compute, in a few words, where one is known. */
export function managementInWords({ context, at }: Visit, compute: StoredEndpoint): Html | undefined {
  const management = managementOf(context.store, compute);
  if (!management) return undefined;
  if (management.kind === "changed") {
    return html`<small class="managed">changed by an operator ${ago(at - management.at)}, which may put changes back</small>`;
  }
  const fleet = management.fleet !== undefined && ` of fleet ${management.fleet}`;
  return html`<small class="managed">managed by an operator${fleet}, which puts changes back</small>`;
}
