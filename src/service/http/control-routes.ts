import { z } from "zod";
import { refusals } from "../refusal.ts";
import { nothing } from "./check.ts";
import { type Fault, Faults } from "./faults.ts";
import { openRoute, type Request, type Route, type Shape } from "./route.ts";
import { Empty } from "./shapes.ts";

/** Controls of a running service; one is absent where its flag is not given. */
export interface Controls {
  /** Replaces the current faults. */
  setFaults: ((faults: readonly Fault[]) => void) | undefined;
  /** Restores the state of the start. */
  reset: (() => void) | undefined;
  /** Advances the clock and carries out everything that becomes due. Answers the new time. */
  advance: ((ms: number) => string) | undefined;
}

/** Up to ten years. */
const ClockAdvance = z.strictObject({ seconds: z.number().min(0).max(315_360_000) });

/** The calls with which a client's tests control the service. Without its flag, a call names the flag. */
export function controlRoutes({ setFaults, reset, advance }: Controls): readonly Route[] {
  return [
    control(
      "--faults",
      setFaults,
      { method: "PUT", path: "/_faults", summary: "Replaces the faults.", body: Faults, answers: { 204: undefined } },
      (set, { body }) => {
        set(body);
        return { status: 204 };
      },
    ),
    control(
      "--test-controls",
      reset,
      { method: "POST", path: "/_reset", summary: "Restores the seed.", body: nothing, answers: { 204: undefined } },
      (restore) => {
        restore();
        return { status: 204 };
      },
    ),
    control(
      "--test-controls",
      advance,
      {
        method: "POST",
        path: "/_clock/advance",
        summary: "Advances the clock.",
        body: ClockAdvance,
        answers: { 200: Empty },
      },
      (pass, { body }) => ({ status: 200, body: { now: pass(Math.round(body.seconds * 1000)) } }),
    ),
  ];
}

function control<Body, Act>(
  flag: string,
  act: Act | undefined,
  shape: Omit<Shape<Body, unknown>, "operationId" | "query">,
  handle: (act: Act, request: Request<Body, unknown>) => ReturnType<Route["run"]>,
): Route {
  const full = { ...shape, operationId: shape.path, query: nothing };
  if (act !== undefined) return { ...openRoute(full, (request) => handle(act, request)), ownTransactions: true };
  return openRoute({ ...full, body: nothing }, () => {
    throw refusals.servedOnlyWith(flag);
  });
}
