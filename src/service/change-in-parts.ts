import type { ServiceContext } from "./context.ts";

interface Changing {
  change<Result>(act: (context: ServiceContext, at: number) => Result): Result;
  /** Reports an error that no caller waits for. */
  report(error: unknown): void;
}

/** Changes the store in one transaction, of which parts may fail alone; reports what `act` answers as their errors. */
export function changeInParts(
  service: Changing,
  act: (context: ServiceContext, at: number) => Iterable<unknown>,
): void {
  for (const error of service.change(act)) service.report(error);
}
