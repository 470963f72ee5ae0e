import { z } from "zod";

/** One test, by its file and its place in it. */
export const TestId = z.object({ file: z.string(), index: z.number() });
export type TestId = z.infer<typeof TestId>;

/** What the parent asks of a worker. */
export const Request = z.discriminatedUnion("kind", [
  /** Run all tests of a file without a mutant. */
  z.object({ kind: z.literal("measure"), file: z.string() }),
  /** Run these tests with this mutant until one has failed. */
  z.object({
    kind: z.literal("try"),
    mutant: z.number(),
    tests: z.array(TestId.extend({ limitMs: z.number(), calls: z.number() })),
  }),
]);
export type Request = z.infer<typeof Request>;

export const Measured = z.object({
  index: z.number(),
  name: z.string(),
  /** Of the processor; `wallMs` depends on what else the machine does. */
  ms: z.number(),
  wallMs: z.number(),
  /** What went wrong without any mutant: such a test proves nothing here. */
  failure: z.string().optional(),
  /** The mutants that it reaches. */
  reached: z.array(z.number()),
  /** How often it reached one. */
  calls: z.number(),
});
export type Measured = z.infer<typeof Measured>;

/** A test that failed, and how. */
export const Caught = TestId.extend({ name: z.string(), how: z.string() });
export type Caught = z.infer<typeof Caught>;

/** True for a test that failed because it was not done in time: what it began may go on. */
export const isLate = (how: string) => how.startsWith("not done after");

export const Reply = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ready") }),
  /** Sent now and then: the worker is alive. */
  z.object({ kind: z.literal("alive") }),
  z.object({
    kind: z.literal("measured"),
    tests: z.array(Measured),
    /** Mutants that are reached when modules are loaded. */
    atLoad: z.array(z.number()),
    failure: z.string().optional(),
  }),
  z.object({
    kind: z.literal("tried"),
    caught: Caught.optional(),
    /** The test fails without the mutant too, after what went before: this process can judge no more. */
    spoilt: z.boolean(),
  }),
]);
export type Reply = z.infer<typeof Reply>;
