import { z } from "zod";

const Schema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
});

/** Texts of JSON that are large in one way each: each costs a careless reader the most of something. */
export const bombs: Readonly<Record<string, string>> = {
  ...bombsOf(450_000),
  // Half of a bomb is an end, and not all that is allowed is cheap.
  ...Object.fromEntries(Object.entries(bombsOf(60_000)).map(([name, bomb]) => [`${name}, small`, bomb])),
  "as many values as are allowed": `[${`[${'{"a":"1.1.1.1"},'.repeat(240)}0],`.repeat(18)}0]`,
  "as many texts as an array may have": `[${'"1.1.1.1",'.repeat(998)}"1.1.1.1"]`,
  "as many fields as an object may have": `{${Array.from({ length: 1000 }, (_, n) => `"k${n}":"1.1.1.1"`).join(",")}}`,
};

function bombsOf(length: number): Record<string, string> {
  const repeated = (part: string) => part.repeat(Math.floor(length / part.length));
  return {
    "an array of zeros": `[${repeated("0,")}0]`,
    "an array of empty texts": `[${repeated('"",')}""]`,
    "an array of empty arrays": `[${repeated("[],")}[]]`,
    "an array of objects": `[${repeated('{"a":0},')}{}]`,
    "an object of many fields": `{${Array.from({ length: length / 12 }, (_, n) => `"k${n}":0`).join(",")}}`,
    "an object with one field many times": `{${repeated('"a":0,')}"__proto__":0}`,
    "many arrays that are each narrow": `[${`[${"0,".repeat(900)}0],`.repeat(length / 1804)}0]`,
    "arrays within arrays": `${"[".repeat(length / 2)}${"]".repeat(length / 2)}`,
    "objects within objects": `${'{"a":'.repeat(length / 6)}0${"}".repeat(length / 6)}`,
    "brackets that never close": repeated("["),
    "a long number": repeated("9"),
    "a long text": `"${repeated("a")}"`,
    "a text of white space": `"x${repeated(" ")}x"`,
    "a text of digits and points": `"${repeated("1.")}"`,
    "a text of escapes": `"${repeated("\\u0001")}"`,
    "a text of backslashes": `"${repeated("\\\\")}"`,
    "a text of combining marks": `"a${repeated("\u0301\u0327")}"`,
    "a text without an end": `"${repeated("a")}`,
  };
}

/** The paths of all fields in a schema of an OpenAPI document, and of the whole. */
export function fieldsIn(schema: unknown, path: readonly string[] = []): (readonly string[])[] {
  const { properties = {}, anyOf = [], allOf = [] } = Schema.parse(schema);
  const below = Object.entries(properties).flatMap(([name, field]) => fieldsIn(field, [...path, name]));
  return [path, ...below, ...[...anyOf, ...allOf].flatMap((option) => fieldsIn(option, path).slice(1))];
}

/** A body that has nothing but one field. */
export function bodyWith(path: readonly string[], json: string): string {
  return path.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, json);
}
