import { linkedID, uidInSignature } from "./computes.ts";
import { markOf, type ServiceWrite } from "./records.ts";
import type { Register } from "./register.ts";
import type { Services } from "./services.ts";

/** An endpoint that stands at another service is not created again, however empty the connection's new service is. */
export function createdElsewhere(write: ServiceWrite, register: Register, services: Services): string | undefined {
  const known = register.get(uidInSignature(markOf(write)) ?? "");
  const linked = known && linkedID(known.compute);
  if (linked === undefined || known === undefined) return undefined;
  const elsewhere = services.all.some((host) => host.endpoint(linked) !== undefined);
  const asked = known.askedAt !== undefined && known.askedAt >= services.firstEditedAt;
  if (!elsewhere || asked || services.at(write.service).endpoint(linked) !== undefined) return undefined;
  return `${known.compute.metadata.name} is created again, and ${linked} stands at another service`;
}
