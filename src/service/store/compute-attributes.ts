import type { ComputeAttribute } from "../../api/compute-attributes.ts";
import { namesOf } from "../../api/table.ts";
import { type ComputeSettings, StoredSettings } from "./details.ts";
import { flag, number, type Row, text } from "./row.ts";
import { type Fields, keptIn } from "./table.ts";

/** An attribute of a compute that a client can set, as it is stored and shown. */
interface AttributeRow<Value> {
  /** Name in requests and answers, and that of the column unless `column` is another. */
  wire: ComputeAttribute;
  column: string;
  read: (row: Row, column: string) => Value;
  /** The value where neither the request nor the project has one. */
  initially: Value;
  onChange: Work;
  /** False if the specification does not show it, so that a service by the letter does not either. */
  isSpecified: boolean;
}

/** The work that a change of an attribute sets off: `disabled` suspends a running compute besides. */
type Work = "restart" | "reconfigure" | "apply" | "none";

function attribute<Value>(
  wire: ComputeAttribute,
  read: (row: Row, column: string) => Value,
  initially: Value,
  onChange: Work,
  { column = wire, isSpecified = true }: { column?: string; isSpecified?: boolean } = {},
): AttributeRow<Value> {
  return { wire, column, read, initially, onChange, isSpecified };
}

/**
 * The attributes of a compute, but for its name, which a service by the letter does not keep: on the wire, as a column,
 * at first, and what a change sets off. Storing, creating, changing and showing a compute follow from the rows; a new
 * column is added to the schema besides.
 */
export const attributeRows = {
  minCu: attribute("autoscaling_limit_min_cu", number, 0.25, "restart", { column: "min_cu" }),
  maxCu: attribute("autoscaling_limit_max_cu", number, 0.25, "restart", { column: "max_cu" }),
  settings: attribute("settings", settingsIn, { pg_settings: {} }, "reconfigure"),
  poolerEnabled: attribute("pooler_enabled", flag, false, "apply"),
  poolerMode: attribute("pooler_mode", text, "transaction", "none"),
  disabled: attribute("disabled", flag, false, "none"),
  passwordlessAccess: attribute("passwordless_access", flag, true, "apply"),
  suspendTimeoutSeconds: attribute("suspend_timeout_seconds", number, 0, "apply", { isSpecified: false }),
  provisioner: attribute("provisioner", text, "k8s-neonvm", "apply", { isSpecified: false }),
};

type AttributeName = keyof typeof attributeRows;

/** The attributes of a stored compute. */
export type StoredAttributes = { [Name in AttributeName]: (typeof attributeRows)[Name]["initially"] };

type Entry = readonly [name: AttributeName, row: AttributeRow<unknown>];
const entries: readonly Entry[] = namesOf(attributeRows).map((name) => [name, attributeRows[name]]);

/** Columns of the attributes. */
export const attributeFields: Fields<StoredAttributes> = keptFields();

function keptFields(): Fields<StoredAttributes>;
function keptFields(): unknown {
  return Object.fromEntries(entries.map(([name, { column, read }]) => [name, keptIn(column, read)]));
}

/** The attributes of a compute about which nothing is said. */
export const initialAttributes: StoredAttributes = fromEntries(([, { initially }]) => initially);

/** The attributes that a request asks for; others are as they are in `before`. */
export function withRequested(
  before: StoredAttributes,
  wanted: Readonly<Partial<Record<ComputeAttribute, unknown>>>,
): StoredAttributes {
  return fromEntries(([name, { wire }]) => wanted[wire] ?? before[name]);
}

const specified = entries.filter(([, { isSpecified }]) => isSpecified);
const unspecified = entries.filter(([, { isSpecified }]) => !isSpecified);

/** The names on the wire that the specification promises in every answer. */
export const specifiedAttributes: readonly ComputeAttribute[] = specified.map(([, { wire }]) => wire);

/** The attributes of the specification under their names on the wire, or else the others. */
export function attributesShown(stored: StoredAttributes, isSpecified: boolean): Record<string, unknown> {
  return Object.fromEntries((isSpecified ? specified : unspecified).map(([name, { wire }]) => [wire, stored[name]]));
}

/** True if an attribute differs whose change sets this work off. */
export function sets(work: Work, before: StoredAttributes, after: StoredAttributes): boolean {
  return entries.some(
    ([name, { onChange }]) => onChange === work && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
}

function fromEntries(valueOf: (entry: Entry) => unknown): StoredAttributes;
function fromEntries(valueOf: (entry: Entry) => unknown): unknown {
  return Object.fromEntries(entries.map((entry) => [entry[0], valueOf(entry)]));
}

function settingsIn(row: Row, column: string): ComputeSettings {
  const json = text(row, column);
  return json === '{"pg_settings":{}}' ? { pg_settings: {} } : StoredSettings.parse(JSON.parse(json));
}
