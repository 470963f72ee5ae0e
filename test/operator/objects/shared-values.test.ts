import { expect, test } from "vitest";
import { shareWithin } from "../../../src/operator/objects/shared-values.ts";

/** As parsed from an answer: nothing of it is anything else's. */
function parsed(text: string): Record<string, unknown> {
  return JSON.parse(text);
}

function shared(text: string): Record<string, unknown> {
  const value = parsed(text);
  shareWithin(value);
  return value;
}

const texts = [
  `{"size":{"min":0.25,"max":2},"capacity":{"vCPU":{"min":0.25},"memoryGB":{"min":1}},"finalizers":["one"],"drift":[]}`,
  `{"text":"{\\"min\\":0.25}","other":{"min":0.25},"list":["min",0.25]}`,
  `{"members":[{"a":1,"b":2,"c":3,"d":4,"e":5}],"none":null,"yes":true,"empty":{}}`,
  `{"order":{"a":1,"b":2},"other":{"b":2,"a":1}}`,
];

test.each(texts)("%s reads as before", (text) => {
  for (let again = 0; again < 3; again += 1) expect(JSON.stringify(shared(text))).toBe(text);
});

test("equal small objects and lists are one, and frozen", () => {
  const [text = ""] = texts;
  const [one, other] = [shared(text), shared(text)];
  for (const name of ["size", "capacity", "finalizers", "drift"]) {
    expect(other[name]).toBe(one[name]);
    expect(Object.isFrozen(one[name])).toBe(true);
  }
  expect(Object.isFrozen(one)).toBe(false);
});

test("larger ones, and what holds one of them, stay their owner's", () => {
  const [one, other] = [shared(texts[2] ?? ""), shared(texts[2] ?? "")];
  expect(other["members"]).not.toBe(one["members"]);
  expect(Object.isFrozen(one["members"])).toBe(false);
  expect(other["empty"]).toBe(one["empty"]);
});

test("an absent member is not the same as an undefined one", () => {
  const value = { range: { min: 1, max: undefined } };
  shareWithin(value);
  const other = { range: { min: 1 } };
  shareWithin(other);
  expect(Object.keys(value.range)).toEqual(["min", "max"]);
  expect(Object.keys(other.range)).toEqual(["min"]);
});

test("what is used again stays, however much else there is", () => {
  const first = { range: { often: 1 } };
  shareWithin(first);
  for (let n = 0; n < 3000; n += 1) {
    shareWithin({ range: { seldom: n } });
    if (n % 900 === 0) shareWithin({ range: { often: 1 } });
  }
  const later = { range: { often: 1 } };
  shareWithin(later);
  expect(later.range).toBe(first.range);
});

test("what is not used for long is forgotten", () => {
  const first = { range: { seldom: 1 } };
  shareWithin(first);
  for (let n = 0; n < 2000; n += 1) shareWithin({ range: { often: n } });
  const later = { range: { seldom: 1 } };
  shareWithin(later);
  expect(later.range).not.toBe(first.range);
});

test("small objects with a long string stay their owner's: the memory of what was shared does not grow with it", () => {
  const text = JSON.stringify({ annotations: { note: "x".repeat(65) }, list: ["x".repeat(65)], short: { note: "x" } });
  const [one, other] = [shared(text), shared(text)];
  for (const name of ["annotations", "list"]) {
    expect(other[name]).not.toBe(one[name]);
    expect(Object.isFrozen(one[name])).toBe(false);
  }
  expect(other["short"]).toBe(one["short"]);
});

test("equal schedules are one copy, though their entries have more members than others that are shared", () => {
  const entry = { name: "office", timeZone: "Europe/Berlin", days: ["Mon", "Tue", "Wed", "Thu", "Fri"], from: "08:00" };
  const text = JSON.stringify({ schedule: [{ ...entry, to: "19:00", computeUnits: { min: 2, max: 8 } }] });
  const [one, other] = [shared(text), shared(text)];
  expect(one["schedule"]).toBe(other["schedule"]);
  expect(JSON.stringify(one)).toBe(text);
});
