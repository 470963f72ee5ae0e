import type { ServiceContext } from "../context.ts";

/** The service as its servers drive it. */
export interface DrivenService {
  context: ServiceContext;
  change<Result>(act: (context: ServiceContext, at: number) => Result): Result;
  onChange(follower: () => void): () => void;
  /** Reports an error that no caller waits for. */
  report(error: unknown): void;
}
