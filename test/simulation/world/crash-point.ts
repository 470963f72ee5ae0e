/** One request that left an operator: to the service, or to the API server. */
export interface Effect {
  process: string;
  port: "service" | "cluster";
  /** E.g. `POST /projects/shiny-wind-000001/endpoints`. */
  what: string;
}

export const faults = ["death", "lost reply", "late effect", "refusal"] as const;

/**
 * One thing that goes wrong at one request. `death`: it is carried out, and the process dies before it hears of it.
 * `lost reply`: it is carried out, and its answer is lost. `late effect`: the sender gives up, and it is carried out
 * afterwards. `refusal`: nothing is done, and the answer says so.
 */
export type Fault = (typeof faults)[number];

/** What a schedule of crashes has in store for one request. */
export type Verdict = "pass" | Fault;

/** Decides on every request in turn: this is how a run is made to go wrong at one particular place. */
export type CrashPoint = (effect: Effect) => Verdict;

export const noCrash: CrashPoint = () => "pass";

/** A fault at the request of this number, counted from 1. */
export interface FaultAt {
  number: number;
  fault: Fault;
}

/** Counts requests, and applies each fault to the one of its number. */
export function crashPointsAt(...planned: readonly FaultAt[]): {
  crashPoint: CrashPoint;
  passed: () => readonly Effect[];
} {
  const passed: Effect[] = [];
  const byNumber = new Map(planned.map(({ number, fault }) => [number, fault]));
  return {
    crashPoint: (effect) => {
      passed.push(effect);
      return byNumber.get(passed.length) ?? "pass";
    },
    passed: () => passed,
  };
}
