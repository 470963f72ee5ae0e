import type { Endpoint } from "../../src/api/endpoint.ts";
import type { StoredEndpoint } from "../../src/service/store/endpoints.ts";
import type { JsonObject } from "../simulation/api-server/objects.ts";
import type { Dice } from "../simulation/dice.ts";

/** Sizes that random specs have. */
export const computeSizes = [0.25, 0.5, 1, 2, 4] as const;

type Value = string | number | boolean;

/** A field of the spec that the service has in the same unit, as the tests know it: not read from what they test. */
export interface FieldFacts {
  /** Path in the spec. */
  spec: string;
  wire: keyof Endpoint;
  stored: keyof StoredEndpoint;
  /** Column of the service's store, if it is not named as `wire`. */
  column?: string;
  /** Two values that differ wherever the service allows two. */
  values: readonly [Value, Value];
  /** A play draws it otherwise than `randomFields`. */
  isDrawnApart?: true;
}

/** Every such field: all tests that set, judge or record a compute's fields one by one go through these rows. */
export const fieldFacts: readonly FieldFacts[] = [
  {
    spec: "computeUnits.min",
    wire: "autoscaling_limit_min_cu",
    stored: "minCu",
    column: "min_cu",
    values: [1, 3],
    isDrawnApart: true,
  },
  {
    spec: "computeUnits.max",
    wire: "autoscaling_limit_max_cu",
    stored: "maxCu",
    column: "max_cu",
    values: [2, 4],
    isDrawnApart: true,
  },
  {
    spec: "pooler.enabled",
    wire: "pooler_enabled",
    stored: "poolerEnabled",
    values: [false, true],
    isDrawnApart: true,
  },
  {
    spec: "pooler.mode",
    wire: "pooler_mode",
    stored: "poolerMode",
    values: ["transaction", "transaction"],
    isDrawnApart: true,
  },
  { spec: "disabled", wire: "disabled", stored: "disabled", values: [false, true], isDrawnApart: true },
  { spec: "passwordlessAccess", wire: "passwordless_access", stored: "passwordlessAccess", values: [false, true] },
];

/** A spec with the first or the second value of every field. */
export function specWith(which: 0 | 1): JsonObject {
  return specOf(fieldFacts.map(({ spec, values }) => [spec, values[which]]));
}

/** Each field that no play draws apart, with this chance, with one of its values. */
export function randomFields(dice: Dice, chance: number): JsonObject {
  const drawn = fieldFacts.filter(({ isDrawnApart }) => isDrawnApart === undefined);
  return specOf(
    drawn.flatMap(({ spec, values }) =>
      dice.chance(chance) ? [[spec, values[dice.chance(0.5) ? 1 : 0]] as const] : [],
    ),
  );
}

/** The value of a spec at a path; `undefined` where it has none. */
export function valueAt(spec: JsonObject, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), spec);
}

function specOf(fields: readonly (readonly [path: string, Value])[]): JsonObject {
  const spec: Record<string, Value | Record<string, Value>> = {};
  for (const [path, value] of fields) {
    const [name = "", part] = path.split(".");
    const group = spec[name];
    spec[name] = part === undefined ? value : { ...(typeof group === "object" ? group : {}), [part]: value };
  }
  return spec;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
