import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { compare } from "../../../src/operator/fields/compare.ts";
import { declaredBy } from "../../../src/operator/fields/declared.ts";
import { compute, endpoint } from "../../support/builders.ts";

const whole: Partial<Endpoint> = {
  autoscaling_limit_min_cu: 0.25,
  autoscaling_limit_max_cu: 2,
  suspend_timeout_seconds: 600,
  pooler_enabled: true,
  pooler_mode: "transaction",
  disabled: false,
  passwordless_access: true,
  settings: { pg_settings: { work_mem: "4MB", max_locks_per_transaction: "128" } },
};

describe("the fields that declare an endpoint", () => {
  test.each<[string, Partial<Endpoint>]>([
    ["which shows all of them", whole],
    ["which never suspends", { suspend_timeout_seconds: -1 }],
    ["which suspends after the service's default", { suspend_timeout_seconds: 0 }],
    ["which shows nothing", {}],
  ])("a spec with these fields does not differ from an endpoint %s", (_, shown) => {
    const seen = endpoint(shown);
    const { differences, notReturned } = compare(compute({ spec: declaredBy(seen) }).spec, seen);
    expect([differences, notReturned]).toEqual([[], []]);
  });

  test("a field is declared only where the service shows it, a size only with both ends", () => {
    expect(declaredBy(endpoint())).toEqual({});
    expect(declaredBy(endpoint({ autoscaling_limit_min_cu: 1 }))).toEqual({});
    expect(Object.keys(declaredBy(endpoint(whole)))).toEqual([
      "computeUnits",
      "scaleToZero",
      "pooler",
      "disabled",
      "passwordlessAccess",
      "postgresSettings",
    ]);
  });

  test("Postgres settings are declared in the order of their names", () => {
    const { postgresSettings } = declaredBy(endpoint(whole));
    expect(Object.keys(postgresSettings ?? {})).toEqual(["max_locks_per_transaction", "work_mem"]);
  });
});
