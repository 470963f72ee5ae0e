import type { Endpoint } from "../../api/endpoint.ts";
import type { Compute } from "../resources/compute.ts";
import { isIntact, isUntouched, type KeptSecret } from "./kept-secret.ts";
import { isElsewhere, isOf, type SecretPlace } from "./place.ts";
import { type PasswordRecord, recordIn, rolesOf, type Turn } from "./rotation.ts";
import type { Template } from "./template.ts";

type Wanted = NonNullable<Compute["spec"]["connectionSecret"]>;

/** A Secret that a Compute names, as it is to be and as it stands. */
export interface NamedSecret {
  wanted: Wanted & { place: SecretPlace };
  existing: KeptSecret | undefined;
  isOurs: boolean;
  role: string | undefined;
  source: string;
  template: Template;
  /** True if it stands as it was last written. */
  intact: boolean;
}

export function namedSecret(
  compute: Compute,
  wanted: NamedSecret["wanted"],
  // The branch too: a role may have another password on each.
  { id, host, branch_id }: Endpoint,
  {
    existing,
    turn,
    followed,
  }: { existing: KeptSecret | undefined; turn: Turn | undefined; followed: string | undefined },
): NamedSecret {
  const role = roleFor(compute, wanted, existing, [turn?.reset?.role, followed]);
  // Labels and annotations mean something to others in another namespace.
  const isThere = isElsewhere(wanted.place, compute);
  const template = isThere ? { data: wanted.template?.data ?? {} } : (wanted.template ?? {});
  const more = wanted.template === undefined ? [] : [template];
  const source = JSON.stringify([id, host, branch_id, wanted.database, role, ...more]);
  const isOurs = existing !== undefined && isOf(existing, compute);
  return { wanted, existing, isOurs, role, source, template, intact: isOurs && isIntact(existing, source, template) };
}

/** The role that the Secret is to hold: that of a reset or of the one that it follows, else its own, else the first. */
function roleFor(
  { status }: Compute,
  wanted: Wanted,
  existing: KeptSecret | undefined,
  first: readonly (string | undefined)[],
): string | undefined {
  const roles = rolesOf(wanted);
  const held = existing === undefined ? status.connectionSecret?.role : recordIn(existing, wanted)?.role;
  return [...first, held].find((role) => role !== undefined && roles.includes(role)) ?? roles[0];
}

/** The record in a Secret whose data nobody else has changed. */
export function recordOf(secret: KeptSecret | undefined, { spec }: Compute): PasswordRecord | undefined {
  const wanted = spec.connectionSecret;
  if (secret === undefined || wanted?.database === undefined || !isUntouched(secret)) return undefined;
  return recordIn(secret, wanted);
}
