/** One request that left an operator: to the service, or to the API server. */
export interface Effect {
  process: string;
  port: "service" | "cluster";
  /** E.g. `POST /projects/shiny-wind-000001/endpoints`. */
  what: string;
}

/** What a schedule of crashes has in store for one request. */
export type Verdict =
  | "pass"
  /** It is carried out, and the process dies before it hears of it. */
  | "crash"
  /** It is carried out, and its answer is lost. */
  | "lose";

/** Decides on every request in turn: this is how a run is made to crash at one particular place. */
export type CrashPoint = (effect: Effect) => Verdict;

export const noCrash: CrashPoint = () => "pass";

/** Counts requests, and applies `verdict` to the one of this number, counted from 1. */
export function crashPointAt(
  number: number,
  verdict: Verdict,
): { crashPoint: CrashPoint; passed: () => readonly Effect[] } {
  const passed: Effect[] = [];
  return {
    crashPoint: (effect) => {
      passed.push(effect);
      return passed.length === number ? verdict : "pass";
    },
    passed: () => passed,
  };
}
