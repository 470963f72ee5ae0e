import { z } from "zod";

/** What a worker is to play. */
export const DaySetting = z.object({
  seed: z.number(),
  hours: z.number(),
  /** After how many hours collections are counted again. */
  sizesEvery: z.number(),
});
export type DaySetting = z.infer<typeof DaySetting>;

/** What was seen at the end of an hour, when all had come to rest. */
export const HourSeen = z.object({
  hour: z.number(),
  /** After garbage collection. */
  heapMB: z.number(),
  /** Timers that wait for their time, those of the API server and the service among them. */
  timers: z.number(),
  computes: z.number(),
  /** Requests of the operators since the start. */
  requests: z.number(),
  /** Promises that were rejected and that nobody minded, since the start. */
  rejections: z.number(),
  /** Instances of classes, and entries of their collections: see `sizes`. */
  sizes: z.array(z.tuple([z.string(), z.number()])),
});
export type HourSeen = z.infer<typeof HourSeen>;
