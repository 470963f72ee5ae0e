import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { attributesOf, compare, cutsConnections } from "../../../src/operator/fields/compare.ts";
import { compute, endpoint } from "../../support/builders.ts";
import { fieldFacts, specWith, valueAt } from "../../support/compute-fields.ts";

function compared(spec: Record<string, unknown>, seen: Partial<Endpoint>) {
  const { differences, notReturned } = compare(compute({ spec }).spec, endpoint(seen));
  return {
    differing: differences.map(({ field, ours, theirs }) => `${field}: ${ours}, theirs ${theirs}`),
    notReturned: notReturned.map(({ field }) => field),
    send: Object.assign({}, ...differences.map(({ send }) => send), ...notReturned.map(({ send }) => send)),
  };
}

const nothing = { differing: [], notReturned: [], send: {} };

describe("scale to zero is the same", () => {
  test.each([
    ["5m", 300],
    ["5m", 0],
    ["300s", 0],
    ["1m60s180s", 0],
    ["168h", 604_800],
    ["1h30m", 5400],
  ])("scale to zero is the same after %s where the service shows %i seconds", (after, seconds) => {
    expect(compared({ scaleToZero: { enabled: true, after } }, { suspend_timeout_seconds: seconds })).toEqual(nothing);
  });

  test.each([0, 60, 300, 604_800])(
    "scale to zero is the same enabled without a time, whatever time there is (%i)",
    (seconds) => {
      expect(compared({ scaleToZero: { enabled: true } }, { suspend_timeout_seconds: seconds })).toEqual(nothing);
    },
  );
});

describe("scale to zero differs", () => {
  test.each([
    [{ enabled: true, after: "10m" }, 0, "scaleToZero.after: 600s, theirs 300s", 600],
    [{ enabled: true, after: "5m" }, -1, "scaleToZero.after: 300s, theirs never", 0],
    [{ enabled: true, after: "5m" }, 600, "scaleToZero.after: 300s, theirs 600s", 0],
    [{ enabled: true }, -1, "scaleToZero.enabled: true, theirs false", 0],
    [{ enabled: false }, 0, "scaleToZero.enabled: false, theirs true", -1],
    [{ enabled: false }, 600, "scaleToZero.enabled: false, theirs true", -1],
  ])("scale to zero of %j differs from %i", (scaleToZero, seconds, said, sent) => {
    expect(compared({ scaleToZero }, { suspend_timeout_seconds: seconds })).toEqual({
      differing: [said],
      notReturned: [],
      send: { suspend_timeout_seconds: sent },
    });
  });
});

describe("plain fields", () => {
  test.each([
    [{ computeUnits: { min: 0.25, max: 2 } }, { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 2.0 }],
    [
      { disabled: false, passwordlessAccess: true },
      { disabled: false, passwordless_access: true },
    ],
    // As a service shows them that holds them in fewer digits.
    [{ computeUnits: { min: 0.25, max: 2 } }, { autoscaling_limit_min_cu: 0.2500001, autoscaling_limit_max_cu: 1.999 }],
    [{ scaleToZero: { enabled: true, after: "90s" } }, { suspend_timeout_seconds: 89.9999 }],
    [{ pooler: { enabled: false, mode: "transaction" } }, { pooler_enabled: false, pooler_mode: "transaction" }],
  ])("the plain fields %j are the same as %j", (spec, seen) => {
    expect(compared(spec, seen)).toEqual(nothing);
  });

  test("each is compared separately, false and 0 included, and only differences are sent", () => {
    const spec = { computeUnits: { min: 1, max: 2 }, disabled: false, pooler: { enabled: true } };
    const seen = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 4, disabled: true, pooler_enabled: false };
    expect(compared(spec, seen)).toEqual({
      differing: [
        "computeUnits.max: 2, theirs 4",
        "pooler.enabled: true, theirs false",
        "disabled: false, theirs true",
      ],
      notReturned: [],
      send: { autoscaling_limit_max_cu: 2, pooler_enabled: true, disabled: false },
    });
  });

  test("plain fields that the service does not show are no difference, because nothing is known about them", () => {
    const spec = { passwordlessAccess: false, scaleToZero: { enabled: false }, postgresSettings: { a: "1" } };
    expect(compared(spec, {})).toEqual({
      differing: [],
      notReturned: ["scaleToZero.enabled", "passwordlessAccess", "postgresSettings"],
      send: { passwordless_access: false, suspend_timeout_seconds: -1, settings: { pg_settings: { a: "1" } } },
    });
  });
});

describe("fields that the service shows in a form that cannot be read", () => {
  function unreadable(spec: Record<string, unknown>, seen: Partial<Endpoint>) {
    const { differences, notReturned, unreadable: odd } = compare(compute({ spec }).spec, endpoint(seen));
    expect(notReturned).toEqual([]);
    return [differences.map(({ field }) => field), odd.map(({ field, send }) => [field, send])];
  }

  test.each<[Record<string, unknown>, Partial<Endpoint>, unknown]>([
    [{ disabled: true }, { unreadable: ["disabled"] }, [[], [["disabled", { disabled: true }]]]],
    [{ disabled: true }, { disabled: true, unreadable: ["pooler_mode", "name"] }, [[], []]],
    [
      { scaleToZero: { enabled: false }, pooler: { enabled: true } },
      { pooler_enabled: false, unreadable: ["suspend_timeout_seconds"] },
      [["pooler.enabled"], [["scaleToZero.enabled", { suspend_timeout_seconds: -1 }]]],
    ],
  ])("unreadable fields are no difference where the spec is %j and the endpoint %j", (spec, seen, expected) => {
    expect(unreadable(spec, seen)).toEqual(expected);
  });

  const settings = { pg_settings: { a: "1" } };
  const sent = { settings: { pg_settings: { a: "1", b: "2" } } };
  test.each<[string, Record<string, string>, Partial<Endpoint>, unknown]>([
    [
      "ours alone",
      { b: "2" },
      { settings, unreadable: ["settings.pg_settings.b"] },
      [[], [["postgresSettings", sent]]],
    ],
    ["another's, where ours are the same", { a: "1" }, { settings, unreadable: ["settings.pg_settings.c"] }, [[], []]],
    [
      "another's, where ours differ",
      { b: "2" },
      { settings, unreadable: ["settings.pg_settings.c"] },
      [[], [["postgresSettings", undefined]]],
    ],
    [
      "libraries, where ours differ",
      { b: "2" },
      { settings, unreadable: ["settings.preload_libraries"] },
      [[], [["postgresSettings", undefined]]],
    ],
    [
      "ours, where a field of another name cannot be read",
      { b: "2" },
      { settings, unreadable: ["disabled"] },
      [["postgresSettings"], []],
    ],
    ["all settings", { b: "2" }, { unreadable: ["settings"] }, [[], [["postgresSettings", undefined]]]],
    [
      "one of ours, where another differs",
      { a: "2", b: "2" },
      { settings, unreadable: ["settings.pg_settings.b"] },
      [["postgresSettings"], [["postgresSettings", { settings: { pg_settings: { a: "2", b: "2" } } }]]],
    ],
  ])("unreadable fields are sent only where that wipes nothing: %s", (_, postgresSettings, seen, expected) => {
    expect(unreadable({ postgresSettings }, seen)).toEqual(expected);
  });
});

describe("Postgres settings", () => {
  const theirs = { pg_settings: { work_mem: "4MB", theirs: "1" }, preload_libraries: { use_defaults: true } };

  test("Postgres settings are compared by the names that the user set alone", () => {
    expect(compared({ postgresSettings: { work_mem: "4MB" } }, { settings: theirs })).toEqual(nothing);
    expect(compared({ postgresSettings: {} }, { settings: theirs })).toEqual(nothing);
  });

  test("Postgres settings that differ are sent with all the others, with libraries, and with what we do not know", () => {
    const settings = { ...theirs, of_next_year: { a: 1 } };
    expect(compared({ postgresSettings: { work_mem: "8MB", added: "2" } }, { settings })).toEqual({
      differing: ["postgresSettings: added=2, work_mem=8MB, theirs added=(unset), work_mem=4MB"],
      notReturned: [],
      send: {
        settings: {
          pg_settings: { work_mem: "8MB", theirs: "1", added: "2" },
          preload_libraries: { use_defaults: true },
          of_next_year: { a: 1 },
        },
      },
    });
  });

  test("always hold pg_settings when they are sent", () => {
    expect(compared({ postgresSettings: { work_mem: "4MB" } }, { settings: {} }).send).toEqual({
      settings: { pg_settings: { work_mem: "4MB" } },
    });
  });

  test.each([{}, { settings: {} }, { settings: { pg_settings: { jit: "off" } } }])(
    "an empty map of them declares nothing, beside %j",
    (shown) => {
      const { send, notReturned } = compared({ postgresSettings: {} }, shown);
      expect({ send, notReturned }).toEqual({ send: {}, notReturned: [] });
    },
  );

  test("Postgres settings named like members of every object are settings like others", () => {
    const spec = { postgresSettings: { constructor: "1", toString: "2" } };
    expect(compared(spec, { settings: { pg_settings: {} } }).differing).toEqual([
      "postgresSettings: constructor=1, toString=2, theirs constructor=(unset), toString=(unset)",
    ]);
  });
});

test.each(fieldFacts)("$spec is compared with $wire, and sent where it differs", ({ spec: path, wire, values }) => {
  const [ours, theirs] = values;
  const [name = ""] = path.split(".");
  const both = specWith(0)[name];
  const spec = { [name]: both };
  const others = fieldFacts.filter((other) => other.spec.startsWith(`${name}.`) && other.spec !== path);
  const same = Object.fromEntries(others.map((other) => [other.wire, other.values[0]]));
  expect(valueAt(spec, path)).toBe(ours);
  expect(compared(spec, { ...same, [wire]: ours })).toEqual(nothing);
  expect(compared(spec, same)).toEqual({ differing: [], notReturned: [path], send: { [wire]: ours } });
  if (ours === theirs) return;
  const differing = [`${path}: ${String(ours)}, theirs ${String(theirs)}`];
  expect(compared(spec, { ...same, [wire]: theirs })).toEqual({ differing, notReturned: [], send: { [wire]: ours } });
});

test("a new endpoint is given all that the user set, and no more", () => {
  expect(attributesOf(compute().spec)).toEqual({});
  const spec = {
    computeUnits: { min: 0.5, max: 4 },
    scaleToZero: { enabled: true, after: "10m" },
    pooler: { enabled: true, mode: "transaction" },
    disabled: false,
    passwordlessAccess: true,
    postgresSettings: { work_mem: "8MB" },
  };
  expect(attributesOf(compute({ spec }).spec)).toEqual({
    autoscaling_limit_min_cu: 0.5,
    autoscaling_limit_max_cu: 4,
    suspend_timeout_seconds: 600,
    pooler_enabled: true,
    pooler_mode: "transaction",
    disabled: false,
    passwordless_access: true,
    settings: { pg_settings: { work_mem: "8MB" } },
  });
});

test("a change of size, of settings or of the branch cuts connections, and no other does", () => {
  const parts = ["branchID", "computeUnits.min", "computeUnits.max", "postgresSettings"];
  expect(parts.filter((field) => cutsConnections({ field }))).toEqual(parts);
  const others = ["scaleToZero.after", "pooler.enabled", "pooler.mode", "disabled", "passwordlessAccess", "branchName"];
  expect(others.filter((field) => cutsConnections({ field }))).toEqual([]);
});
