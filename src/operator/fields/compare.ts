import type { ComputeAttribute } from "../../api/compute-attributes.ts";
import type { Endpoint, EndpointPatch } from "../../api/endpoint.ts";
import { defaultSuspend, defaultSuspendSeconds, neverSuspend, suspendAfterSeconds } from "../../api/scale-to-zero.ts";
import { asRecord } from "../objects/record.ts";
import { branchIDOf, type Compute, type ComputeSpec, givenName } from "../resources/compute.ts";
import { type ComputeField, type FieldTarget, fieldTargets, partsOf } from "../resources/compute-fields.ts";
import { secondsOf } from "../resources/duration.ts";

/** One field of the spec in which the service differs from it. */
export interface Difference {
  /** As the manifest spells it, e.g. `computeUnits.max`. */
  field: string;
  ours: string;
  theirs: string;
}

/** Attributes sent of an endpoint. Which pooler modes there are is the service's to say. */
export type Attributes = Omit<EndpointPatch["endpoint"], "pooler_mode"> & { pooler_mode?: string };

/** The spec's fields, compared with those that the service shows. */
export interface Comparison {
  differences: readonly (Difference & { send: Attributes })[];
  /** Fields that the user set and the service does not show: they cannot be compared. */
  notReturned: readonly { field: string; ours: string; send: Attributes }[];
  /** Fields that the user set and the service shows in a form that cannot be read: whether they differ is not known. */
  unreadable: readonly { field: string; ours: string; send: Attributes | undefined }[];
}

/** A field that the user set: what to send for it, and how it compares. `theirs` undefined: the service shows none. */
interface Field {
  field: string;
  ours: string;
  theirs: string | undefined;
  equal: boolean;
  send: Attributes;
  /** The service shows a part of it in a form that cannot be read. `unsendable`: to send it would wipe that part. */
  unreadable?: "sendable" | "unsendable";
}

/**
 * The spec as it is compared, with the branch that its `branchName` or `branchRef` came to. A field left out is left to
 * the service, with one exception: a compute that this operator disabled is enabled again once the spec no longer asks
 * for that.
 */
export function desiredSpec(compute: Pick<Compute, "spec" | "status">): ComputeSpec {
  const { spec, status } = compute;
  const isToEnable = spec.disabled === undefined && status.disabledByUs === true;
  if (givenName(spec) === undefined && !isToEnable) return spec;
  const branchID = branchIDOf(compute);
  return { ...spec, ...(branchID === "" ? {} : { branchID }), ...(isToEnable ? { disabled: false } : {}) };
}

/** Compares only fields that the user set, both sides normalised. */
export function compare(spec: ComputeSpec, endpoint: Endpoint): Comparison {
  const fields = fieldsOf(spec, endpoint);
  return {
    differences: fields.flatMap(({ field, ours, theirs, equal, send, unreadable }) =>
      theirs === undefined || equal || unreadable === "unsendable" ? [] : [{ field, ours, theirs, send }],
    ),
    notReturned: fields.flatMap(({ field, ours, theirs, send, unreadable }) =>
      theirs === undefined && unreadable === undefined ? [{ field, ours, send }] : [],
    ),
    unreadable: fields.flatMap(({ field, ours, send, unreadable }) =>
      unreadable === undefined ? [] : [{ field, ours, send: unreadable === "unsendable" ? undefined : send }],
    ),
  };
}

/** All that the user set, for a new endpoint; where it is, what it is for and its name apart. */
export function attributesOf(spec: ComputeSpec): Attributes {
  const { branch_id: _, ...attributes } = merged(fieldsOf(spec, undefined).map(({ send }) => send));
  return attributes;
}

/** The service holds the parts of some fields against each other: where one of them is sent, all are. */
export function withWholeFields<T extends Difference>(sent: readonly T[], all: readonly T[]): readonly T[] {
  const whole = new Set(sent.map(({ field }) => groupOf(field)).filter((group) => wholeFields.has(group)));
  return all.filter((difference) => sent.includes(difference) || whole.has(groupOf(difference.field)));
}

const wholeFields = new Set<string>(
  fieldTargets.flatMap(([field, target]) => (target.unit === "same" && target.isWhole === true ? [field] : [])),
);

const deprecatedFields = new Set<string>([
  "branchID",
  ...fieldTargets.flatMap(([field, target]) => (target.unit === "same" && target.isDeprecated === true ? [field] : [])),
]);

/** True if the public service has announced the end of a field: it may take a change and not keep it. */
export function isDeprecated({ field }: { field: string }): boolean {
  return deprecatedFields.has(groupOf(field));
}

const disruptiveFields = new Set<string>([
  "branchID",
  ...fieldTargets.flatMap(([field, { cutsConnections: cuts }]) => (cuts === true ? [field] : [])),
]);

/** True if the service cuts a running compute's connections for a change of the field: a size, settings, a move. */
export function cutsConnections({ field }: { field: string }): boolean {
  return disruptiveFields.has(groupOf(field));
}

/** The field of the spec that a compared part belongs to. */
export function groupOf(field: string): string {
  const [group = ""] = field.split(".", 1);
  return group;
}

/** One body for several fields. */
export function merged(parts: readonly Attributes[]): Attributes {
  const whole: Attributes = {};
  for (const part of parts) Object.assign(whole, part);
  return whole;
}

function fieldsOf(spec: ComputeSpec, endpoint: Endpoint | undefined): Field[] {
  const branch = spec.branchID === undefined ? [] : [plain("branchID", spec.branchID, "branch_id", endpoint)];
  return [...branch, ...fieldTargets.flatMap(([name, target]) => comparisonsOf(name, target, spec, endpoint))];
}

function comparisonsOf(
  name: ComputeField,
  target: FieldTarget,
  spec: ComputeSpec,
  endpoint: Endpoint | undefined,
): Field[] {
  const unreadable = endpoint?.unreadable ?? [];
  switch (target.unit) {
    case "suspension":
      return present(scaleToZero(spec.scaleToZero, endpoint?.suspend_timeout_seconds, unreadable));
    case "settings":
      return present(postgresSettings(spec.postgresSettings, endpoint?.settings, unreadable));
    case "same":
      return partsOf(target).flatMap(([part, wire]) => {
        const ours: unknown = part === undefined ? spec[name] : asRecord(spec[name])[part];
        return isPlain(ours) ? [plain(part === undefined ? name : `${name}.${part}`, ours, wire, endpoint)] : [];
      });
  }
}

function present(field: Field | undefined): Field[] {
  return field === undefined ? [] : [field];
}

type Plain = string | number | boolean;

function isPlain(value: unknown): value is Plain {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** Comparison of one value of the spec with the attribute of the endpoint that has the same unit. */
function plain(
  field: string,
  ours: Plain,
  wire: "branch_id" | ComputeAttribute,
  endpoint: Endpoint | undefined,
): Field {
  const theirs: unknown = endpoint?.[wire];
  return {
    field,
    ours: String(ours),
    theirs: isPlain(theirs) ? String(theirs) : undefined,
    equal: isSame(ours, theirs),
    send: { [wire]: ours },
    ...(endpoint?.unreadable?.includes(wire) === true ? { unreadable: "sendable" } : {}),
  };
}

/** Sizes lie a quarter of a compute unit apart, times whole seconds: what is nearer than this is rounding. */
const rounding = 0.01;

function isSame(ours: unknown, theirs: unknown): boolean {
  if (typeof ours !== "number" || typeof theirs !== "number") return ours === theirs;
  return Math.abs(ours - theirs) < rounding;
}

/** The service's 0 stands for its default of 300 seconds, and -1 for never. */
function scaleToZero(
  ours: ComputeSpec["scaleToZero"],
  theirs: number | undefined,
  unreadable: readonly string[],
): Field | undefined {
  if (ours === undefined) return undefined;
  const after = ours.after === undefined ? undefined : secondsOf(ours.after);
  // A plan may refuse any interval that is named, also that of its default.
  const interval = after === undefined || isSame(after, defaultSuspendSeconds) ? defaultSuspend : after;
  const wanted = ours.enabled ? interval : neverSuspend;
  const field = ours.enabled && after !== undefined ? "scaleToZero.after" : "scaleToZero.enabled";
  const shown = theirs === undefined ? undefined : suspendAfterSeconds(theirs);
  // Enabled without a time leaves the time to the service: any will do.
  const equal = ours.enabled ? (after === undefined ? shown !== undefined : isSame(after, shown)) : shown === undefined;
  const isTime = field === "scaleToZero.after";
  return {
    field,
    ours: isTime ? inSeconds(after) : String(ours.enabled),
    theirs: theirs === undefined ? undefined : isTime ? inSeconds(shown) : String(shown !== undefined),
    equal: theirs !== undefined && equal,
    send: { suspend_timeout_seconds: wanted },
    ...(unreadable.includes("suspend_timeout_seconds") ? { unreadable: "sendable" } : {}),
  };
}

function inSeconds(seconds: number | undefined): string {
  return seconds === undefined ? "never" : `${seconds}s`;
}

/** Only the user's settings are compared; what is sent holds the others too, or the service would drop them. */
function postgresSettings(
  ours: ComputeSpec["postgresSettings"],
  settings: Endpoint["settings"],
  unreadable: readonly string[],
): Field | undefined {
  // No settings declare nothing: a write of theirs alone would change nothing.
  if (ours === undefined || Object.keys(ours).length === 0) return undefined;
  const theirs = settings?.pg_settings;
  const odd = unreadable.filter((path) => path === "settings" || path.startsWith("settings."));
  const names = Object.keys(ours)
    .filter((name) => !odd.includes(settingPath(name)))
    .toSorted();
  const differing = names.filter((name) => theirs === undefined || own(theirs, name) !== ours[name]);
  const shown = (values: Record<string, string>) =>
    differing.map((name) => `${name}=${own(values, name) ?? "(unset)"}`).join(", ");
  return {
    field: "postgresSettings",
    ours: shown(ours),
    theirs: theirs === undefined ? undefined : shown(theirs),
    equal: differing.length === 0,
    send: {
      settings: { ...settings, pg_settings: { ...theirs, ...ours } },
    },
    ...oddSettings(ours, odd, theirs !== undefined && differing.length === 0),
  };
}

/** Sent are whole settings: those of others that cannot be read would be lost. */
function oddSettings(ours: Record<string, string>, odd: readonly string[], equal: boolean): Pick<Field, "unreadable"> {
  const paths = Object.keys(ours).map(settingPath);
  const others = odd.filter((path) => !paths.includes(path));
  if (others.length > 0) return equal && others.length === odd.length ? {} : { unreadable: "unsendable" };
  return odd.length > 0 ? { unreadable: "sendable" } : {};
}

function settingPath(name: string): string {
  return `settings.pg_settings.${name}`;
}

function own(values: Record<string, string>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}
