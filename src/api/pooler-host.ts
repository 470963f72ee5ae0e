import type { Endpoint } from "./endpoint.ts";

/** The pooled host is the host with `-pooler` after the endpoint's id. */
export function poolerHost({ id, host }: Endpoint): string | undefined {
  if (host === undefined || !host.startsWith(`${id}.`)) return undefined;
  return `${id}-pooler${host.slice(id.length)}`;
}
