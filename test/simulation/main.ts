// `npm run simulate` plays seeds, `-- pairs` the pairs of faults, `-- model` the states of small worlds; `-- traces`
// compares what two versions send.
import { runNamed } from "../support/subcommand.ts";

await runNamed(
  {
    pairs: () => import("./fault-pairs/main.ts"),
    model: () => import("../model/main.ts"),
    traces: () => import("./traces/main.ts"),
  },
  () => import("./simulate.ts"),
);
