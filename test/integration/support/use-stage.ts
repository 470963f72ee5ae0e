import { afterAll, beforeAll } from "vitest";
import { Stage, type StageOptions } from "./operator-stage.ts";

/** One stage for all tests of a file: begun before the first, and ended after the last. */
export function useStage(options: StageOptions = {}): () => Stage {
  let stage: Stage | undefined;
  beforeAll(() => {
    stage = new Stage(options);
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());
  return () => {
    if (stage === undefined) throw new Error("the stage stands only while the tests of its file run");
    return stage;
  };
}
