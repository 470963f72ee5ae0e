import { describe, expect, it, test } from "vitest";
import { EndpointCreate, EndpointPatch } from "../../src/api/endpoint.ts";
import { fieldFacts } from "../support/compute-fields.ts";

function create(fields: object) {
  return EndpointCreate.safeParse({ endpoint: { branch_id: "br-a", type: "read_write", ...fields } });
}

describe("requests are strict", () => {
  test.each([
    {},
    { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 56 },
    { suspend_timeout_seconds: -1 },
    { suspend_timeout_seconds: 0 },
    { suspend_timeout_seconds: 60 },
    { suspend_timeout_seconds: 604_800 },
    { settings: { pg_settings: { work_mem: "64MB" } } },
    { name: "k8s-1" },
    { type: "read_only", disabled: true },
    ...fieldFacts.flatMap(({ wire, values }) => values.map((value) => ({ [wire]: value }))),
  ])("create takes %j", (fields) => {
    expect(create(fields).success).toBe(true);
  });

  test.each([
    [{ autoscaling_limit_min_cu: 17 }, /0\.25, 0\.5, 1 to 16, and the even numbers/],
    [{ autoscaling_limit_max_cu: "1" }, /must be a compute size/],
    [{ suspend_timeout_seconds: 59 }, /-1 \(never\), 0 .* 60 to 604800/],
    [{ suspend_timeout_seconds: 90.5 }, /60 to 604800 seconds/],
    [{ suspend_timeout_seconds: -2 }, /60 to 604800 seconds/],
    [{ suspend_timeout_seconds: "60" }, /60 to 604800 seconds/],
    [{ settings: {} }, /settings must not be nil/],
    [{ settings: { pg_settings: { work_mem: 64 } } }, /string/],
    [{ name: "" }, /./],
    [{ name: "x".repeat(65) }, /64/],
    [{ type: "write_only" }, /read_write/],
    [{ branch_id: "BR_A" }, /lower-case/],
    [{ size: 4 }, /size/],
  ])("create refuses %j and says what is allowed", (fields, message) => {
    const result = create(fields);
    expect(result.success).toBe(false);
    expect(JSON.stringify(result.error?.issues)).toMatch(message);
  });

  it("a patch cannot change type or region", () => {
    expect(EndpointPatch.safeParse({ endpoint: {} }).success).toBe(true);
    expect(EndpointPatch.safeParse({ endpoint: { type: "read_only" } }).success).toBe(false);
    expect(EndpointPatch.safeParse({ endpoint: { region_id: "aws-us-east-2" } }).success).toBe(false);
  });
});
